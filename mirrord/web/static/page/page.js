/** One page: how it is shown first, and what happens to it here and elsewhere. */
import { tell, trying } from "../elements/dom.js";
import { PAGE } from "../words.js";
import { isUnkept as isTextUnkept, showHead, showOnDisk } from "./head.js";
import { showInside } from "./inside.js";
import { reveal, showLinks } from "./links.js";
import { BUTTONS, chooseView, chosenView, goOn, loadEditor, mount } from "./mounting.js";
import { offerLeft } from "./offers.js";
import { followHeadings } from "./outline.js";
import { showProperties } from "./properties.js";
import { begin, end, isWritten, load, part, shown } from "./shown.js";
import { listenToTitle } from "./title.js";
import { listenToActions } from "./actions.js";

let begun = null; // resolves when the page was shown once: only then anything else is done with it

function show(page) {
  showHead(page, () => changed(null));
  showProperties(page, () => changed(null));
}

async function changed(event) {
  if (event && event.detail.id !== shown.id) return;
  await begun;
  showLinks();
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
  const { mounted, place } = shown;
  if (page.version === before?.version && mounted) return;
  const isTaken = page.deleted && !mounted?.unsaved() && !place.contains(document.activeElement); // an edit outlives a deletion
  const isMended = before?.fault && !page.fault && chosenView() === "editor" && !mounted?.unsaved();
  if (!mounted || page.kind !== before.kind || isTaken || isMended) await mount(chosenView());
  else mounted.update(page);
}

/** Show the page in the view that a person chose. */
async function changeView(name, view) {
  await begun;
  if (shown.mounted && part(name).getAttribute("aria-pressed") === "true") return shown.mounted.focus(); // what is typed stays
  chooseView(view);
  await shown.mounted?.saveNow();
  const page = await load(view === "source");
  if (page) show(page);
  if (page && view === "source" && !isWritten(page) && !page.problem) return tell(PAGE.unwritten); // a problem may be mended there
  await mount(view);
  shown.mounted?.focus();
}

function listenToTools() {
  for (const [name, view] of BUTTONS) part(name).addEventListener("click", () => trying(() => changeView(name, view)));
  listenToTitle();
  listenToActions();
}

function listenToNews(signal) {
  const on = (name, work) => window.addEventListener(name, work, { signal });
  on("hashchange", reveal);
  on("live:tree", () => (showLinks(), trying(showInside)));
  on("live:page", changed);
  on("live:open", () => changed(null));
  on("live:attention", () => changed(null)); // a halt may be about this page
  on("beforeunload", (event) => isUnkept() && unsaved() && event.preventDefault());
}

/** Let the page live, until the signal ends it. */
export async function start(signal) {
  begin(signal);
  begun = trying(async () => {
    if (chosenView() === "editor") void loadEditor().catch(() => null); // it is read while the page is on its way
    const page = await load(chosenView() === "source");
    if (!page) return;
    show(page);
    await mount(chosenView());
    reveal();
  });
  listenToTools();
  listenToNews(signal);
  followHeadings(signal);
  await begun;
  if (signal.aborted || !shown.page) return;
  if (!shown.page.deleted) void offerLeft(shown.id, part("offers"), goOn, signal).catch(() => null); // a browser without a store has none
  showLinks(0);
  await trying(showInside);
}

/** Whether something is typed that is not saved; save it; whether it would be lost with the window. */
export const unsaved = () => Boolean(shown.mounted?.unsaved());
export const save = () => shown.mounted.saveNow();
export const isUnkept = () => isTextUnkept() && unsaved();

/** End the editor: another view takes its place. */
export const stop = end;
