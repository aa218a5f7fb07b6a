/** What waits for a person: requests, halts, conflicts, problems, notices. */
import { actor, ask, button, confirmed, make, moment, tell, trying } from "../elements/dom.js";
import { problemCard } from "../elements/problems.js";
import { change, getFor, href, isReader, tenant } from "../server/api.js";
import { ATTENTION, EVENTS, HALTS, HALT_TITLES, capital } from "../words.js";

let place = null;
let get = null; // as long as the view is shown

/** Do it, say so, and show what is left. */
const doing = (sentence, work) =>
  trying(async () => {
    try {
      await work();
    } catch (error) {
      await show(); // as it is now: what was refused is decided about again
      throw error;
    }
    tell(sentence);
    await show();
  });

const card = (title, ...parts) => make("li", { class: "card" }, make("h3", {}, title), ...parts);
const tools = (...parts) => make("div", { class: "tools" }, ...parts);

/** Lines of a unified difference, as the server made them. */
function preview(lines) {
  const marks = { "+": "added", "-": "removed" };
  return make("div", { class: "difference" }, lines.map((line) => make("div", { class: marks[line[0]] ?? "same" }, make("span"), make("span", {}, line))));
}

async function decide(ids, approve) {
  const reason = approve ? null : await ask(ATTENTION.reason, { action: ATTENTION.reject });
  if (!approve && reason === null) return;
  await trying(async () => {
    const { decided, left } = await change("POST", "approvals", { ids, approve, reason });
    tell(left.length ? notApproved(decided, left) : approve ? ATTENTION.approved : ATTENTION.rejected);
    await show();
  });
}

/** Of several that were approved: those that a person has to look at again. */
const notApproved = (decided, left) =>
  ATTENTION.notApproved(decided, left.map((one) => `“${one.title}”, ${one.sentence}`).join("; "));

function approval(one) {
  const reviewed = one.arguments.change_set ? tools(make("a", { href: `/t/${tenant}/review?change=${one.arguments.change_set}` }, ATTENTION.review)) : null;
  const facts = Object.entries(one.preview.facts ?? {}).map(([name, value]) => make("li", {}, `${name}: ${JSON.stringify(value)}`));
  const asked = ATTENTION.asked(one.command.replaceAll("_", " "), actor(one.by), moment(one.requested_at), moment(one.expires_at));
  return card(
    one.preview.summary,
    make("p", {}, asked),
    make("details", {}, make("summary", {}, ATTENTION.details), make("pre", {}, JSON.stringify(one.arguments, null, 2)), make("ul", {}, facts)),
    one.preview.lines?.length ? preview(one.preview.lines) : null,
    reviewed,
    one.state === "pending"
      ? tools(
          button(ATTENTION.approve, () => decide([one.id], true), { class: "main", "aria-label": ATTENTION.approveOf(one.preview.summary) }),
          button(ATTENTION.reject, () => decide([one.id], false), { "aria-label": ATTENTION.rejectOf(one.preview.summary) }),
        )
      : make("p", {}, ATTENTION.carriedOut),
  );
}

function approvals(list) {
  const together = list.filter((one) => one.state === "pending" && !one.needs_own_decision).map((one) => one.id);
  const all = together.length > 1 ? tools(button(ATTENTION.approveAll(together.length), () => decide(together, true))) : null;
  return [all, make("ul", { class: "list" }, list.map(approval))];
}

/** The first paths, each in a line of its own, and how many there are. */
function pathsOf(one) {
  const more = one.count > one.paths.length ? `… ${ATTENTION.allPaths(one.count)}` : null;
  const list = make("ul", { class: "paths" }, one.paths.map((path) => make("li", {}, path)), more ? make("li", { class: "hint" }, more) : null);
  return one.count > 3 ? make("details", {}, make("summary", {}, ATTENTION.allPaths(one.count)), list) : list;
}

