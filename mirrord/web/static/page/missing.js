/** Pages that links name and that do not exist yet: each is made where its link looks for it. */
import { change } from "../server/api.js";
import { getTarget } from "./shown.js";

/** The names from the root down to the page that `target` names in `page`; one name alone: beside the page. */
function namesOf(target, page, asPath) {
  const [path] = target.split("#");
  const plain = asPath ? decodeURIComponent(new URL(path, new URL(encodeURI(page.path), "http://tree/")).pathname) : path;
  const names = plain.replace(/\.md$/i, "").split("/").filter(Boolean);
  return { names, isBeside: !asPath && !plain.includes("/") };
}

/** The page or folder with these names; it is made, and those above it, if there is none. */
async function folderOf(names, from) {
  if (!names.length) return null;
  const query = { target: `/${names.join("/")}`, kind: "wikilink" };
  const found = await getTarget(`pages/${from}/resolve`, query);
  return found?.id ?? (await made(names.at(-1), await folderOf(names.slice(0, -1), from))).id;
}

const made = (title, parent) => change("POST", "pages", { parent, title });

/** Makes the page that a link in `page` names; its address. */
export async function makePage(target, page, asPath) {
  const { names, isBeside } = namesOf(target, page, asPath);
  const parent = isBeside ? page.parent : await folderOf(names.slice(0, -1), page.id);
  return (await made(names.at(-1), parent)).href;
}
