/** Deleted pages, the newest first: found by title, and restored one by one or all that are listed. */
import { actor, button, confirmed, make, many, moment, tell, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { change, getFor, href, isReader } from "../server/api.js";
import { COMMON, TRASH } from "../words.js";

const STILL = 200; // ms without typing before pages are asked for
const field = make("input", { type: "search", placeholder: TRASH.find, "aria-label": TRASH.find, autocomplete: "off" });
const list = make("ul", { class: "list" });
const tools = make("div", { class: "tools" });
let listed = [];
let get = null; // as long as the view is shown

const revive = (page) => change("POST", `pages/${page}/revive`);

function drawn(page) {
  const back = button(TRASH.restore, () => trying(async () => openView((await revive(page.id)).href)), { "aria-label": TRASH.restoreOf(page.title) });
  const when = TRASH.when(moment(page.deleted_at), actor(page.by));
  const link = make("a", { href: href(page.id) }, `${page.icon ?? ""} ${page.title}`.trim());
  return make("li", { class: "card" }, link, make("p", {}, page.path), make("p", { class: "hint" }, when), isReader ? null : make("div", { class: "tools" }, back));
}

/** Show the pages from number `start` on, behind those before. */
async function show(start = 0) {
  const { pages, more } = await get("trash", { q: field.value.trim(), start });
  listed = [...listed.slice(0, start), ...pages];
  list.replaceChildren(...listed.map(drawn));
  const none = field.value.trim() ? TRASH.noneSo : TRASH.empty;
  tools.replaceChildren(
    ...(listed.length ? [] : [make("p", {}, none)]),
    ...(more ? [button(COMMON.more, () => trying(() => show(listed.length)))] : []),
    ...(listed.length > 1 && !isReader ? [button(TRASH.restoreAll(listed.length), () => trying(restoreAll))] : []),
  );
}

async function restoreAll() {
  const pages = listed;
  if (!(await confirmed(TRASH.question(many(pages.length, COMMON.page)), TRASH.restore))) return;
  for (const page of pages) await revive(page.id);
  tell(TRASH.restored(many(pages.length, COMMON.page)));
  await show();
}

/** Show it, and again when something is deleted or comes back. */
export function start(signal) {
  get = getFor(signal);
  document.getElementById("content").replaceChildren(field, list, tools);
  let waiting = null;
  field.value = "";
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => trying(() => show()), STILL);
  }, { signal });
  window.addEventListener("live:tree", () => trying(() => show()), { signal });
  return trying(() => show());
}