/** What was lost and why that waits; with words of the server, the whole of its sentence. */
function happened(one) {
  const [words, title] = [HALTS[one.side], HALT_TITLES[one.reason]];
  if (!words || !title) return [one.sentence, null];
  return [capital(title(words, one.count)), one.note ? make("p", {}, one.note) : null];
}

function halt(one) {
  const words = HALTS[one.side];
  const [apply, discard] = words ? [words.apply(one.count), words.discard(one.count)] : [one.apply, one.discard];
  const decision = (what) => async () => {
    if (await confirmed(ATTENTION.meant(what === "apply" ? apply : discard), ATTENTION.yes, what === "apply" ? "danger" : "main")) {
      await doing(ATTENTION.decided, () => change("POST", `halts/${one.id}`, { decision: what }));
    }
  };
  return card(
    ...happened(one),
    pathsOf(one),
    one.decision
      ? make("p", {}, ATTENTION.isDecided(ATTENTION.decisions[one.decision] ?? one.decision))
      : tools(button(ATTENTION.intended(apply), decision("apply")), button(ATTENTION.undo(discard), decision("discard"), { class: "main" })),
  );
}

const SIDES = ATTENTION.sides;

/** An attachment on each side: to look at where it is a picture, to save in any case. */
function bytes(one) {
  const shown = one.sides.map((side) => {
    const src = `/t/${tenant}/conflicts/${one.number}/${side}?${new URLSearchParams({ seen: one.seen })}`;
    const picture = one.is_picture ? make("img", { src, alt: SIDES[side] }) : null;
    return make("div", {}, make("h4", {}, SIDES[side]), picture, make("p", {}, make("a", { href: src, download: "" }, ATTENTION.download)));
  });
  return make("div", { class: "columns" }, shown);
}

/** A text in which the lines that are not in `base` are marked. */
function markedOf(text, base) {
  if (base === null || base === undefined || text === base) return text;
  const old = new Set(base.split("\n"));
  return text.split(/(?<=\n)/).map((line) => (old.has(line.replace(/\n$/, "")) ? line : make("mark", {}, line)));
}

const typed = new Map(); // merged texts by the number of their conflict: they outlive that a card is drawn again

function conflict(one) {
  const settle = (choice, text = null) => () =>
    doing(ATTENTION.settled, () => change("POST", `conflicts/${one.number}`, { choice, seen: one.seen, text }));
  const column = (title, text) => make("div", {}, make("h4", {}, title), make("pre", { tabindex: "0", "aria-label": title }, text === null || text === undefined ? ATTENTION.unknown : markedOf(text, one.base)));
  const versionsOf = (sides) => ["base", "file", "row"].map((side) => column(SIDES[side], sides[side]));
  const merged = make("textarea", { "aria-label": ATTENTION.merged }, typed.get(one.number) ?? one.marked ?? "");
  merged.addEventListener("input", () => typed.set(one.number, merged.value));
  const may = (choice) => !isReader && one.can.includes(choice);
  const choices = [
    may("file") ? button(ATTENTION.useFile, settle("file")) : null,
    may("row") ? button(ATTENTION.useRow, settle("row")) : null,
  ];
  const edit = may("merged") && one.marked !== null
    ? make("details", { open: typed.has(one.number) }, make("summary", {}, ATTENTION.edit), make("p", { class: "hint" }, ATTENTION.marks), merged, tools(button(ATTENTION.useMerged, () => settle("merged", merged.value)(), { class: "main" })))
    : null;
  return card(
    one.path,
    one.page_changed || one.sibling_changed ? make("p", {}, ATTENTION.changedSince) : null,
    one.kind === "attachment" ? bytes(one) : make("div", { class: "columns" }, versionsOf(one)),
    tools(...choices, one.kind === "page" ? make("a", { href: href(one.page) }, ATTENTION.thePage) : null, one.sibling && one.kind === "page" ? make("a", { href: href(one.sibling) }, ATTENTION.theCopy) : null),
    edit,
    one.why_not ? make("p", { class: "hint" }, one.why_not) : null,
  );
}

