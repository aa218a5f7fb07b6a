/** Deleted pages, the newest first: found by title, and restored one by one or all that are listed. */
import { change, get, href } from "../server/api.js";
import { actor, button, confirmed, make, many, moment, tell, trying } from "../elements/dom.js";

const STILL = 200; // ms without typing before pages are asked for
const place = document.getElementById("content");
const field = make("input", { type: "search", placeholder: "Find in the trash", "aria-label": "Find in the trash", autocomplete: "off" });
const list = make("ul", { class: "list" });
const tools = make("div", { class: "tools" });
let listed = [];

const revive = (page) => change("POST", `pages/${page}/revive`);

function drawn(page) {
  const back = button("Restore", () => trying(async () => location.assign((await revive(page.id)).href)), { "aria-label": `Restore ${page.title}` });
  const when = `deleted ${moment(page.deleted_at)} by ${actor(page.by)}`;
  const link = make("a", { href: href(page.id) }, `${page.icon ?? ""} ${page.title}`.trim());
  return make("li", { class: "card" }, link, make("p", {}, page.path), make("p", { class: "hint" }, when), make("div", { class: "tools" }, back));
}

/** Show the pages from number `start` on, behind those before. */
async function show(start = 0) {
  const { pages, more } = await get("trash", { q: field.value.trim(), start });
  listed = [...listed.slice(0, start), ...pages];
  list.replaceChildren(...listed.map(drawn));
  const none = field.value.trim() ? "No deleted page is called so." : "The trash is empty.";
  tools.replaceChildren(
    ...(listed.length ? [] : [make("p", {}, none)]),
    ...(more ? [button("More…", () => trying(() => show(listed.length)))] : []),
    ...(listed.length > 1 ? [button(`Restore all ${listed.length} listed pages`, () => trying(restoreAll))] : []),
  );
}

async function restoreAll() {
  const pages = listed;
  if (!(await confirmed(`Restore ${many(pages.length, "page")} with everything that was deleted with them?`, "Restore"))) return;
  for (const page of pages) await revive(page.id);
  tell(`${many(pages.length, "page")} restored.`);
  await show();
}

/** Show it, and again when something is deleted or comes back. */
export function start() {
  place.replaceChildren(field, list, tools);
  let waiting = null;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => trying(() => show()), STILL);
  });
  window.addEventListener("live:tree", () => trying(() => show()));
  return trying(() => show());
}
