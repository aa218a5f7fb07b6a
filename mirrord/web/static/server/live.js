/** What happens in the tenant, as events of the window: `live:page`, `live:tree`, `live:attention`, `live:mirrors`, `live:people`, `live:open`, `live:lost`. */
import { address } from "./api.js";

let source = null;
let page = null; // that the stream says is open
const former = []; // streams that are closed once the next one has begun, so that nothing is missed between them

const pageShown = () => document.querySelector('[data-view="page"]')?.dataset.page ?? null;
const endFormer = () => former.splice(0).forEach((stream) => stream.close());

function open() {
  if (source || document.hidden) return;
  page = pageShown();
  const opened = new EventSource(address("live", { since: last, page }));
  source = opened;
  for (const name of ["page", "tree", "attention", "mirrors", "people"]) {
    opened.addEventListener(name, (event) => {
      if (event.lastEventId) last = event.lastEventId;
      window.dispatchEvent(new CustomEvent(`live:${name}`, { detail: JSON.parse(event.data) }));
    });
  }
  opened.addEventListener("begin", () => {
    if (opened === source) endFormer();
    window.dispatchEvent(new CustomEvent("live:open"));
  });
  opened.addEventListener("error", () => {
    if (opened !== source) return opened.close();
    endFormer();
    window.dispatchEvent(new CustomEvent("live:lost"));
    if (opened.readyState !== EventSource.CLOSED) return;
    source = null; // the server refused; browsers try again only after broken connections
    setTimeout(open, 2000);
  });
}

let last = null;

/** Another view is in the window: the stream says which page is open, so another one takes its place. */
function follow() {
  if (!source || page === pageShown()) return;
  former.push(source);
  source = null;
  open();
}

/** Listen, while somebody looks: a browser has few connections to one host, and hidden windows would hold them all. */
export function listen() {
  open();
  window.addEventListener("view:begun", follow); // the view itself is asked for first
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) open();
    else {
      endFormer();
      source?.close();
      source = null;
    }
  });
}
