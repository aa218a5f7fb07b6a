/** A tenant's mirrors, as their daemons tell: what waits, how soon changes are carried over, how far long work is. */
import { make, many, moment } from "../elements/dom.js";
import { pace, sparkline } from "../elements/sparkline.js";

const KEPT = 60; // of what was told of one direction, while the page is open
const WORK = { scan: "Scanning the whole tree", import: "Processing files and rows", derive: "Deriving documents", command: "Carrying out approved requests" };
const WAYS = { file_to_row: "From file to row", row_to_file: "From row to file" };
const KINDS = { tree: "A tree of files" }; // where it is, only operators see
const told = new Map();

/** What was told of one direction since the page is open: of each telling the last change. */
function kept(mirror, way, recent) {
  const key = `${mirror} ${way}`;
  const known = told.get(key) ?? { recent: "", seconds: [] };
  if (known.recent !== JSON.stringify(recent)) known.seconds = [...known.seconds, recent.last].slice(-KEPT);
  known.recent = JSON.stringify(recent);
  told.set(key, known);
  return known.seconds;
}

function latency(mirror, way, recent) {
  if (!recent) return make("p", { class: "hint" }, `${WAYS[way]}: nothing in the last minutes.`);
  const words = `${WAYS[way]}: ${pace(recent.median)} (median), ${pace(recent.p99)} or less for 99 of 100 (${many(recent.count, "change")} in the last minutes).`;
  const seconds = kept(mirror, way, recent);
  const line = seconds.length > 1 ? sparkline(seconds, `${WAYS[way]}, the last ones told: ${seconds.map(pace).join(", ")}`) : null;
  return make("div", { class: "pace" }, make("p", {}, words), line);
}

function progress({ what, done, total }) {
  const words = total === null ? done.toLocaleString() : `${done.toLocaleString()} of ${total.toLocaleString()}`;
  const bar = make("progress", total === null ? {} : { max: Math.max(total, 1), value: done });
  return make("label", { class: "work" }, `${WORK[what] ?? what}: ${words}`, bar);
}

function queue({ waits, since }) {
  if (!waits) return "The queue is empty.";
  return `In the queue: ${many(waits, "place")} to check${since ? `, the oldest since ${moment(since)}` : ""}.`;
}

/** How far files and rows agree: "in sync" only where nothing waits and everything was looked at. */
function standing({ behind, halted, is_held, state }) {
  if (halted) return `${many(halted, "deletion")} to be decided`;
  if (behind) return `${many(behind, "change")} behind`;
  if (!is_held) return "in sync when it ended";
  if (!state) return "starting";
  return state.waits || state.work.length ? "at work" : "in sync";
}

function mirror(one) {
  const held = one.is_held ? "Active" : `Inactive since ${moment(one.until)}`;
  const facts = make("p", { class: "standing" }, `${held}; ${standing(one)}.`);
  const { state } = one;
  const said = state
    ? [
        make("p", { class: "queue" }, queue(state)),
        ...state.work.map(progress),
        ...Object.keys(WAYS).map((way) => latency(one.id, way, state[way])),
      ]
    : [];
  return make("li", { class: "card" }, make("h3", {}, one.root ? `${one.host}: ${one.root}` : KINDS[one.kind] ?? one.kind), facts, ...said);
}

/** All of them; those at work come first. */
export const mirrors = (found) => make("ul", { class: "list" }, found.map(mirror));