/** Notices of one author, type and minute are one line: a move of a folder is one event for each page. */
function groupsOf(list) {
  const groups = new Map();
  for (const one of list) {
    const key = JSON.stringify([one.by, one.type, one.at.slice(0, 16)]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

const nameOf = ({ data }) => data.path ?? data.name ?? "";
const linkOf = (one) => (one.data.page_id ? make("a", { href: href(one.data.page_id) }, nameOf(one) || ATTENTION.thePage) : nameOf(one));

function noticeLine(group) {
  const [first] = group;
  const words = `${moment(first.at)}: ${ATTENTION.noticed(actor(first.by), EVENTS[first.type] ?? first.type)}`;
  if (group.length === 1) return make("li", {}, words, nameOf(first) ? ": " : "", linkOf(first));
  const names = make("ul", {}, group.map((one) => make("li", {}, linkOf(one))));
  return make("li", {}, make("details", {}, make("summary", {}, words + ATTENTION.times(group.length)), names));
}

function notices(list) {
  const read = () => doing(ATTENTION.read, () => change("POST", "notices", { ids: list.map((one) => one.id) }));
  return [make("ul", {}, groupsOf(list).map(noticeLine)), isReader ? "" : tools(button(ATTENTION.markRead, read))];
}

const section = (title, ...parts) => make("section", { "aria-label": title }, make("h2", {}, title), ...parts);

/** What people decided last; null: only operators see that. */
const decisions = () => get("decisions").catch((error) => {
  if (error.status === 403) return null;
  throw error;
});

function decidedBefore(list) {
  const about = (one) => (one.page ? make("a", { href: href(one.page) }, one.subject) : one.subject);
  const decided = (one) => [ATTENTION.made[one.decision] ?? one.decision, one.reason ? `: ${one.reason}` : ""].join("");
  const rows = list.map((one) => make("tr", {}, [moment(one.at), actor(one.by), decided(one), about(one)].map((cell) => make("td", {}, cell))));
  const head = make("tr", {}, ATTENTION.who.map((one) => make("th", { scope: "col" }, one)));
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": ATTENTION.decidedBefore }, make("table", {}, make("thead", {}, head), make("tbody", {}, rows)));
}

let drawn = null; // what is drawn now

async function show() {
  const [found, made] = await Promise.all([get("attention"), decisions()]);
  const wanted = JSON.stringify([found, made]);
  if (wanted === drawn) return; // what somebody unfolded stays so
  drawn = wanted;
  const parts = [
    found.approvals.length ? section(ATTENTION.approvals, ...approvals(found.approvals)) : null,
    found.halts.length ? section(ATTENTION.halts, make("ul", { class: "list" }, found.halts.map(halt))) : null,
    found.conflicts.length ? section(ATTENTION.conflicts, make("ul", { class: "list" }, found.conflicts.map(conflict))) : null,
    found.problems.length ? section(ATTENTION.problems, make("ul", { class: "list" }, found.problems.map(problemCard))) : null,
    found.notices.length ? section(ATTENTION.notices, ...notices(found.notices)) : null,
  ].filter(Boolean);
  const past = made?.length ? [section(ATTENTION.decidedBefore, decidedBefore(made))] : [];
  place.replaceChildren(...(parts.length ? parts : [make("p", {}, ATTENTION.nothing)]), ...past);
}

/** Show it, and again when the counts or a page in conflict change; not while a person types a merged text. */
export function start(signal) {
  place = document.getElementById("content");
  get = getFor(signal);
  drawn = null;
  const again = () => {
    if (!place.contains(document.activeElement) || document.activeElement.tagName !== "TEXTAREA") void trying(show);
  };
  window.addEventListener("live:attention", again, { signal });
  window.addEventListener("live:page", ({ detail }) => drawn?.includes(detail.id) && again(), { signal });
  return trying(show);
}
