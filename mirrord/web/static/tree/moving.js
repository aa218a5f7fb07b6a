/** Pages are moved in the sidebar: by drag, and by Alt with the arrow keys. */
import { tell, trying } from "../elements/dom.js";
import { TREE } from "../words.js";
import { changed } from "./actions.js";
import { idOf, itemOf, nav, parentOf, refresh, remember, siblings, titleOf } from "./levels.js";
import { linkingNote } from "./linking.js";

async function put(item, parent, before) {
  const title = titleOf(item);
  const note = parent === idOf(parentOf(item)) ? "" : await linkingNote(idOf(item));
  const done = await trying(() => changed("POST", `pages/${idOf(item)}/move`, idOf(item), { parent, before }));
  if (parent && done) remember(parent, true);
  await refresh();
  if (done) tell(done.sentence ?? `${TREE.moved(title)} ${note}`.trim());
  const isElsewhere = document.activeElement !== document.body && !nav.contains(document.activeElement);
  if (!isElsewhere) nav.querySelector(`li[data-id="${idOf(item)}"] > .row > a`)?.focus();
}

/** By keyboard: among its siblings, into the one above, out of the folder. */
export function step(item, way) {
  const all = siblings(item);
  const at = all.indexOf(item);
  const above = idOf(parentOf(item));
  if (item.classList.contains("beyond") && way !== "ArrowLeft") {
    tell(TREE.isBeyond);
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
  tell(TREE.cannotMove);
  return null;
}

/** Where a dragged page would go: before a row, into it, or behind it. */
function target(event) {
  const row = event.target.closest?.(".row");
  if (!row) return null;
  const box = row.getBoundingClientRect();
  const part = (event.clientY - box.top) / box.height;
  return { row, item: itemOf(row), where: part < 0.3 ? "before" : part > 0.7 ? "behind" : "into" };
}

let dragged = null;
let pressed = null; // the row below a pressed button: a drag may begin there
let isChanged = false; // pages changed elsewhere since the button was pressed

/** Read the sidebar again; while a row is pressed or dragged after that, because a drag ends with its row. */
export function refreshOnceReleased() {
  if (!dragged?.isConnected && !pressed?.isConnected) return refresh(); // no drag ends whose row is gone
  isChanged = true;
  return null;
}

function release() {
  dragged = pressed = null;
  if (isChanged) void refresh();
  isChanged = false;
}

export function draggable() {
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
  nav.addEventListener("dragend", () => (clear(), release()));
  nav.addEventListener("pointerdown", (event) => (pressed = event.button ? null : itemOf(event.target)));
  window.addEventListener("pointerup", release);
  window.addEventListener("pointercancel", () => dragged || release()); // a drag cancels its pointer
}
