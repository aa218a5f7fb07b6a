/** The sidebar: levels are fetched when they are opened; pages are moved by drag, and by Alt with the arrow keys. */
import { change, get, href, tenant } from "./api.js";
import { ask, button, confirmed, make, tell, trying } from "./dom.js";

const nav = document.getElementById("tree");
const OPEN = `mirrord.open.${tenant}`;
const opened = new Set(JSON.parse(sessionStorage.getItem(OPEN) ?? "[]"));
const current = document.querySelector("[data-page]")?.dataset.page ?? null;

/** A page has a new version with every edit, of which the sidebar is not told. */
const versionOf = async (page) => (await get(`pages/${page}/version`)).version;

/** A change of a page's place, name or icon: that its text was edited in this very moment is no reason against it. */
async function changed(method, path, page, body) {
  for (let tries = 3; ; tries--) {
    try {
      return await change(method, path, { version: await versionOf(page), ...body });
    } catch (error) {
      if (error.status !== 409 || tries === 1) throw error;
    }
  }
}

const idOf = (item) => item?.dataset.id ?? null;
const itemOf = (element) => element.closest("li[data-id]");
const titleOf = (item) => item.querySelector(".label").textContent;
const parentOf = (item) => itemOf(item.parentElement);
const rowsIn = (list) => [...list.querySelectorAll(":scope > li[data-id]")];
const siblings = (item) => rowsIn(item.parentElement);
const moreButton = () => make("li", { class: "more" }, button("More…", null, { class: "plain" }));

function drawn(node) {
  const sign = node.icon || (node.kind === "folder" ? "▤" : "•");
  const twist = node.has_children
    ? button("▸", null, { class: "twist plain", "aria-expanded": "false", "aria-label": `Contents of ${node.title}` })
    : make("span", { class: "twist" });
  const link = make(
    "a",
    { href: href(node.id), "aria-current": node.id === current ? "page" : null },
    make("span", { class: "icon", "aria-hidden": "true" }, sign),
    make("span", { class: "label" }, node.title),
  );
  const menu = button("⋯", null, { class: "menu plain", "aria-label": `Actions for ${node.title}` });
  const row = make("div", { class: "row" }, twist, link, menu);
  return make("li", { "data-id": node.id, "data-kind": node.kind, "data-icon": node.icon }, row);
}

async function filled(list) {
  const parent = list.dataset.parent || null;
  const { nodes, more } = await get("tree", { parent });
  show(list, nodes, more);
}

function show(list, nodes, more) {
  const old = new Map(rowsIn(list).map((item) => [item.dataset.id, item]));
  const beyond = list.querySelector(":scope > .beyond");
  const focused = document.activeElement?.closest?.("li[data-id]")?.dataset.id;
  const items = nodes.map((node) => {
    const item = drawn(node);
    const inner = old.get(node.id)?.querySelector(":scope > ul");
    if (inner && node.has_children) {
      item.append(inner);
      unfold(item, !inner.hidden);
    } else if (node.has_children && opened.has(node.id)) void open(item);
    return item;
  });
  list.replaceChildren(...items, ...(more ? [moreButton()] : []));
  if (beyond && more && !nodes.some(({ id }) => id === beyond.dataset.id)) list.append(beyond);
  if (focused) list.querySelector(`li[data-id="${focused}"] > .row > a`)?.focus();
}

function unfold(item, isOpen) {
  const twist = item.querySelector(":scope > .row > .twist");
  twist.setAttribute("aria-expanded", String(isOpen));
  twist.textContent = isOpen ? "▾" : "▸";
}

async function open(item) {
  let list = item.querySelector(":scope > ul");
  if (!list) {
    list = make("ul", { class: "level", "data-parent": item.dataset.id });
    item.append(list);
    await filled(list);
  }
  list.hidden = false;
  unfold(item, true);
  remember(item.dataset.id, true);
}

function close(item) {
  const list = item.querySelector(":scope > ul");
  if (list) list.hidden = true;
  unfold(item, false);
  remember(item.dataset.id, false);
}

function remember(page, isOpen) {
  if (isOpen) opened.add(page);
  else opened.delete(page);
  sessionStorage.setItem(OPEN, JSON.stringify([...opened]));
}

const isOpen = (item) => item.querySelector(":scope > .row > .twist")?.getAttribute("aria-expanded") === "true";

