/** The levels of the sidebar: drawn from what the server answers, opened and closed, and drawn again when pages change. */
import { get, href, tenant } from "../server/api.js";
import { button, make, trying } from "../elements/dom.js";
import { COMMON, TREE } from "../words.js";

export const nav = document.getElementById("tree");
const OPEN = `mirrord.open.${tenant}`;
export const opened = new Set(JSON.parse(sessionStorage.getItem(OPEN) ?? "[]"));

/** The page that the window shows; null: another view. */
export const current = () => document.querySelector("[data-page]")?.dataset.page ?? null;

export const idOf = (item) => item?.dataset.id ?? null;
export const itemOf = (element) => element.closest("li[data-id]");
export const titleOf = (item) => item.querySelector(".label").textContent;
export const parentOf = (item) => itemOf(item.parentElement);
export const rowsIn = (list) => [...list.querySelectorAll(":scope > li[data-id]")];
export const siblings = (item) => rowsIn(item.parentElement);
const moreButton = () => make("li", { class: "more" }, button(COMMON.more, null, { class: "plain" }));

export function drawn(node) {
  const sign = node.icon || (node.kind === "folder" ? "▤" : "•");
  const twist = node.has_children
    ? button("▸", null, { class: "twist plain", "aria-expanded": "false", "aria-label": TREE.contents(node.title), tabindex: "-1" })
    : make("span", { class: "twist" });
  const link = make(
    "a",
    { href: href(node.id), "aria-current": node.id === current() ? "page" : null },
    make("span", { class: "icon", "aria-hidden": "true" }, sign),
    make("span", { class: "label" }, node.title),
    node.name ? make("span", { class: "name" }, node.name) : "",
  );
  const menu = button("⋯", null, { class: "menu plain", "aria-label": TREE.actions(node.title), tabindex: "-1" });
  const row = make("div", { class: "row" }, twist, link, menu);
  return make("li", { "data-id": node.id, "data-kind": node.kind, "data-icon": node.icon }, row);
}

/** Read a level again. */
export async function filled(list) {
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

/** Show the pages in the page or folder of *item*: their list, which may be below another row once they have come. */
export async function open(item) {
  let list = item.querySelector(":scope > ul");
  if (!list) {
    list = make("ul", { class: "level", "data-parent": item.dataset.id });
    item.append(list);
    await filled(list);
  }
  list.hidden = false;
  unfold(item, true);
  remember(item.dataset.id, true);
  return list;
}

export function close(item) {
  const list = item.querySelector(":scope > ul");
  if (list) list.hidden = true;
  unfold(item, false);
  remember(item.dataset.id, false);
}

export function remember(page, isOpen) {
  if (isOpen) opened.add(page);
  else opened.delete(page);
  sessionStorage.setItem(OPEN, JSON.stringify([...opened]));
}

export const isOpen = (item) => item.querySelector(":scope > .row > .twist")?.getAttribute("aria-expanded") === "true";

export async function more(list) {
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

/** Take the row of a page away, before the server tells so. */
export const dropRow = (page) => nav.querySelector(`li[data-id="${page}"]`)?.remove();

/** Read all levels that are shown again; what is open stays open. */
export async function refresh() {
  const lists = [...nav.querySelectorAll("ul.level")];
  const shown = await trying(() => Promise.all(lists.map((list) => get("tree", { parent: list.dataset.parent || null }))));
  shown?.forEach(({ nodes, more: isMore }, number) => lists[number].isConnected && show(lists[number], nodes, isMore));
}

