/** Where the links of a page lead, and which pages link to it. */
import { get, href } from "../server/api.js";
import { confirmed, make, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { PAGE } from "../words.js";
import { makePage } from "./missing.js";
import { getTarget, part, shown } from "./shown.js";

const QUIET_MS = 300; // without news, before the links are asked about
const MOST_FOLLOWED_MS = 30_000; // between two questions while links follow pages that changed

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

let asking = null; // the timer of the last question about links

/** Show which links of the page lead to no page, and which pages link here; links follow new pages a moment later. */
export function showLinks(wait = QUIET_MS) {
  clearTimeout(asking);
  const { id, signal } = shown;
  const timer = setTimeout(async () => {
    const [unresolved, backlinks] = await Promise.allSettled([get(`pages/${id}/unresolved`), showBacklinks()]);
    if (signal.aborted || timer !== asking) return;
    const { links, following } = unresolved.value ?? {};
    if (links) shown.mounted?.showUnresolved?.(links);
    const isRefused = [unresolved, backlinks].some((one) => one.reason && one.reason.status !== 404);
    if (following || isRefused) showLinks(Math.min(2 * Math.max(wait, QUIET_MS), MOST_FOLLOWED_MS));
  }, wait);
  asking = timer;
}

async function showBacklinks() {
  const { signal } = shown;
  const pages = await get(`pages/${shown.id}/backlinks`);
  if (signal.aborted) return;
  part("backlinks").replaceChildren(
    ...pages.map((one) => make("li", {}, make("a", { href: one.href }, `${one.icon ?? ""} ${one.title}`.trim()))),
  );
  part("backlinks").parentElement.hidden = !pages.length;
}
