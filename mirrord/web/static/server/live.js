/** What happens in the tenant, as events of the window: `live:page`, `live:tree`, `live:attention`, `live:mirrors`, `live:open`. */
import { address } from "./api.js";

let source = null;

function open() {
  if (source || document.hidden) return;
  source = new EventSource(address("live", { since: last }));
  for (const name of ["page", "tree", "attention", "mirrors"]) {
    source.addEventListener(name, (event) => {
      if (event.lastEventId) last = event.lastEventId;
      window.dispatchEvent(new CustomEvent(`live:${name}`, { detail: JSON.parse(event.data) }));
    });
  }
  source.addEventListener("begin", () => window.dispatchEvent(new CustomEvent("live:open")));
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return;
    source = null; // the server refused; browsers try again only after broken connections
    setTimeout(open, 2000);
  });
}

let last = null;

/** Listen, while somebody looks: a browser has few connections to one host, and hidden windows would hold them all. */
export function listen() {
  open();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) open();
    else if (source) {
      source.close();
      source = null;
    }
  });
}