async function more(list) {
  const start = list.querySelectorAll(":scope > li[data-id]:not(.beyond)").length;
  const next = await get("tree", { parent: list.dataset.parent || null, start });
  const beyond = list.querySelector(":scope > .beyond");
  const isReached = beyond && next.nodes.some(({ id }) => id === beyond.dataset.id);
  list.querySelector(":scope > .more").remove();
  if (isReached) beyond.classList.remove("beyond");
  list.append(...next.nodes.map((node) => (isReached && node.id === beyond.dataset.id ? beyond : drawn(node))));
  if (next.more) list.append(moreButton());
  if (beyond && !isReached) list.append(beyond);
}

/** All levels that are shown, anew; what is open stays open. */
async function refresh() {
  const lists = [...nav.querySelectorAll("ul.level")];
  const shown = await trying(() => Promise.all(lists.map((list) => get("tree", { parent: list.dataset.parent || null }))));
  shown?.forEach(({ nodes, more: isMore }, number) => lists[number].isConnected && show(lists[number], nodes, isMore));
}

async function put(item, parent, before) {
  const title = titleOf(item);
  const done = await trying(() => changed("POST", `pages/${idOf(item)}/move`, idOf(item), { parent, before }));
  if (parent && done) remember(parent, true);
  await refresh();
  if (done) tell(done.sentence ?? `${title} was moved.`);
  const isElsewhere = document.activeElement !== document.body && !nav.contains(document.activeElement);
  if (!isElsewhere) nav.querySelector(`li[data-id="${idOf(item)}"] > .row > a`)?.focus();
}

/** By keyboard: among its siblings, into the one above, out of the folder. */
function step(item, way) {
  const all = siblings(item);
  const at = all.indexOf(item);
  const above = idOf(parentOf(item));
  if (item.classList.contains("beyond") && way !== "ArrowLeft") {
    tell("Choose “More…” first: the pages before this one are not listed yet.");
    return null;
  }
  if (way === "ArrowUp" && at > 0) return put(item, above, idOf(all[at - 1]));
  if (way === "ArrowDown" && at < all.length - 1) return put(item, above, idOf(all[at + 2]) ?? null);
  if (way === "ArrowRight" && at > 0) return put(item, idOf(all[at - 1]), null);
  if (way === "ArrowLeft" && above) {
    const folder = parentOf(item);
    const around = siblings(folder);
    return put(item, idOf(parentOf(folder)), idOf(around[around.indexOf(folder) + 1]) ?? null);
  }
  tell("It cannot move further in that direction.");
  return null;
}

async function actions(item) {
  const title = titleOf(item);
  const chosen = await ask(title, {
    choices: [
      ["new", "New page inside"],
      ["rename", "Rename"],
      ["icon", "Icon"],
      ["ArrowUp", "Move up"],
      ["ArrowDown", "Move down"],
      ["ArrowRight", "Move into the page above"],
      ["ArrowLeft", "Move out"],
      ["delete", "Delete"],
    ],
  });
  if (chosen?.startsWith("Arrow")) await step(item, chosen);
  else if (chosen === "new") await create(idOf(item));
  else if (chosen === "rename") await rename(idOf(item), title);
  else if (chosen === "icon") await setIcon(idOf(item), item.dataset.icon ?? "");
  else if (chosen === "delete") await discard(idOf(item), title);
}

/** Make a page and go there. */
export async function create(parent) {
  const title = await ask("Title of the new page", { action: "Create" });
  if (!title?.trim()) return;
  const made = await trying(() => change("POST", "pages", { parent, title }));
  if (made) location.assign(made.href);
}

/** Ask for another title. */
export async function rename(page, title) {
  const wanted = await ask("Rename to", { value: title, action: "Rename" });
  if (!wanted?.trim() || wanted === title) return;
  await trying(() => changed("PATCH", `pages/${page}`, page, { title: wanted }));
}

/** Ask for another icon. */
export async function setIcon(page, icon) {
  const wanted = await ask("Icon: an emoji, or empty", { value: icon, action: "Set" });
  if (wanted === null) return;
  await trying(() => changed("PATCH", `pages/${page}`, page, { icon: wanted }));
}

/** Delete a page, if that is meant. */
export async function discard(page, title) {
  if (!(await confirmed(`Delete “${title}”, with everything in it? It can be restored from the trash.`, "Delete"))) return;
  const done = await trying(async () => change("DELETE", `pages/${page}`, { version: await versionOf(page) }));
  if (done && page === current) location.assign(`/t/${tenant}/trash`);
}

