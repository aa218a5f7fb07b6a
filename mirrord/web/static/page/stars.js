/** Pages that a person starred or opened last, kept in this browser for each tenant. */
import { tenant } from "../server/api.js";

const MAX_VISITED = 20; // pages
const keyOf = (name) => `mirrord.${name}.${tenant}`;
const listOf = (name) => JSON.parse(localStorage.getItem(keyOf(name)) ?? "[]");
const store = (name, list) => localStorage.setItem(keyOf(name), JSON.stringify(list));
const entryOf = ({ id, title, icon }) => ({ id, title, icon: icon ?? null });

/** The pages that are starred, and those that were opened last, as {id, title, icon}. */
export const starred = () => listOf("starred");
export const visited = () => listOf("visited");

export const isStarred = (id) => starred().some((page) => page.id === id);

/** Star a page, or take its star away; whether it is starred now. */
export function toggleStar(page) {
  const others = starred().filter(({ id }) => id !== page.id);
  const isOn = !isStarred(page.id);
  store("starred", isOn ? [...others, entryOf(page)] : others);
  return isOn;
}

/** Remember that a page was opened, under the title and icon it has now. */
export function remember(page) {
  const others = visited().filter(({ id }) => id !== page.id);
  store("visited", [entryOf(page), ...others].slice(0, MAX_VISITED));
  if (isStarred(page.id)) store("starred", starred().map((one) => (one.id === page.id ? entryOf(page) : one)));
}

/** When a person looked at what others changed, and that it is now; null: never. */
export const lookedAt = () => localStorage.getItem(keyOf("looked"));
export const rememberLook = (moment) => localStorage.setItem(keyOf("looked"), moment);

/** Forget a page that is no more. */
export function forget(id) {
  for (const name of ["starred", "visited"]) store(name, listOf(name).filter((page) => page.id !== id));
}

/** Forget titles of all tenants, and which pages were opened, as when a person signs out; which pages are starred stays. */
export function forgetTitles() {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith("mirrord.visited.")) localStorage.removeItem(key);
    if (!key.startsWith("mirrord.starred.")) continue;
    const ids = JSON.parse(localStorage.getItem(key)).map(({ id }) => ({ id, title: null, icon: null }));
    localStorage.setItem(key, JSON.stringify(ids));
  }
}

/** Give the starred pages that have no title here the one they have now; a page that is not there is left out. */
export async function titledStars(get) {
  const titled = await Promise.all(starred().map(async (page) => (page.title === null ? await named(page, get) : page)));
  for (const page of titled) if (page && isStarred(page.id)) store("starred", starred().map((one) => (one.id === page.id ? page : one)));
  return titled.filter(Boolean);
}

async function named({ id }, get) {
  const page = (await get(`pages/${id}/above`)).at(-1);
  return page ? entryOf(page) : null;
}
