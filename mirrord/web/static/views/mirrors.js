/** A tenant's mirrors, as their daemons tell: what waits, how soon changes are carried over, how far long work is. */
import { make, many, moment } from "../elements/dom.js";
import { withoutCommands } from "../elements/problems.js";
import { pace, sparkline } from "../elements/sparkline.js";
import { tenant } from "../server/api.js";
import { STATUS } from "../words.js";

const KEPT = 60; // of what was told of one direction, while the page is open
const KINDS = { tree: STATUS.treeOfFiles }; // where it is, only operators see
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
  if (!recent) return make("p", { class: "hint" }, STATUS.quiet(STATUS.ways[way]));
  const words = STATUS.latency(STATUS.ways[way], pace(recent.median), pace(recent.p99), many(recent.count, "change"));
  const seconds = kept(mirror, way, recent);
  const line = seconds.length > 1 ? sparkline(seconds, STATUS.lastOnes(STATUS.ways[way], seconds.map(pace).join(", "))) : null;
  return make("div", { class: "pace" }, make("p", {}, words), line);
}

function progress({ what, done, total }) {
  const words = STATUS.progress(done.toLocaleString(), total === null ? null : total.toLocaleString());
  const bar = make("progress", total === null ? {} : { max: Math.max(total, 1), value: done });
  return make("label", { class: "work" }, `${STATUS.work[what] ?? what}: ${words}`, bar);
}

function queue({ waits, since }) {
  if (!waits) return STATUS.emptyQueue;
  return STATUS.queue(many(waits, "place"), since && moment(since));
}

/** How far files and rows agree: "in sync" only where nothing waits and everything was looked at. */
function standing({ behind, halted, problems, is_held, state, stopped }) {
  if (is_held && stopped) return STATUS.stopped;
  if (halted) return make("a", { href: `/t/${tenant}/attention` }, STATUS.toDecide(many(halted, "change")));
  if (behind) return STATUS.behind(many(behind, "change"));
  if (!is_held) return STATUS.wasInSync;
  if (!state) return STATUS.starting;
  if (state.waits || state.work.length) return STATUS.atWork;
  return problems ? STATUS.inSyncBut(many(problems, "file")) : STATUS.inSync;
}

function mirror(one) {
  const held = one.is_held ? STATUS.active : STATUS.inactive(moment(one.until));
  const facts = make("p", { class: "standing" }, `${held}; `, standing(one), ".");
  const why = one.is_held && one.stopped ? make("p", { class: "problem" }, withoutCommands(one.stopped)) : null;
  const { state } = one;
  const said = state
    ? [
        make("p", { class: "queue" }, queue(state)),
        ...state.work.map(progress),
        ...Object.keys(STATUS.ways).map((way) => latency(one.id, way, state[way])),
      ]
    : [];
  return make("li", { class: "card" }, make("h3", {}, one.root ? `${one.host}: ${one.root}` : KINDS[one.kind] ?? one.kind), facts, why, ...said);
}

/** All of them; those at work come first. */
export const mirrors = (found) => make("ul", { class: "list" }, found.map(mirror));
