/** What stands above the text of a page: its title, how saving is going, and what a person has to know about it. */
import { change, tenant } from "../server/api.js";
import { actor, button, make, moment, trying } from "../elements/dom.js";
import { withoutCommands } from "../elements/problems.js";
import { PAGE } from "../words.js";
import { showActions } from "./actions.js";
import { part, shown } from "./shown.js";
import { remember } from "./stars.js";
import { showTitle } from "./title.js";

let told = ["saved", null]; // the state of the editor, a key of PAGE.states, and its sentence
let kept = null; // whether the browser has stored what is not saved: "yes" or "no"; null: not asked yet

/** Show what is true of `page`; `reread()` is called when it is another one. */
export function showHead(page, reread) {
  shown.page = page;
  showTitle(page);
  if (!page.deleted) remember(page);
  part("icon").textContent = page.icon || (page.kind === "folder" ? "▤" : "☺");
  part("icon").dataset.chosen = page.icon ? "yes" : "no";
  document.title = `${page.title} · ${tenant}`;
  showOnDisk(page, page.updated_at);
  showTools(page);
  part("notices").replaceChildren(...noticesOf(page, reread));
}

function showTools(page) {
  const hasText = !page.deleted && page.kind !== "folder";
  part("view-editor").hidden = !hasText || shown.place.dataset.editor === "no";
  for (const name of ["view-source", "state"]) part(name).hidden = !hasText;
  part("view-editor").disabled = Boolean(page.fault);
  showActions(page);
}

function noticesOf(page, reread) {
  const notices = [];
  if (page.fault) notices.push(make("p", { class: "problem", role: "alert" }, PAGE.fault(page.fault)));
  else if (page.problem) notices.push(make("p", { class: "problem", role: "alert" }, withoutCommands(page.problem) || page.problem));
  if (page.bound) notices.push(make("p", { class: "hint" }, PAGE.bound(page.bound.binding), ...linkToApp(page.bound)));
  if (page.deleted) {
    const back = () => trying(async () => (await change("POST", `pages/${shown.id}/revive`), reread()));
    notices.push(make("p", { class: "problem" }, PAGE.inTrash, button(PAGE.restore, back)));
  }
  return notices;
}

function linkToApp({ url }) {
  return url ? [" ", make("a", { href: url, rel: "noreferrer" }, PAGE.openInApp)] : [];
}

/** Show whether the version is in a file, and who made it; at: when, null: not known. */
export function showOnDisk({ on_disk, halted, by, updated_by }, at) {
  showDisk(on_disk, halted);
  by ??= updated_by;
  const place = part("by"); // another view may be shown by then
  whenIdle(() => (place.textContent = by ? PAGE.by(actor(by), at && moment(at)) : ""));
}

function showDisk(isOnDisk, isHalted) {
  const decision = () => make("a", { href: `/t/${tenant}/attention` }, PAGE.waitsForDecision);
  part("disk-state").replaceChildren(isHalted ? decision() : isOnDisk ? PAGE.onDisk : PAGE.toDisk);
  part("disk-state").dataset.state = isOnDisk ? "yes" : "no";
}

/** Show that a version that was just saved here has no file yet, unless news of it came first. */
export function showSaved(id, version) {
  if (id === shown.page?.id && version > shown.page.version) showDisk(false, false);
}

/** The first time that a browser spells takes it as long as a short page does. */
const whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 200));

/** Show how saving is going; `state` is a key of PAGE.states. */
export function showState(state, sentence) {
  told = [state, sentence ?? null];
  spell();
}

/** Show whether the browser keeps what is not saved. */
export function showKept(answer) {
  kept = answer;
  spell();
}

/** Whether closing the window would lose what is typed. */
export const isUnkept = () => kept === "no";

/** Forget whether a text is kept: another one is edited from now on. */
export const forgetKept = () => (kept = null);

function spell() {
  const [state, sentence] = told;
  const more = sentence ?? (state === "offline" && kept ? (kept === "yes" ? PAGE.kept : PAGE.notKept) : null);
  part("save-state").textContent = more ? `${PAGE.states[state]}: ${more}` : PAGE.states[state];
  part("save-state").dataset.state = state;
}
