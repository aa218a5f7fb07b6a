/** What a person does with a page as a whole: create, rename, copy, move, delete it, give it an icon. */
import { ask, confirmed, tell, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { shown } from "../page/shown.js";
import { forget } from "../page/stars.js";
import { change, get, tenant } from "../server/api.js";
import { ACTIONS, TREE } from "../words.js";
import { askDestination } from "./destination.js";
import { current, dropRow } from "./levels.js";
import { deletionNote, linkingNote } from "./linking.js";

const MAX_TRIES = 3; // of a change while the text of the page is edited

/** A page has a new version with every edit, of which the sidebar is not told. */
const versionOf = async (page) => (await get(`pages/${page}/version`)).version;

/**
 * A change of a page's place, name, icon or properties: that its text was edited in this very moment is no reason against
 * it. `body()` instead of `body` makes it, with the version, of what the page is at that moment.
 */
export async function changed(method, path, page, body) {
  for (let tries = MAX_TRIES; ; tries--) {
    try {
      return await change(method, path, typeof body === "function" ? await body() : { version: await versionOf(page), ...body });
    } catch (error) {
      if (error.status !== 409 || tries === 1) throw error;
    }
  }
}

/** Today, in the person's calendar, as 2026-01-31. */
function today() {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}

async function askTemplate() {
  const templates = (await trying(() => get("templates"))) ?? [];
  if (!templates.length) return "";
  const choices = [["", ACTIONS.emptyPage], ...templates.map(({ id, title, icon }) => [id, `${icon ?? ""} ${title}`.trim()])];
  return ask(ACTIONS.beginAs, { choices });
}

/** Make a page and go there. */
export async function create(parent) {
  const template = await askTemplate();
  if (template === null) return;
  const title = await ask(ACTIONS.newTitle, { action: ACTIONS.create });
  if (!title?.trim()) return;
  const made = await trying(() => change("POST", "pages", { parent, title, template: template || null, date: today() }));
  if (!made) return;
  await openView(made.href);
  shown.mounted?.focus(); // what is typed next is its text
}

/** Go to the page of today, which is made if there is none. */
export async function openDaily() {
  await openView((await change("POST", "daily", { date: today() })).href);
}

/** Copy a page and go to the copy. */
export async function duplicate(page, title) {
  const made = await trying(() => change("POST", `pages/${page}/duplicate`));
  if (!made) return;
  await openView(made.href);
  tell(ACTIONS.duplicated(title));
}

/** Ask for another place in the tree. */
export async function moveElsewhere(page, title) {
  const parent = await askDestination(page, title, await linkingNote(page));
  if (parent === undefined) return;
  const answer = await trying(() => changed("POST", `pages/${page}/move`, page, { parent, before: null }));
  if (answer) tell(answer.sentence ?? TREE.moved(title));
}

/** Ask for another title. */
export async function rename(page, title) {
  const wanted = await ask(ACTIONS.renameTo, { value: title, action: ACTIONS.rename, note: await linkingNote(page) });
  if (wanted?.trim() && wanted !== title) await renamePage(page, wanted);
}

/** Give a page this title. */
export const renamePage = (page, title) => trying(() => changed("PATCH", `pages/${page}`, page, { title }));

/** Ask for another icon. */
export async function setIcon(page, icon) {
  const wanted = await ask(ACTIONS.icon, { value: icon, action: ACTIONS.set });
  if (wanted === null) return;
  await trying(() => changed("PATCH", `pages/${page}`, page, { icon: wanted }));
}

/** Delete a page, if that is meant. */
export async function discard(page, title) {
  if (!(await confirmed(ACTIONS.deleteQuestion(title), ACTIONS.delete, "danger", deletionNote(page)))) return;
  const answer = await trying(async () => change("DELETE", `pages/${page}`, { version: await versionOf(page) }));
  if (!answer) return;
  forget(page);
  dropRow(page);
  if (page === current()) await openView(`/t/${tenant}/trash`);
}
