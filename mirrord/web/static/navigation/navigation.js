/** From view to view without loading the console again: what is shown is exchanged, the sidebar and the news stay. */
import { listenToPointer, viewAt } from "./ahead.js";
import { tell } from "../elements/dom.js";
import { LEAVING } from "../words.js";
import { keepBlank, kindOf } from "./page_view.js";
import { enter, openedAt, rememberScroll } from "./places.js";

const EXCHANGED = new Set(["home", "page", "history", "trash", "attention", "review", "status", "tags"]);
const LEAVING_MS = 3000; // that a save may take before another view is opened
const NEWS_MS = 1000; // that the news of a view wait until it is shown

let ending = null; // ends what the view listens to
let module = null; // of the view
let going = 0;

const moduleOf = (view) => (view === "page" ? import("../page/page.js") : import(`../views/${view}.js`));

/** Let the view that is in the window live. */
export async function startView() {
  const view = kindOf(document);
  if (!view) return;
  keepBlank(document.getElementById("main"));
  ending = new AbortController();
  module = await moduleOf(view);
  await module.start(ending.signal);
}

/** Open an address of this tenant; with isReturn the browser has gone there already. */
export async function openView(address, isReturn = false) {
  const number = ++going;
  const next = await viewAt(address).catch(() => null);
  if (number !== going) return;
  const isPart = next?.main && EXCHANGED.has(kindOf(next.main)) && EXCHANGED.has(kindOf(document));
  if (!(await left())) return;
  if (number !== going) return;
  if (!isPart) return isReturn ? location.reload() : location.assign(address);
  await exchange(next, address, isReturn);
}

async function exchange(next, address, isReturn) {
  delete document.body.dataset.ready;
  if (!isReturn) rememberScroll(); // before the text ends: without it the window is at the top
  ending?.abort();
  module?.stop?.();
  if (!isReturn) history.pushState({}, "", address);
  document.getElementById("main").replaceWith(document.adoptNode(next.main));
  document.title = next.title;
  window.dispatchEvent(new CustomEvent("view:shown"));
  enter(isReturn);
  const starting = startView();
  try {
    await Promise.race([starting, new Promise((done) => setTimeout(done, NEWS_MS))]);
  } finally {
    window.dispatchEvent(new CustomEvent("view:begun"));
  }
  await starting;
  if (isReturn) openedAt();
  document.body.dataset.ready = "yes";
}

/** Whether the view may be left: what is typed in it is saved, or kept by the browser, or a person gives it up. */
async function left() {
  if (!module?.unsaved?.()) return true;
  await Promise.race([module.save(), new Promise((done) => setTimeout(done, LEAVING_MS))]);
  if (!module.isUnkept()) return true;
  tell(LEAVING);
  return false;
}

const isOwn = (link) => link.origin === location.origin && link.pathname.startsWith(`/t/${document.body.dataset.tenant}/`);
const isFile = (link) => /\/(file|conflicts\/|static\/)/.test(link.pathname) || link.hasAttribute("download");

/** Where a link leads that opens another view in this window; null: it does not. */
function leads(event) {
  const link = event.target.closest?.("a[href]");
  const isOther = event.button > 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link?.target;
  if (!link || isOther || !isOwn(link) || isFile(link)) return null;
  const isHere = link.pathname === location.pathname && link.search === location.search;
  return isHere && link.hash ? null : link.href;
}

function click(event) {
  const where = event.defaultPrevented ? null : leads(event);
  if (!where) return;
  event.preventDefault();
  void openView(where);
}

/** Answer to links and to the browser's own steps back and forth. */
export function listenToLinks() {
  history.scrollRestoration = "manual";
  let path = location.pathname + location.search;
  window.addEventListener("view:shown", () => (path = location.pathname + location.search));
  document.addEventListener("click", click);
  listenToPointer(leads);
  window.addEventListener("popstate", () => {
    if (location.pathname + location.search !== path) void openView(location.href, true);
  });
}
