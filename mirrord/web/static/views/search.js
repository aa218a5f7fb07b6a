/** Search: pages that have the words, the best first, with the sentence that has most of them. */
import { button, make, many, trying } from "../elements/dom.js";
import { hrefOfWords, marked } from "../finding/marks.js";
import { get } from "../server/api.js";
import { COMMON, SEARCH } from "../words.js";

const DELAY_MS = 120; // after a key, before the server is asked
const UNINDEXED_MS = 5000; // until it is asked again, while pages are still being read
const MAX_UNINDEXED = 1000; // the server counts no further

const place = document.getElementById("content");
const field = document.getElementById("q");
const list = make("ol", { class: "results", onkeydown: walk });
const summary = make("p", { class: "summary", role: "status" });
const instead = make("p", { class: "hint" });
const more = button(SEARCH.more, () => trying(() => load(true)), { hidden: true });
const RESULTS = 20; // of one answer
let asked = 0; // the number of the last question; answers to others are dropped

function result({ title, icon, kind, path, snippet, changed_at: changedAt, href }) {
  const changed = new Date(changedAt);
  return make(
    "li",
    {},
    make(
      "a",
      { href },
      make("span", { class: "icon", "aria-hidden": "true" }, icon || (kind === "folder" ? "▤" : "•")),
      make("span", { class: "title" }, ...marked(title)),
    ),
    make(
      "p",
      { class: "where" },
      path.length ? make("span", { class: "path" }, ...marked(path)) : null,
      make("time", { datetime: changedAt, title: changed.toLocaleString() }, changed.toLocaleDateString(undefined, { dateStyle: "medium" })),
    ),
    snippet.length ? make("p", { class: "snippet" }, ...marked(snippet)) : null,
  );
}

async function load(continues = false) {
  const query = field.value.trim();
  const number = ++asked;
  const start = continues ? list.children.length : 0;
  const answer = await get("search", { q: query, start: start || null });
  if (number !== asked) return;
  const results = answer.results.map(result);
  if (continues) {
    list.append(...results);
    results[0]?.querySelector("a").focus();
  } else {
    list.replaceChildren(...results);
  }
  more.hidden = !answer.more;
  summary.textContent = describe(query, answer);
  instead.replaceChildren(...textInstead(query));
  place.dataset.query = query; // what is shown now
  if (answer.unindexed) setTimeout(() => lookAgain(number), UNINDEXED_MS);
}

/** Read the results again, unless others are shown by now; a person who is in them, or has more of them, keeps them. */
function lookAgain(number) {
  const isKept = list.contains(document.activeElement) || list.children.length > RESULTS;
  if (number !== asked || !list.isConnected) return;
  if (isKept || document.hidden) setTimeout(() => lookAgain(number), UNINDEXED_MS);
  else load().catch(() => null); // without a connection what is shown stays
}

/** Of a question about tags: where to find the same words in texts. */
function textInstead(query) {
  const words = query.replace(/(^|\s)(?:#|tag:)(?=\S)/gi, "$1");
  return words === query ? [] : [`${SEARCH.tagsOnly} `, make("a", { href: hrefOfWords(words) }, SEARCH.inText(words))];
}

function describe(query, { matches, note, unindexed }) {
  if (!query) return "";
  const isMost = unindexed >= MAX_UNINDEXED;
  const unread = unindexed && SEARCH.unindexed(isMost ? SEARCH.atLeast(unindexed) : many(unindexed, COMMON.page), unindexed === 1);
  if (!matches) return unread ? `${SEARCH.noneYet(query)} ${unread}` : SEARCH.none(query);
  const count = matches >= 400 ? SEARCH.atLeast(matches) : many(matches, COMMON.page);
  const more = [note, unread].filter(Boolean);
  return more.length ? `${count}. ${more.join(" ")}` : count;
}

/** The address is that of the results, so that a reload, a bookmark and the way back show them. */
function remember() {
  const url = new URL(location.href);
  const query = field.value.trim();
  if (query) url.searchParams.set("q", query);
  else url.searchParams.delete("q");
  history.replaceState(history.state, "", url);
}

/** Arrows go through the results, and from the first one back to the field. */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement) + step;
  event.preventDefault();
  if (at < 0) field.focus();
  else links[Math.min(at, links.length - 1)]?.focus();
}

/** Show what the address asks for, then what is typed. */
export function start() {
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  const help = make(
    "details",
    { class: "search-help" },
    make("summary", {}, SEARCH.help),
    make("dl", {}, ...SEARCH.examples.flatMap(([example, meaning]) => [make("dt", {}, make("code", {}, example)), make("dd", {}, meaning)])),
  );
  place.replaceChildren(help, summary, instead, list, more);
  let waiting = null;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      remember();
      trying(load);
    }, DELAY_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") walk(event);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    remember();
    trying(load);
  });
  field.focus();
  return trying(load);
}
