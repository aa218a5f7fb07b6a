/** The view of a page, made from one that the server rendered: what differs between two of them comes with the page. */
import { href, tenant } from "../server/api.js";

let blank = null; // the view of a page as the server rendered it, before anything was shown in it

/** The kind of a view, or of the one in a document. */
export const kindOf = (root) => root.dataset?.view ?? root.querySelector("[data-view]")?.dataset.view;

/** Whether views of pages can be made here. */
export const isMakeable = () => blank !== null;

/** Keep `main`, nothing of which has begun, if it is the view of a page. */
export function keepBlank(main) {
  if (blank === null && kindOf(main) === "page") blank = main.cloneNode(true);
}

/** The view of `page`, with the title of the window. What is above it is shown by page/inside.js, the rest by page/head.js. */
export function viewOfPage({ id, kind, title, icon }) {
  const main = blank.cloneNode(true);
  Object.assign(main.querySelector("#page").dataset, { page: id, kind });
  main.querySelector("#people").dataset.page = id;
  main.querySelector("#title").textContent = title;
  main.querySelector("#icon").textContent = icon ?? "";
  main.querySelector('a[href$="/history"]').href = `${href(id)}/history`;
  for (const step of [...main.querySelectorAll("#crumbs > li")].slice(1)) step.remove();
  return { main, title: `${title} · ${tenant}` };
}
