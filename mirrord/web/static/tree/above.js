/** The entries above a page: the sidebar and the page itself show them, and ask once. */
import { get } from "../server/api.js";

let known = null; // {page, answer}: of the last page, until the tree may have changed
let changedAt = 0; // when it did last, in ms

for (const name of ["live:tree", "live:open"]) window.addEventListener(name, () => ([known, changedAt] = [null, Date.now()]));

/** Remember what came with a page that was asked for at `begun`, unless the tree may have changed since. */
export function knowAbove({ id, above }, begun) {
  if (above && begun > changedAt) known = { page: id, answer: Promise.resolve(above) };
}

/** From the top to the page itself; [] if it is in the trash. */
export function entriesAbove(page) {
  if (known?.page !== page) {
    const asked = { page, answer: get(`pages/${page}/above`) };
    asked.answer.catch(() => known === asked && (known = null)); // the next asks again
    known = asked;
  }
  return known.answer;
}
