/** What agents want to change, page by page, for a person to accept; and what was changed, to be undone. */
import { change, getFor, href } from "../server/api.js";
import { differenceOf } from "../elements/difference.js";
import { actor, ask, button, many, make, moment, tell, trying } from "../elements/dom.js";
import { renderedPair } from "../elements/rendered.js";
import { COMMON, REVIEW } from "../words.js";

let place = null;
let get = null; // as long as the view is shown
const MAX_TRIES = 40, TRY_MILLISECONDS = 500; // of lists that show what was decided
const section = (title, ...parts) => make("section", { "aria-label": title }, make("h2", {}, title), ...parts);
const tools = (...parts) => make("div", { class: "tools" }, ...parts);

/** A choice of one page: whether it is accepted, the numbers of its blocks that are not, and a text that is not kept yet. */
const newChoice = (page) => ({ accepted: !page.is_rejected, left: new Set(), blocks: 0, typed: null });

/** The choice of a page that is shown again; its blocks are chosen anew if they may be others now. */
const choiceAgain = (choice, isOther) => (isOther ? { ...choice, left: new Set() } : choice);

function checkbox(label, checked, onchange, disabled = false) {
  const box = make("input", { type: "checkbox", disabled, onchange: () => onchange(box.checked) });
  box.checked = checked;
  return make("label", { class: "choice" }, box, label);
}

/** Whether a new or changed file is no text that can be shown. */
const isBytes = (page, found) => found.text === null && ["created", "edited"].includes(page.kind);

const rendered = (page, found) => renderedPair([REVIEW.now, page.clash ? REVIEW.proposed : REVIEW.then], [found.old_document, found.new_document], REVIEW.nothingToShow);

/** The changed blocks of a page as source, each with its own choice, and beside them the page as it reads. */
function detail(review, page, choice, found, again) {
  const canChoose = review.may_decide && found.blocks.length > 1 && page.clash === null;
  choice.blocks = found.blocks.length;
  const blocks = found.blocks.map(({ number, hunks }) =>
    make("div", { class: "block" }, canChoose ? checkbox(REVIEW.block(number), !choice.left.has(number), (on) => (on ? choice.left.delete(number) : choice.left.add(number))) : null, ...differenceOf(hunks)));
  const source = found.hunks ? differenceOf(found.hunks) : blocks;
  return [
    make("div", { class: "reviewed" }, make("div", {}, make("h4", {}, REVIEW.source), ...(source.length ? source : [make("p", {}, isBytes(page, found) ? REVIEW.bytes : REVIEW.textStays)])), rendered(page, found)),
    review.may_decide && found.text !== null && page.can_edit ? editing(review, page, choice, found, again) : null,
  ];
}

function editing(review, page, choice, found, again) {
  const text = make("textarea", { "aria-label": REVIEW.textOf(page.path), oninput: () => (choice.typed = text.value === found.text ? null : text.value) });
  text.value = choice.typed ?? found.text;
  const store = (chosen) => () =>
    trying(async () => {
      await change("POST", `reviews/${review.id}/page`, { shown: review.shown, path: page.path, text: chosen(text.value) });
      tell(REVIEW.textKept);
      Object.assign(choice, { typed: null, accepted: true, left: new Set() });
      await again();
    });
  return make("details", { open: choice.typed !== null }, make("summary", {}, REVIEW.edit), text,
    tools(button(REVIEW.useText, store((written) => written), { class: "main" }), page.is_edited ? button(REVIEW.useAgents, store(() => null)) : null));
}

function pageCard(review, page, choice, again) {
  const notes = [
    page.source && page.source !== page.path ? REVIEW.from(page.source) : null,
    page.is_merged ? REVIEW.merged : null,
    page.is_edited ? REVIEW.withYours : null,
    page.follows.length ? REVIEW.follows(page.follows) : null,
  ].filter(Boolean).join("; ");
  const inside = make("div", {}, make("p", { class: "waiting" }, COMMON.loading));
  const load = () => trying(async () => {
    const found = await get(`reviews/${review.id}/page`, { path: page.path });
    inside.replaceChildren(...detail(review, page, choice, found, again).filter(Boolean));
  });
  const card = make("li", { class: "card" },
    make("h3", {}, `${REVIEW.kinds[page.kind] ?? page.kind}: ${page.path}`),
    notes ? make("p", {}, notes) : null,
    page.clash ? make("p", { class: "clash" }, REVIEW.clash(page.clash, page.can_edit && review.may_decide)) : null,
    review.may_decide ? checkbox(REVIEW.acceptPage, choice.accepted, (on) => (choice.accepted = on)) : null,
    inside);
  void load();
  return card;
}

