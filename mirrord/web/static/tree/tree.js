/** The sidebar: what is clicked and pressed in it, and the row of the page that is shown. */
import { ask, trying } from "../elements/dom.js";
import { TREE } from "../words.js";
import { entriesAbove } from "./above.js";
import { create, discard, duplicate, moveElsewhere, rename, setIcon } from "./actions.js";
import { close, current, drawn, filled, idOf, isOpen, itemOf, more, nav, open, opened, parentOf, rowsIn, titleOf } from "./levels.js";
import { draggable, refreshOnceReleased, step } from "./moving.js";

async function actions(item) {
  const title = titleOf(item);
  const chosen = await ask(title, {
    choices: [
      ["new", TREE.newInside],
      ["rename", TREE.rename],
      ["icon", TREE.icon],
      ...(item.dataset.kind === "folder" ? [] : [["duplicate", TREE.duplicate]]),
      ["move", TREE.moveTo],
      ["ArrowUp", TREE.moveUp],
      ["ArrowDown", TREE.moveDown],
      ["ArrowRight", TREE.moveIn],
      ["ArrowLeft", TREE.moveOut],
      ["delete", TREE.delete],
    ],
  });
  if (chosen?.startsWith("Arrow")) await step(item, chosen);
  else if (chosen === "new") await create(idOf(item));
  else if (chosen === "rename") await rename(idOf(item), title);
  else if (chosen === "icon") await setIcon(idOf(item), item.dataset.icon ?? "");
  else if (chosen === "duplicate") await duplicate(idOf(item), title);
  else if (chosen === "move") await moveElsewhere(idOf(item), title);
  else if (chosen === "delete") await discard(idOf(item), title);
}

function click(event) {
  const item = itemOf(event.target);
  if (event.target.closest(".more")) void trying(() => more(event.target.closest("ul")));
  else if (event.target.closest("button.twist")) void trying(async () => (isOpen(item) ? close(item) : open(item)));
  else if (event.target.closest("button.menu")) void actions(item);
}

function key(event) {
  const item = itemOf(event.target);
  if (item && (event.key === "ContextMenu" || (event.shiftKey && event.key === "F10"))) {
    event.preventDefault();
    void actions(item);
  }
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

/** Open the folders that the shown page is in, and bring its row into sight. */
async function reveal() {
  const page = current();
  nav.querySelectorAll('[aria-current="page"]').forEach((link) => link.removeAttribute("aria-current"));
  if (!page) return;
  let list = nav.querySelector(":scope > ul");
  for (const node of await entriesAbove(page)) {
    if (page !== current()) return;
    const item = rowOf(list, node) ?? (await filled(list), rowOf(list, node) ?? appended(list, node));
    if (node.id === page) {
      item.querySelector(":scope > .row > a").setAttribute("aria-current", "page");
      break;
    }
    list = await open(item);
  }
  scrollToRow(currentRow());
}

const rowOf = (list, node) => rowsIn(list).find((row) => row.dataset.id === node.id);
const currentRow = () => nav.querySelector('[aria-current="page"]');

/** A row behind “More…”, below it: so many rows may be between that they are not fetched to show one. */
function appended(list, node) {
  const item = drawn(node);
  item.classList.add("beyond");
  list.append(item);
  return item;
}

/**
 * Scroll the sidebar, never the window: the page stays at its beginning. In the next frame, which lays out the view that
 * was opened in any case: at once a browser would lay it out without its text.
 */
const scrollToRow = (link) => link && requestAnimationFrame(() => scrollNow(link));

function scrollNow(link) {
  const sidebar = document.getElementById("sidebar");
  if (!sidebar.clientHeight) return;
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
  window.addEventListener("view:shown", () => trying(reveal));
  let waiting = null;
  window.addEventListener("live:tree", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refreshOnceReleased, 150);
  });
  await trying(async () => {
    await Promise.all([...nav.querySelectorAll("li[data-id]")].filter((one) => opened.has(one.dataset.id)).map(open));
    await reveal();
  });
}
