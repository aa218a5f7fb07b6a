/** What a person does with a page as a whole: create, rename, delete it, give it an icon. */
import { change, get, tenant } from "../server/api.js";
import { ask, confirmed, trying } from "../elements/dom.js";
import { current } from "./levels.js";

/** A page has a new version with every edit, of which the sidebar is not told. */
const versionOf = async (page) => (await get(`pages/${page}/version`)).version;

/** A change of a page's place, name or icon: that its text was edited in this very moment is no reason against it. */
export async function changed(method, path, page, body) {
  for (let tries = 3; ; tries--) {
    try {
      return await change(method, path, { version: await versionOf(page), ...body });
    } catch (error) {
      if (error.status !== 409 || tries === 1) throw error;
    }
  }
}

/** Make a page and go there. */
export async function create(parent) {
  const title = await ask("Title of the new page", { action: "Create" });
  if (!title?.trim()) return;
  const made = await trying(() => change("POST", "pages", { parent, title }));
  if (made) location.assign(made.href);
}

/** Ask for another title. */
export async function rename(page, title) {
  const wanted = await ask("Rename to", { value: title, action: "Rename" });
  if (!wanted?.trim() || wanted === title) return;
  await trying(() => changed("PATCH", `pages/${page}`, page, { title: wanted }));
}

/** Ask for another icon. */
export async function setIcon(page, icon) {
  const wanted = await ask("Icon: an emoji, or empty", { value: icon, action: "Set" });
  if (wanted === null) return;
  await trying(() => changed("PATCH", `pages/${page}`, page, { icon: wanted }));
}

/** Delete a page, if that is meant. */
export async function discard(page, title) {
  if (!(await confirmed(`Delete “${title}”, with everything in it? It can be restored from the trash.`, "Delete"))) return;
  const done = await trying(async () => change("DELETE", `pages/${page}`, { version: await versionOf(page) }));
  if (done && page === current) location.assign(`/t/${tenant}/trash`);
}
