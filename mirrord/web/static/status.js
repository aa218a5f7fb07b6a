/** How the tenant is: counts, mirrors, how soon changes are on disk, what happened last. */
import { get } from "./api.js";
import { actor, make, moment, trying } from "./dom.js";

const place = document.getElementById("content");
const SVG = "http://www.w3.org/2000/svg";

function drawing(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A line of numbers, and the same in words. */
function sparkline(numbers, words) {
  const most = Math.max(...numbers) || 1;
  const points = numbers.map((one, at) => `${(at * 240) / (numbers.length - 1)},${38 - (36 * one) / most}`).join(" ");
  const line = drawing("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": "1.5" });
  return drawing("svg", { viewBox: "0 0 240 40", width: "240", height: "40", role: "img", "aria-label": words }, line);
}

const paceOf = (seconds) =>
  `The last ${seconds.length} changes were on disk after ${Math.round(median(seconds) * 1000)} ms in the middle, ${Math.round(Math.max(...seconds) * 1000)} ms at most, as the console sees it.`;

const median = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

const many = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;
const row = (...cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell ?? "")));
const table = (heads, rows) =>
  make("div", { class: "table", tabindex: "0", role: "group", "aria-label": heads[0] }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((one) => make("th", { scope: "col" }, one)))), make("tbody", {}, rows)));

function mirror(one) {
  const state = one.is_held ? "at work" : `not at work since ${moment(one.until)}`;
  return row(one.root ? `${one.host}: ${one.root}` : one.kind, state, one.behind ? `${one.behind} behind` : "in sync");
}

async function show() {
  const { counts, mirrors, events, to_disk: seconds } = await get("status");
  place.replaceChildren(
    make("p", {}, `${["page", "attachment", "record"].map((thing) => many(counts[`${thing}s`], thing)).join(", ")}.`),
    make("h2", {}, "Mirrors"),
    table(["Where", "State", "How far"], mirrors.map(mirror)),
    make("h2", {}, "From row to file"),
    ...(seconds.length > 1 ? [sparkline(seconds, paceOf(seconds)), make("p", {}, paceOf(seconds))] : [make("p", {}, "Nothing was written since you look.")]),
    make("h2", {}, "What happened last"),
    events.length
      ? table(["When", "Who", "What", ""], events.map((one) => row(moment(one.at), actor(one.by), one.type, one.what)))
      : make("p", {}, "No tool has done anything yet."),
  );
}

/** Show it, and again when something changed, at most every two seconds. */
export function start() {
  let waiting = null;
  const soon = () => (waiting ??= setTimeout(() => ((waiting = null), trying(show)), 2000));
  for (const name of ["live:page", "live:attention"]) window.addEventListener(name, soon);
  return trying(show);
}
