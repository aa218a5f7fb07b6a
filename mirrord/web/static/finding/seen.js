/** The pages that this browser opened last, the newest first; their ids only. */
import { tenant } from "../server/api.js";

const KEY = `mirrord:seen:${tenant}`;
const MAX_PAGES = 12;

export function seenPages() {
  try {
    const ids = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
  } catch {
    return []; // the browser keeps nothing, or something else is kept there
  }
}

/** Note that a page is open now. */
export function noteSeen(page) {
  const ids = [page, ...seenPages().filter((id) => id !== page)].slice(0, MAX_PAGES);
  try {
    localStorage.setItem(KEY, JSON.stringify(ids));
  } catch {
    // the list is a convenience
  }
}

/** Forget them, as when a person signs out. */
export function forgetSeen() {
  for (const key of Object.keys(localStorage)) if (key.startsWith("mirrord:seen:")) localStorage.removeItem(key);
}
