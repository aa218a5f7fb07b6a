/** The list of tenants: the state of each, and what waits in it for a person. */
import { send } from "../server/api.js";
import { trying } from "../elements/dom.js";
import { TENANTS } from "../words.js";

const EVERY = 10000; // ms between two requests, each for some of the tenants
const MAX_NAMES = 5; // of tenants in one sentence
const counted = new Map();

/** How far files and pages agree; nothing is in sync where deletions or files wait for a person. */
function stateOf(state, counts) {
  return state === "in_sync" && (counts.halts || counts.problems) ? null : TENANTS.states[state];
}

function show(name, counts, state) {
  const line = document.querySelector(`.tenants [data-name="${CSS.escape(name)}"]`);
  if (!line) return;
  const all = Object.values(counts).reduce((one, other) => one + other, 0);
  counted.set(name, all);
  const [badge, words] = [line.querySelector(".count"), line.querySelector(".hint")];
  badge.textContent = String(all);
  badge.hidden = all === 0;
  const waits = Object.entries(TENANTS.things).filter(([key]) => counts[key]).map(([key, say]) => say(counts[key]));
  words.textContent = [stateOf(state, counts), ...waits].filter(Boolean).join(", ");
}

function summarise() {
  const waiting = [...counted].filter(([, count]) => count);
  const names = waiting.map(([name]) => name);
  const few = names.slice(0, MAX_NAMES).join(", ");
  const shown = names.length > MAX_NAMES ? TENANTS.andMore(few, names.length - MAX_NAMES) : few;
  document.getElementById("summary").textContent = names.length ? TENANTS.waits(shown) : TENANTS.nothing;
}

/** Count the tenants after that name; where to go on, null: from the beginning. */
async function count(after) {
  const found = await send("GET", `/api/waiting?${new URLSearchParams({ after: after ?? "" })}`);
  for (const [name, counts] of Object.entries(found.counts)) show(name, counts, found.states[name]);
  return found.next;
}

/** Count all of them once, then some from time to time while somebody looks. */
export async function start() {
  let after = null;
  do after = await trying(() => count(after));
  while (after);
  summarise();
  setInterval(async () => {
    if (document.hidden) return;
    after = await trying(() => count(after));
    summarise();
  }, EVERY);
}
