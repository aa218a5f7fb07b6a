/** How the tenant is: counts, mirrors, how soon changes are on disk, what happened last. */
import { actor, make, many, moment, trying } from "../elements/dom.js";
import { problemCard } from "../elements/problems.js";
import { pace, sparkline } from "../elements/sparkline.js";
import { getFor, href, tenant } from "../server/api.js";
import { EVENTS, STATUS } from "../words.js";
import { backups } from "./backups.js";
import { localTree } from "./local_tree.js";
import { mirrors } from "./mirrors.js";
import { access } from "./tokens.js";

const AGAIN = 1000; // ms between two requests, if anything changes

const median = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
const row = (...cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell ?? "")));
const table = (heads, rows) =>
  make("div", { class: "table", tabindex: "0", role: "group", "aria-label": heads[0] }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((one) => make("th", { scope: "col" }, one)))), make("tbody", {}, rows)));

function toDisk(seconds) {
  if (seconds.length < 2) return make("p", {}, STATUS.nothingWritten);
  const words = STATUS.lastOnDisk(seconds.length, pace(median(seconds)), pace(Math.max(...seconds)));
  return make("div", { class: "pace" }, make("p", {}, words), sparkline(seconds, words));
}

const placeOf = ({ page, change_set: changeSet, what }) => {
  if (page) return make("a", { href: href(page) }, what || STATUS.thePage);
  return changeSet ? make("a", { href: `/t/${tenant}/review?change=${changeSet}` }, what || STATUS.theChangeSet) : what;
};

const happened = (events) =>
  events.length
    ? table(STATUS.heads, events.map((one) => row(moment(one.at), actor(one.by), EVENTS[one.type] ?? one.type, placeOf(one))))
    : make("p", {}, STATUS.noEvents);

/** The parts of the page: what each is about, and how that is shown. */
const PARTS = [
  ["", (found) => found.counts, (counts) => make("p", {}, STATUS.counts(...["page", "attachment", "record"].map((kind) => many(counts[`${kind}s`], kind))))],
  [STATUS.mirrors, (found) => found.mirrors, mirrors],
  [STATUS.problems, (found) => found.problems, (problems) => (problems.length ? make("ul", { class: "list" }, problems.map(problemCard)) : make("p", {}, STATUS.noProblems))],
  [STATUS.toDisk, (found) => found.to_disk, toDisk],
  [STATUS.events, (found) => found.events, happened],
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
export function start(signal) {
  const place = document.getElementById("content");
  const get = getFor(signal);
  const parts = PARTS.map(part);
  const show = async () => {
    const found = await get("status");
    for (const one of parts) one.show(found);
    if (!place.contains(parts[0].section)) place.replaceChildren(...parts.map((one) => one.section));
  };
  const showOperations = async () => {
    const section = await localTree();
    if (section && !signal.aborted) parts[1].section.after(section); // beside the mirrors, which it stops
    for (const section of [await backups(signal), await access()]) if (section && !signal.aborted) place.append(section);
  };
  let waiting = null;
  const soon = () => (waiting ??= setTimeout(() => ((waiting = null), trying(show)), AGAIN));
  for (const name of ["live:page", "live:attention", "live:mirrors"]) window.addEventListener(name, soon, { signal });
  return trying(async () => {
    await show();
    await showOperations();
  });
}
