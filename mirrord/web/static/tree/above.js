/** The entries above a page: the sidebar and the page itself show them, and ask once. */
import { get } from "../server/api.js";

let known = null; // {page, answer}: of the last page, until the tree may have changed

for (const name of ["live:tree", "live:open"]) window.addEventListener(name, () => (known = null));

/** From the top to the page itself; [] if it is in the trash. */
export function entriesAbove(page) {
  if (known?.page !== page) {
    const asked = { page, answer: get(`pages/${page}/above`) };
    asked.answer.catch(() => known === asked && (known = null)); // the next asks again
    known = asked;
  }
  return known.answer;
}