async function decide(review, choices, accept) {
  const typed = [...choices].find(([, choice]) => accept && choice.accepted && choice.typed !== null);
  if (typed) return tell(REVIEW.notKept(typed[0]));
  const rejected = [...choices].filter(([, choice]) => !choice.accepted || (choice.blocks > 0 && choice.left.size === choice.blocks)).map(([path]) => path);
  const blocks = {};
  for (const [path, choice] of choices) {
    if (rejected.includes(path) || choice.left.size === 0) continue;
    blocks[path] = Array.from({ length: choice.blocks }, (_, at) => at + 1).filter((number) => !choice.left.has(number));
  }
  const partly = accept && (rejected.length > 0 || Object.keys(blocks).length > 0);
  const question = accept ? REVIEW.comment(partly) : REVIEW.commentRejected;
  const comment = await ask(question, { action: accept ? REVIEW.accept : REVIEW.reject });
  if (comment === null) return;
  await trying(async () => {
    const answer = await change("POST", `reviews/${review.id}`, { shown: review.shown, accept, rejected, blocks, comment }).catch(async (error) => {
      await showOne(review.id, choices, review).catch(() => null); // as it is now, with what was chosen
      throw error;
    });
    tell(!accept ? REVIEW.rejected : answer.is_applied ? REVIEW.accepted : REVIEW.acceptedOnly);
    history.replaceState(null, "", location.pathname);
    await showUntil(({ changes }) => !accept || changes.some((one) => one.id === review.id && one.count > 0));
  });
}

/** earlier: the choices by path, where it is shown again; before: the change set as it was shown then. */
async function showOne(id, earlier = new Map(), before = null) {
  const review = await get(`reviews/${id}`);
  const isOther = before !== null && before.at !== review.at;
  const choices = new Map(review.changes.map((page) => [page.path, earlier.has(page.path) ? choiceAgain(earlier.get(page.path), isOther) : newChoice(page)]));
  const again = () => showOne(id, choices, review);
  const decision = review.may_decide
    ? tools(button(REVIEW.acceptTicked, () => decide(review, choices, true), { class: "main" }), button(REVIEW.rejectAll, () => decide(review, choices, false)))
    : make("p", { class: "hint" }, REVIEW.operatorDecides);
  place.replaceChildren(
    tools(make("a", { href: location.pathname }, REVIEW.all)),
    make("h2", {}, review.title),
    make("p", {}, REVIEW.head(actor(review.by), moment(review.at), many(review.changes.length, COMMON.page), moment(review.until), review.message === review.title ? null : review.message)),
    review.is_current ? "" : make("p", { class: "hint" }, REVIEW.notCurrent),
    decision,
    make("ul", { class: "list" }, review.changes.map((page) => pageCard(review, page, choices.get(page.path), again))),
  );
}

const waiting = (one) =>
  make("li", { class: "card" }, make("h3", {}, make("a", { href: `?change=${one.id}` }, one.title)), make("p", {}, REVIEW.line(actor(one.by), moment(one.at), many(one.count, COMMON.page))));

function changeSet(one, mayDecide) {
  const card = make("li", { class: "card" },
    make("h3", {}, one.title),
    make("p", {}, REVIEW.applied(actor(one.by), moment(one.at), one.count, one.state)),
    one.refused ? make("p", { class: "hint" }, one.refused) : null,
    one.count > 0 ? whatChanged(one) : null,
    one.can_undo && one.count > 0 && mayDecide ? tools(button(REVIEW.undo, () => trying(() => previewUndo(card, one)), { "aria-label": REVIEW.undoOf(one.title) })) : null);
  return card;
}

/** The entries of a change set with the differences of their texts, fetched when they are asked for. */
function whatChanged(one) {
  const inside = make("div", {}, make("p", { class: "waiting" }, COMMON.loading));
  const load = async () => {
    const { entries, further } = await get(`changes/${one.id}`);
    inside.replaceChildren(...entries.map(entryOf), further ? make("p", { class: "hint" }, REVIEW.further(further)) : "");
  };
  const details = make("details", { class: "changed" }, make("summary", { "aria-label": REVIEW.changedBy(one.title) }, REVIEW.changed), inside);
  details.addEventListener("toggle", () => details.open && inside.querySelector(":scope > .waiting") && trying(load)); // again after a failure
  return details;
}

