/** The versions of a page by sessions of editing, what each changed, any two compared, and back to one. */
import { differenceOf } from "../elements/difference.js";
import { actor, button, confirmed, make, moment, tell, trying } from "../elements/dom.js";
import { renderedPair } from "../elements/rendered.js";
import { openView } from "../navigation/navigation.js";
import { change, getFor, href, isReader } from "../server/api.js";
import { HISTORY } from "../words.js";

const NOW = -1; // stands for the page as it is, where a version is compared
const REST_MS = 5 * 60_000; // without a version, after which another session of editing begins

/** Versions, the newest first, by sessions: of one author, without a rest between them, and with texts that can be shown. */
export function sessionsOf(versions) {
  const sessions = [];
  for (const version of versions) {
    const last = sessions.at(-1);
    if (last && isSame(last.at(-1), version)) last.push(version);
    else sessions.push([version]);
  }
  return sessions;
}

const isSame = (newer, older) =>
  newer.has_text && older.has_text && JSON.stringify(newer.by) === JSON.stringify(older.by) && Date.parse(newer.at) - Date.parse(older.at) < REST_MS;

const changesOf = (session) => {
  const keys = new Set(session.flatMap(({ changed }) => changed));
  return [...new Set([...keys].map((key) => HISTORY.changes[key] ?? key))].join(", ") || HISTORY.layout;
};

