/** The versions of a page by sessions of editing, what each changed, any two compared, and back to one. */
import { differenceOf } from "../elements/difference.js";
import { actor, button, confirmed, make, moment, tell, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { change, getFor, href } from "../server/api.js";
import { HISTORY } from "../words.js";

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

  async function show(version, against = null) {
    const at = versions.findIndex((one) => one.version === version);
    const older = versions.slice(at + 1);
    const before = against ?? older.find((one) => one.has_text)?.version ?? 0;
    const { hunks } = await get(`pages/${page}/diff`, { before, after: version });
    const one = versions[at];
    const back = button(HISTORY.restore, () => trying(() => restore(version)), { class: "main" });
    const isFirst = before === 0 && older.some((earlier) => earlier.text_removed);
    const head = make("h2", {}, HISTORY.head(moment(one.at), actor(one.by)));
    const tools = make("div", { class: "tools" }, at === 0 ? null : back, comparing(version, older, before));
    const section = make("section", { id: "shown", tabindex: "-1", "aria-label": HISTORY.versionOf(version) }, head, tools, isFirst ? make("p", {}, HISTORY.firstLeft) : null, ...differenceOf(hunks));
    document.getElementById("shown").replaceWith(section);
    mark(version);
    return section;
  }

  function comparing(version, older, before) {
    const texts = older.filter((one) => one.has_text);
    if (texts.length < 2) return null;
    const options = texts.map((one) => make("option", { value: one.version, selected: one.version === before }, `${moment(one.at)}, ${actor(one.by)}`));
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
    await change("POST", `pages/${page}/restore`, { version: versions[0].version, then: version });
    tell(HISTORY.restored);
    await openView(href(page));
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
    return make("details", {}, make("summary", {}, HISTORY.session(session.length)), make("ol", { class: "versions", reversed: true }, lines));
  }

  return async () => {
    versions = await get(`pages/${page}/history`);
    const list = make("ol", { class: "versions", reversed: true }, sessionsOf(versions).map(drawn));
    place.replaceChildren(
      make("p", {}, make("a", { href: href(page) }, HISTORY.back)),
      make("div", { class: "split" }, list, make("section", { id: "shown" })),
    );
    const newest = versions.find((one) => one.has_text);
    if (newest) await show(newest.version);
  };
}

/** Show the versions and what the newest changed. */
export function start(signal) {
  const { page } = document.querySelector("main").dataset;
  return trying(historyOf(page, getFor(signal), document.getElementById("content")));
}
