/** How the tenant is: counts, mirrors, how soon changes are on disk, what happened last. */
import { get } from "../server/api.js";
import { actor, make, many, moment, trying } from "../elements/dom.js";
import { mirrors } from "./mirrors.js";
import { pace, sparkline } from "../elements/sparkline.js";

const AGAIN = 1000; // ms between two requests, if anything changes
const place = document.getElementById("content");

const median = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
const row = (...cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell ?? "")));
const table = (heads, rows) =>
  make("div", { class: "table", tabindex: "0", role: "group", "aria-label": heads[0] }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((one) => make("th", { scope: "col" }, one)))), make("tbody", {}, rows)));

function toDisk(seconds) {
  if (seconds.length < 2) return make("p", {}, "Nothing has been written since this page was opened.");
  const words = `The last ${seconds.length} changes were on disk after ${pace(median(seconds))} (median), ${pace(Math.max(...seconds))} at most.`;
  return make("div", { class: "pace" }, make("p", {}, words), sparkline(seconds, words));
}

const happened = (events) =>
  events.length
    ? table(["When", "Who", "What", ""], events.map((one) => row(moment(one.at), actor(one.by), one.type, one.what)))
    : make("p", {}, "No tool has done anything yet.");

/** The parts of the page: what each is about, and how that is shown. */
const PARTS = [
  ["", (found) => found.counts, (counts) => make("p", {}, `${["page", "attachment", "record"].map((thing) => many(counts[`${thing}s`], thing)).join(", ")}.`)],
  ["Mirrors", (found) => found.mirrors, mirrors],
  ["Time from changes here to disk", (found) => found.to_disk, toDisk],
  ["Recent events", (found) => found.events, happened],
];

/** A part that is drawn again only when it has something else to show: who reads or scrolls in it is left alone. */
function part([title, about, drawn]) {
  const section = make("section", title ? { "aria-label": title } : {}, title ? make("h2", {}, title) : null, make("div"));
  let shown = null;
  return {
    section,
    show(found) {
      const wanted = JSON.stringify(about(found));
      if (wanted !== shown) section.lastElementChild.replaceChildren(drawn(about(found)));
      shown = wanted;
    },
  };
}

/** Show it, and again when something changed. */
export function start() {
  const parts = PARTS.map(part);
  const show = async () => {
    const found = await get("status");
    for (const one of parts) one.show(found);
    if (!place.contains(parts[0].section)) place.replaceChildren(...parts.map((one) => one.section));
  };
  let waiting = null;
  const soon = () => (waiting ??= setTimeout(() => ((waiting = null), trying(show)), AGAIN));
  for (const name of ["live:page", "live:attention", "live:mirrors"]) window.addEventListener(name, soon);
  return trying(show);
}