/** Show the history of one page; `get` answers as long as the view is shown. */
function historyOf(page, get, place) {
  let versions = [];
  let isRead = false; // changed blocks are shown as a person reads them, not as source
  let choices = 0; // made so far: only the answer to the last is shown

  /** Show a version against the one before, another one, or NOW: the page as it is. */
  async function show(version, against = null) {
    const at = versions.findIndex((one) => one.version === version);
    const older = versions.slice(at + 1);
    const before = against ?? older.find((one) => one.has_text)?.version ?? 0;
    const choice = ++choices;
    const changes = await changesFrom(before, version);
    if (choice !== choices) return document.getElementById("shown");
    const one = versions[at];
    const back = button(HISTORY.restore, () => trying(() => restore(version)), { class: "main" });
    const isFirst = before === 0 && older.length > 0 && older.every((earlier) => earlier.text_removed);
    const head = make("h2", {}, HISTORY.head(moment(one.at), actor(one.by)));
    const tools = make("div", { class: "tools" }, at === 0 || isReader ? null : back, comparing(version, at, before), reading(version, before));
    const section = make("section", { id: "shown", tabindex: "-1", "aria-label": HISTORY.versionOf(version) }, head, tools, isFirst ? make("p", {}, HISTORY.firstLeft) : null, ...changes);
    document.getElementById("shown").replaceWith(section);
    mark(version);
    return section;
  }

  async function changesFrom(before, after) {
    if (before !== NOW && !isRead) return differenceOf((await get(`pages/${page}/diff`, { before, after })).hunks);
    const isNow = before === NOW;
    const found = await get(`pages/${page}/blocks`, isNow ? { after } : { before, after });
    const hint = make("p", { class: "hint" }, HISTORY.blocksHint);
    const blocks = found.blocks.map((block) => blockOf(block, isNow ? () => restoreBlock(found.version, after, block.number) : null));
    return found.blocks.length ? [isNow ? hint : "", ...blocks] : differenceOf([]);
  }

  function blockOf({ number, hunks, old, new: fresh }, back) {
    const title = HISTORY.block(number);
    const titles = back ? [HISTORY.now, HISTORY.then] : [HISTORY.was, HISTORY.became];
    const changes = isRead ? [renderedPair(titles, [old, fresh], HISTORY.nothing)] : differenceOf(hunks);
    const act = back && !isReader ? button(HISTORY.restoreBlock, () => trying(back), { "aria-label": HISTORY.restoreBlockOf(number) }) : null;
    return make("section", { class: "block", "aria-label": title }, ...changes, act ?? "");
  }

  function reading(version, before) {
    const turn = () => trying(() => ((isRead = !isRead), show(version, before)));
    return button(HISTORY.asRead, turn, { "aria-pressed": String(isRead) });
  }

  function comparing(version, at, before) {
    const texts = versions.slice(at + 1).filter((one) => one.has_text);
    const options = texts.map((one) => make("option", { value: one.version, selected: one.version === before }, `${moment(one.at)}, ${actor(one.by)}`));
    options.push(make("option", { value: 0, selected: before === 0 }, HISTORY.emptyPage));
    if (at > 0) options.unshift(make("option", { value: NOW, selected: before === NOW }, HISTORY.thePageNow));
    if (options.length < 2) return null;
    const choice = make("select", {}, options);
    choice.addEventListener("change", () => trying(() => show(version, Number(choice.value))));
    return make("label", { class: "choice" }, HISTORY.compare, choice);
  }

  function mark(version) {
    place.querySelectorAll("[data-versions]").forEach((item) => {
      const isShown = item.dataset.versions.split(" ").includes(String(version));
      item.firstElementChild.toggleAttribute("aria-current", isShown);
    });
  }

  async function restore(version) {
    if (!(await confirmed(HISTORY.question, HISTORY.confirm))) return;
    await change("POST", `pages/${page}/restore`, { version: versions[0].version, then: version, block: null });
    tell(HISTORY.restored);
    await openView(href(page));
  }

  /** version: of the page as its blocks were shown. */
  async function restoreBlock(version, then, block) {
    try {
      await change("POST", `pages/${page}/restore`, { version, then, block });
      tell(HISTORY.blockRestored);
    } finally {
      await list(); // as it is now, also where it was changed meanwhile
      await show(then, NOW);
    }
  }

  function drawn(session) {
    const [newest] = session;
    const open = (version, earliest) => () =>
      trying(async () => (await show(version, earliest)).focus({ preventScroll: true }));
    const label = make("span", {}, make("b", {}, moment(newest.at)), make("span", { class: "hint" }, `${actor(newest.by)} · ${changesOf(session)}${newest.text_removed ? ` · ${HISTORY.removed}` : ""}`));
    const line = newest.has_text ? button([label], open(newest.version, beforeOf(session)), { class: "plain", "data-version": newest.version }) : make("div", {}, label);
    return make("li", { "data-versions": session.map(({ version }) => version).join(" ") }, line, session.length > 1 ? single(session, open) : null);
  }

  /** The version that a session began from; null: the one before is compared. */
  function beforeOf(session) {
    const at = versions.indexOf(session.at(-1));
    return session.length > 1 ? versions.slice(at + 1).find((one) => one.has_text)?.version ?? 0 : null;
  }

  function single(session, open) {
    const lines = session.map((one) => make("li", {}, button(`${moment(one.at)} · ${changesOf([one])}`, open(one.version), { class: "plain", "data-version": one.version })));
    return make("details", { open: session.includes(versions[0]) }, make("summary", {}, HISTORY.session(session.length)), make("ol", { class: "versions", reversed: true }, lines));
  }

  async function list() {
    versions = await get(`pages/${page}/history`);
    const lines = make("ol", { class: "versions", reversed: true }, sessionsOf(versions).map(drawn));
    place.replaceChildren(
      make("p", {}, make("a", { href: href(page) }, HISTORY.back)),
      make("div", { class: "split" }, lines, make("section", { id: "shown" })),
    );
  }

  return async () => {
    await list();
    const newest = sessionsOf(versions).find(([one]) => one.has_text);
    if (newest) await show(newest[0].version, beforeOf(newest));
  };
}

/** Show the versions and what the newest changed. */
export function start(signal) {
  const { page } = document.querySelector("main").dataset;
  return trying(historyOf(page, getFor(signal), document.getElementById("content")));
}
