/** Where the links of a page lead, and which pages link to it. */
import { get, href } from "../server/api.js";
import { confirmed, make, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { PAGE } from "../words.js";
import { makePage } from "./missing.js";
import { getTarget, part, shown } from "./shown.js";

const QUIET_MS = 300; // without news, before the links are asked about

/** Go where a link leads: in the mirror, or out of it. */
export async function follow(target) {
  if (/^(https?|mailto):/i.test(target)) {
    window.open(target, "_blank", "noopener,noreferrer");
    return;
  }
  const asPath = /\.md(#|$)|^\.{0,2}\//.test(target);
  for (const kind of asPath ? ["markdown", "wikilink"] : ["wikilink", "markdown"]) {
    const page = await getTarget(`pages/${shown.id}/resolve`, { target, kind });
    if (page) return go(page.href);
  }
  const [name] = target.split("#");
  if (!(await confirmed(PAGE.noPage(name), PAGE.createIt))) return;
  await trying(async () => go(await makePage(target, shown.page, asPath)));
}

/** To another page, or to a heading of this one. */
async function go(where) {
  if (new URL(where, location.href).pathname !== location.pathname) return openView(where);
  history.pushState(null, "", where);
  reveal();
}

/** Scroll to the heading that the address names. */
export function reveal() {
  const fragment = decodeURIComponent(location.hash.slice(1));
  if (fragment) shown.mounted?.reveal?.(fragment);
}

/** The links that lead to no page are shown as such, as soon as that is known. */
export function markUnresolved() {
  clearTimeout(markUnresolved.timer);
  markUnresolved.timer = setTimeout(async () => {
    const links = await get(`pages/${shown.id}/unresolved`).catch(() => null);
    if (links) shown.mounted?.showUnresolved?.(links);
  }, QUIET_MS);
}

/** List the pages that link here. */
export async function showBacklinks() {
  const { signal } = shown;
  const pages = await get(`pages/${shown.id}/backlinks`);
  if (signal.aborted) return;
  part("backlinks").replaceChildren(
    ...pages.map((one) => make("li", {}, make("a", { href: one.href }, `${one.icon ?? ""} ${one.title}`.trim()))),
  );
  part("backlinks").parentElement.hidden = !pages.length;
}
