/** What waits for a person: requests, halts, conflicts, problems, notices. */
import { change, get, href, tenant } from "../server/api.js";
import { actor, ask, button, confirmed, make, moment, tell, trying } from "../elements/dom.js";

const place = document.getElementById("content");

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
  const reason = approve ? null : await ask("Reason (shown to the requester)", { action: "Reject" });
  if (!approve && reason === null) return;
  await trying(async () => {
    const { decided, left } = await change("POST", "approvals", { ids, approve, reason });
    tell(left.length ? notApproved(decided, left) : approve ? "Approved; it will be carried out within a second." : "Rejected.");
    await show();
  });
}

/** Of several that were approved: those that a person has to look at again. */
const notApproved = (decided, left) =>
  `${decided} approved. Not approved: ${left.map((one) => `“${one.title}”, ${one.sentence}`).join("; ")}.`;

function approval(one) {
  const reviewed = one.arguments.change_set ? tools(make("a", { href: `/t/${tenant}/review?change=${one.arguments.change_set}` }, "Review page by page")) : null;
  const facts = Object.entries(one.preview.facts ?? {}).map(([name, value]) => make("li", {}, `${name}: ${JSON.stringify(value)}`));
  const asked = `${one.command}, asked by ${actor(one.by)} ${moment(one.requested_at)}; waits until ${moment(one.expires_at)}`;
  return card(
    one.preview.summary,
    make("p", {}, asked),
    make("details", {}, make("summary", {}, "Details"), make("pre", {}, JSON.stringify(one.arguments, null, 2)), make("ul", {}, facts)),
    one.preview.lines?.length ? preview(one.preview.lines) : null,
    reviewed,
    one.state === "pending"
      ? tools(
          button("Approve", () => decide([one.id], true), { class: "main", "aria-label": `Approve: ${one.preview.summary}` }),
          button("Reject", () => decide([one.id], false), { "aria-label": `Reject: ${one.preview.summary}` }),
        )
      : make("p", {}, "Approved; it is being carried out."),
  );
}

function approvals(list) {
  const together = list.filter((one) => one.state === "pending" && !one.needs_own_decision).map((one) => one.id);
  const all = together.length > 1 ? tools(button(`Approve all ${together.length} proposals`, () => decide(together, true))) : null;
  return [all, make("ul", { class: "list" }, list.map(approval))];
}

function halt(one) {
  const decision = (what) => async () => {
    if (await confirmed(`${what === "apply" ? one.apply : one.discard}. Is that meant?`, "Yes")) {
      await doing("Decided; it will be carried out within two seconds.", () => change("POST", `halts/${one.id}`, { decision: what }));
    }
  };
  return card(
    one.sentence,
    make("p", {}, `${one.paths.join(", ")}${one.count > one.paths.length ? ` and ${one.count - one.paths.length} more` : ""}`),
    one.decision
      ? make("p", {}, `Decided: ${one.decision}; the daemon will carry it out.`)
      : tools(button(`Intended: ${one.apply}`, decision("apply")), button(`Undo: ${one.discard}`, decision("discard"), { class: "main" })),
  );
}

const SIDES = { base: "Common base", file: "The file's", row: "The row's" };

/** An attachment on each side: to look at where it is a picture, to save in any case. */
function bytes(one) {
  const shown = one.sides.map((side) => {
    const src = `/t/${tenant}/conflicts/${one.number}/${side}?${new URLSearchParams({ seen: one.seen })}`;
    const picture = one.is_picture ? make("img", { src, alt: SIDES[side] }) : null;
    return make("div", {}, make("h4", {}, SIDES[side]), picture, make("p", {}, make("a", { href: src, download: "" }, "Download")));
  });
  return make("div", { class: "columns" }, shown);
}

const typed = new Map(); // merged texts by the number of their conflict: they outlive that a card is drawn again

function conflict(one) {
  const settle = (choice, text = null) => () =>
    doing("Settled.", () => change("POST", `conflicts/${one.number}`, { choice, seen: one.seen, text }));
  const column = (title, text) => make("div", {}, make("h4", {}, title), make("pre", { tabindex: "0", "aria-label": title }, text ?? "(not known)"));
  const merged = make("textarea", { "aria-label": "The merged text" }, typed.get(one.number) ?? one.marked ?? "");
  merged.addEventListener("input", () => typed.set(one.number, merged.value));
  const choices = [
    one.can.includes("file") ? button("Take the file's", settle("file")) : null,
    one.can.includes("row") ? button("Take the row's", settle("row")) : null,
  ];
  const edit = one.can.includes("merged") && one.marked !== null
    ? make("details", { open: typed.has(one.number) }, make("summary", {}, "Edit and take the merged text"), merged, tools(button("Take merged", () => settle("merged", merged.value)(), { class: "main" })))
    : null;
  return card(
    one.path,
    one.page_changed || one.sibling_changed ? make("p", {}, "It has changed since the conflict arose; the current state is below.") : null,
    one.kind === "attachment" ? bytes(one) : make("div", { class: "columns" }, column("Common base", one.base), column("The file's text", one.file), column("The row's text", one.row)),
    tools(...choices, one.kind === "page" ? make("a", { href: href(one.page) }, "The page") : null, one.sibling && one.kind === "page" ? make("a", { href: href(one.sibling) }, "Its sibling") : null),
    edit,
    one.why_not ? make("p", { class: "hint" }, one.why_not) : null,
  );
}

const problem = (one) =>
  card(one.path || "The whole tenant", make("p", {}, one.sentence), one.remedy ? make("p", {}, one.remedy) : null, one.page ? tools(make("a", { href: href(one.page) }, "The page")) : null);

function notices(list) {
  const read = () => doing("Marked as read.", () => change("POST", "notices", { ids: list.map((one) => one.id) }));
  const line = (one) => make("li", {}, `${moment(one.at)}: ${actor(one.by)}: ${one.type} ${one.data.path ?? one.data.name ?? ""}`);
  return [make("ul", {}, list.map(line)), tools(button("Mark all as read", read))];
}

const section = (title, ...parts) => make("section", { "aria-label": title }, make("h2", {}, title), ...parts);

let shown = null;

async function show() {
  const found = await get("attention");
  const wanted = JSON.stringify(found);
  if (wanted === shown) return; // what somebody unfolded stays so
  shown = wanted;
  const parts = [
    found.approvals.length ? section("Requests of agents", ...approvals(found.approvals)) : null,
    found.halts.length ? section("Halts", make("ul", { class: "list" }, found.halts.map(halt))) : null,
    found.conflicts.length ? section("Conflicts", make("ul", { class: "list" }, found.conflicts.map(conflict))) : null,
    found.problems.length ? section("Problems", make("ul", { class: "list" }, found.problems.map(problem))) : null,
    found.notices.length ? section("Done without approval", ...notices(found.notices)) : null,
  ].filter(Boolean);
  place.replaceChildren(...(parts.length ? parts : [make("p", {}, "Nothing waits for you.")]));
}

/** Show it, and again when the counts or a page in conflict change; not while a person types a merged text. */
export function start() {
  const again = () => {
    if (!place.contains(document.activeElement) || document.activeElement.tagName !== "TEXTAREA") void trying(show);
  };
  window.addEventListener("live:attention", again);
  window.addEventListener("live:page", ({ detail }) => shown?.includes(detail.id) && again());
  return trying(show);
}