function entryOf({ page, name, before, changes, removal, hunks }) {
  const title = page ? make("a", { href: href(page) }, name) : name;
  const kind = changes.map((one) => REVIEW.kinds[one] ?? one).join(", ");
  const place = before ? make("p", { class: "hint" }, REVIEW.from(before)) : "";
  const texts = removal ? [make("p", { class: "hint" }, removal)] : hunks === null ? [make("p", { class: "hint" }, REVIEW.tooLong)] : hunks.length ? differenceOf(hunks) : [];
  return make("div", { class: "entry" }, make("h4", {}, `${kind}: `, title), place, ...texts);
}

/** What an undo would do, and what clashes, before anything happens. */
async function previewUndo(card, one) {
  card.querySelector(".undo")?.remove();
  const preview = make("div", { class: "undo" }, make("p", { class: "waiting" }, COMMON.loading));
  card.append(preview); // from now on the lists stay as they are
  const found = await get(`changes/${one.id}/undo`).catch((error) => {
    preview.remove();
    throw error;
  });
  const undo = (partial) => () =>
    trying(async () => {
      await change("POST", `changes/${one.id}/undo`, { partial });
      tell(REVIEW.undone);
      preview.remove();
      await showUntil(({ changes }) => !changes.some((other) => other.id === one.id && other.can_undo));
    });
  const listed = (entries, words) => (entries.length ? make("ul", {}, entries.map((entry) => make("li", {}, `${entry.name ?? entry.id}: ${words(entry)}`))) : null);
  const clashes = found.left.length > 0;
  preview.replaceChildren(...[
    make("h4", {}, REVIEW.wouldDo), listed(found.changes, (entry) => entry.change) ?? make("p", {}, REVIEW.nothing),
    clashes ? make("h4", {}, REVIEW.stays) : null,
    clashes ? listed(found.left, (entry) => REVIEW.because(entry.reason)) : null,
    tools(
      found.changes.length ? button(clashes ? REVIEW.undoRest : REVIEW.undoThis, undo(clashes), { class: "main" }) : null,
      button(COMMON.close, () => preview.remove())),
  ].filter(Boolean));
}

/** isNews: something was decided elsewhere, which waits while a person reads. */
async function show(isNews = false) {
  const chosen = new URLSearchParams(location.search).get("change");
  if (chosen) return showOne(chosen);
  const [{ reviews, may_decide }, changes] = await Promise.all([get("reviews"), get("changes")]);
  if (place.querySelector(".undo") || (isNews && isReading())) return { reviews, changes };
  const author = new URLSearchParams(location.search).get("by");
  const isAsked = ({ by }) => !author || actor(by) === author;
  const [waits, changed] = [reviews.filter(isAsked), changes.filter(isAsked)];
  place.replaceChildren(
    choiceOfAuthor([...reviews, ...changes].map(({ by }) => actor(by)), author),
    section(may_decide ? REVIEW.waitsForYou : REVIEW.waitsForOperator, waits.length ? make("ul", { class: "list" }, waits.map(waiting)) : make("p", {}, REVIEW.nothingWaits)),
    section(REVIEW.changeSets, changed.length ? make("ul", { class: "list" }, changed.map((one) => changeSet(one, may_decide))) : make("p", {}, REVIEW.noChanges)),
  );
  return { reviews, changes };
}

/** Whether all change sets are listed, or those of one author, whom the address names then. */
function choiceOfAuthor(authors, author) {
  const names = [...new Set(author ? [...authors, author] : authors)].sort();
  if (names.length < 2) return "";
  const choice = make("select", {}, make("option", { value: "" }, REVIEW.everyone), names.map((name) => make("option", { value: name, selected: name === author }, name)));
  choice.addEventListener("change", () => {
    const query = choice.value ? `?${new URLSearchParams({ by: choice.value })}` : "";
    history.replaceState(history.state, "", location.pathname + query);
    void trying(show);
  });
  return make("label", { class: "choice" }, REVIEW.who, choice);
}

/** Whether a person looks at one change set, or at what an undo would do. */
const isBusy = () => new URLSearchParams(location.search).has("change") || place.querySelector(".undo") !== null;

/** Whether a person reads what was changed. */
const isReading = () => place.querySelector("details.changed[open]") !== null;

/** Show the lists each half second until they are as awaited; the daemon acts within a second, on a busy machine later. */
async function showUntil(isAwaited) {
  for (let tries = 0; tries < MAX_TRIES && !isBusy(); tries += 1) {
    if (isAwaited(await show())) return;
    await new Promise((resolve) => setTimeout(resolve, TRY_MILLISECONDS));
  }
}

/** Show it; the list again when something is decided, but not while a person looks at a change set or an undo. */
export function start(signal) {
  place = document.getElementById("content");
  get = getFor(signal);
  window.addEventListener("live:attention", () => {
    if (!isBusy() && !isReading()) void trying(() => show(true));
  }, { signal });
  return trying(show);
}
