/** One page: how it is shown first, and what happens to it here and elsewhere. */
import { trying } from "../elements/dom.js";
import { discard, rename, setIcon } from "../tree/actions.js";
import { isUnkept, showHead, showOnDisk } from "./head.js";
import { markUnresolved, reveal, saveFirst, showBacklinks } from "./links.js";
import { BUTTONS, chooseView, chosenView, goOn, mount } from "./mounting.js";
import { offerLeft } from "./offers.js";
import { load, part, place, shown } from "./shown.js";

let begun = null; // resolves when the page was shown once: only then anything else is done with it

const show = (page) => showHead(page, () => changed(null));

async function changed(event) {
  if (event && event.detail.id !== shown.id) return;
  await begun;
  markUnresolved();
  if (event && event.detail.version === shown.page?.version && shown.page?.content !== null) {
    showOnDisk({ ...shown.page, ...event.detail }, null);
    return;
  }
  await trying(reread);
}

async function reread() {
  const page = await load();
  if (!page) return;
  const before = shown.page;
  show(page);
  const { mounted } = shown;
  if (page.version === before?.version && mounted) return;
  const isTaken = page.deleted && !mounted?.unsaved() && !place.contains(document.activeElement); // an edit outlives a deletion
  const isMended = before.fault && !page.fault && chosenView() === "editor" && !mounted?.unsaved();
  if (!mounted || page.kind !== before.kind || isTaken || isMended) await mount(chosenView());
  else mounted.update(page);
}

/** Show the page in the view that a person chose. */
async function changeView(name, view) {
  await begun;
  if (shown.mounted && part(name).getAttribute("aria-pressed") === "true") return shown.mounted.focus(); // what is typed stays
  chooseView(view);
  await shown.mounted?.saveNow();
  const page = await load();
  if (page) show(page);
  await mount(view);
  shown.mounted?.focus();
}

function listenToTools() {
  for (const [name, view] of BUTTONS) part(name).addEventListener("click", () => trying(() => changeView(name, view)));
  part("rename").addEventListener("click", () => rename(shown.id, shown.page.title));
  part("icon").addEventListener("click", () => setIcon(shown.id, shown.page.icon ?? ""));
  part("delete").addEventListener("click", () => discard(shown.id, shown.page.title));
}

function listenToNews() {
  window.addEventListener("hashchange", reveal);
  window.addEventListener("live:tree", markUnresolved);
  window.addEventListener("live:page", changed);
  window.addEventListener("live:open", () => changed(null));
  window.addEventListener("live:attention", () => changed(null)); // a halt may be about this page
  document.addEventListener("click", saveFirst);
  window.addEventListener("beforeunload", (event) => isUnkept() && shown.mounted?.unsaved() && event.preventDefault());
}

/** Let the page live. */
export async function start() {
  begun = trying(async () => {
    if (chosenView() === "editor") void import("../built/editor.js"); // it is read while the page is on its way
    show(await load());
    await mount(chosenView());
    reveal();
  });
  listenToTools();
  listenToNews();
  await begun;
  if (!shown.page?.deleted) void offerLeft(shown.id, part("offers"), goOn).catch(() => null); // a browser without a store has none
  await trying(showBacklinks);
}