function click(event) {
  const item = itemOf(event.target);
  if (event.target.closest(".more")) void trying(() => more(event.target.closest("ul")));
  else if (event.target.closest("button.twist")) void trying(async () => (isOpen(item) ? close(item) : open(item)));
  else if (event.target.closest("button.menu")) void actions(item);
}

function key(event) {
  const item = itemOf(event.target);
  if (!item || !event.key.startsWith("Arrow")) return;
  if (event.altKey) {
    event.preventDefault();
    void step(item, event.key);
    return;
  }
  const links = [...nav.querySelectorAll("li[data-id] > .row > a")].filter((one) => one.offsetParent !== null);
  const at = links.indexOf(item.querySelector(":scope > .row > a"));
  const hasMore = item.querySelector(":scope > .row > button.twist");
  if (event.key === "ArrowDown") links[at + 1]?.focus();
  else if (event.key === "ArrowUp") links[at - 1]?.focus();
  else if (event.key === "ArrowRight" && hasMore) void trying(() => open(item));
  else if (event.key === "ArrowLeft" && hasMore && isOpen(item)) close(item);
  else if (event.key === "ArrowLeft") parentOf(item)?.querySelector(":scope > .row > a").focus();
  event.preventDefault();
}

/** Where a dragged page would go: before a row, into it, or behind it. */
function target(event) {
  const row = event.target.closest?.(".row");
  if (!row) return null;
  const box = row.getBoundingClientRect();
  const part = (event.clientY - box.top) / box.height;
  return { row, item: itemOf(row), where: part < 0.3 ? "before" : part > 0.7 ? "behind" : "into" };
}

function draggable() {
  let dragged = null;
  const clear = () => nav.querySelectorAll("[data-drop]").forEach((row) => row.removeAttribute("data-drop"));
  nav.addEventListener("dragstart", (event) => {
    dragged = itemOf(event.target);
    event.dataTransfer.setData("text/plain", dragged ? titleOf(dragged) : "");
    event.dataTransfer.effectAllowed = "move";
  });
  nav.addEventListener("dragover", (event) => {
    const place = target(event);
    clear();
    if (!dragged || !place || dragged.contains(place.row)) return;
    event.preventDefault();
    place.row.dataset.drop = place.where;
  });
  nav.addEventListener("drop", (event) => {
    const place = target(event);
    clear();
    if (!dragged || !place || dragged.contains(place.row)) return;
    event.preventDefault();
    const all = siblings(place.item).filter((one) => one !== dragged);
    const next = all[all.indexOf(place.item) + 1];
    if (place.where === "into") void put(dragged, idOf(place.item), null);
    else void put(dragged, idOf(parentOf(place.item)), place.where === "before" ? idOf(place.item) : idOf(next));
  });
  nav.addEventListener("dragend", () => ((dragged = null), clear()));
}

/** Open the folders that the shown page is in, and bring its row into sight. */
async function reveal() {
  if (!current) return;
  let list = nav.querySelector(":scope > ul");
  for (const node of await get(`pages/${current}/above`)) {
    const item = rowsIn(list).find((row) => row.dataset.id === node.id) ?? appended(list, node);
    if (node.id === current) break;
    await open(item);
    list = item.querySelector(":scope > ul");
  }
  scrollToRow(currentRow());
}

const currentRow = () => nav.querySelector('[aria-current="page"]');

/** A row behind “More…”, below it: so many rows may be between that they are not fetched to show one. */
function appended(list, node) {
  const item = drawn(node);
  item.classList.add("beyond");
  list.append(item);
  return item;
}

/** Scroll the sidebar, never the window: the page stays at its beginning. */
function scrollToRow(link) {
  const sidebar = document.getElementById("sidebar");
  if (!link || !sidebar.clientHeight) return;
  const [row, frame] = [link.getBoundingClientRect(), sidebar.getBoundingClientRect()];
  if (row.top < frame.top || row.bottom > frame.bottom) sidebar.scrollTop += row.top - frame.top - frame.height / 2;
}

/** Let the sidebar live. */
export async function start() {
  nav.addEventListener("click", click);
  nav.addEventListener("keydown", key);
  draggable();
  document.getElementById("new-page").addEventListener("click", () => create(null));
  document.getElementById("fold").addEventListener("click", () => scrollToRow(currentRow())); // once it is unfolded
  let waiting = null;
  window.addEventListener("live:tree", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 150);
  });
  await trying(async () => {
    await Promise.all([...nav.querySelectorAll("li[data-id]")].filter((one) => opened.has(one.dataset.id)).map(open));
    await reveal();
  });
}
