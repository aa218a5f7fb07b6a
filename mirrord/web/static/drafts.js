/** What is typed and not saved yet, kept by the browser: a crash or a restart loses nothing. */
import { tenant } from "./api.js";

const name = (page) => `mirrord.unsaved.${tenant}.${page}`;

/** Keep `text`, made from `version`; null: it is saved. view: which of the two editors typed it. */
export function keep(page, view, version, text) {
  try {
    if (text === null) localStorage.removeItem(name(page));
    else localStorage.setItem(name(page), JSON.stringify({ view, version, text, at: new Date().toISOString() }));
  } catch {
    // a full or forbidden store: the page still holds it
  }
}

/** What is kept of a page: {view, version, text, at}; null: nothing. */
export function kept(page) {
  try {
    return JSON.parse(localStorage.getItem(name(page)));
  } catch {
    return null;
  }
}
