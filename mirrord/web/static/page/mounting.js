/** The editor of a page, or its Markdown: which one is shown, what it saves, and where what is typed is kept. */
import { Refusal, change, get, href, isReader } from "../server/api.js";
import { make, trying } from "../elements/dom.js";
import { renderedOf } from "../elements/rendered.js";
import { PAGE } from "../words.js";
import { Draft } from "./drafts.js";
import { forgetKept, showKept, showSaved, showState } from "./head.js";
import { follow, showLinks } from "./links.js";
import { offer } from "./offers.js";
import { getTarget, load, part, shown } from "./shown.js";
import { mountSource } from "./source.js";

const VIEW = "mirrord.view";
export const BUTTONS = [["view-editor", "editor"], ["view-source", "source"]];

/** For the editor: 409 is an answer with the page, 422 one with a sentence; it rejects when nothing answers, or not so soon. */
const saveOf = (id) => async (content, version) => {
  try {
    const saved = await change("PUT", `pages/${id}/content`, { version, content });
    showSaved(id, saved.version);
    return saved;
  } catch (error) {
    if (!(error instanceof Refusal) || [0, 429].includes(error.status) || error.status >= 500) throw error;
    if (error.status !== 409) return { sentence: error.message };
    if (error.body.page.deleted) return { sentence: error.message };
    if (error.body.page.content !== null) return { page: error.body.page };
    const page = id === shown.id ? await load() : null;
    if (!page) throw error;
    return { page };
  }
};

const uploadOf = (id) => async (file) => {
  const form = new FormData();
  form.append("file", file, file.name || "pasted.png");
  return change("POST", `pages/${id}/attachments`, form);
};

/** What the editor is told and asks for; the contract with static/built/editor.js. */
function options() {
  const { id, draft } = shown;
  return {
    page: shown.page,
    readonly: isReader,
    kept: shown.draft.stored?.text ?? null,
    isFar: Boolean(history.state?.scroll || location.hash),
    save: saveOf(id),
    upload: uploadOf(id),
    convert: async (markdown) => (await change("POST", "document", { markdown })).content,
    complete: (q) => get("completions", { q }),
    preview: async (target) => {
      const found = await getTarget("preview", { target, from: id });
      return found && { title: found.title, body: renderedOf(found.content) };
    },
    open: (target) => trying(() => follow(target)),
    fileUrl: (src) => `${href(id)}/file?${new URLSearchParams({ src })}`,
    onState: showState,
    keep: (text) => draft === shown.draft && hold("editor", text), // never in the draft of the next page
  };
}

/** Show the page in a view: `editor` or `source`; left: the draft to go on with. What was there before is saved first. */
export async function mount(view, left = null) {
  await unmount();
  shown.draft = left ?? new Draft(shown.id, null, shown.signal);
  forgetKept();
  shown.place.replaceChildren();
  for (const [name, one] of BUTTONS) part(name).setAttribute("aria-pressed", String(one === view));
  if (shown.page.kind === "folder") {
    shown.place.append(make("p", {}, PAGE.folder));
    return;
  }
  if (shown.page.deleted) {
    shown.place.append(make("pre", {}, shown.page.markdown ?? ""));
    return;
  }
  if (isReader && view === "source") { // nothing that could be typed in
    shown.place.append(make("pre", {}, shown.page.markdown ?? ""));
    return;
  }
  shown.mounted = view === "editor" ? await mountEditor() : mountMarkdown();
  showLinks();
}

async function unmount() {
  const { mounted, draft } = shown;
  if (mounted) await mounted.saveNow();
  const unsaved = mounted?.unsaved() ? draft : null;
  mounted?.destroy();
  shown.mounted = null;
  if (unsaved?.stored) offer(unsaved, part("offers"), goOn);
}

let editor = null; // the program, once it is read

/** The program of the editor. An import answers in a later task, and a frame without the text may come before it. */
export const loadEditor = async () => (editor ??= await import("../built/editor.js"));

async function mountEditor() {
  const { mount: mountIn } = await loadEditor();
  return mountIn(shown.place, options());
}

function mountMarkdown() {
  if (shown.place.dataset.editor === "no") {
    part("why").textContent = PAGE.notBuilt;
  }
  const { text: kept = null, version: keptVersion = null } = shown.draft.stored ?? {};
  const keep = (text, version) => hold("source", text, version);
  return mountSource(shown.place, shown.page, { onState: showState, onSaved: showSaved, kept, keptVersion, keep });
}

/** Keep what is not saved, in the draft of the editor that is mounted now. version: of the page that it was made from. */
function hold(view, text, version = shown.page.version) {
  const own = shown.draft;
  own.keep(view, version, text).then(
    () => own === shown.draft && showKept("yes"),
    () => text !== null && own === shown.draft && showKept("no"),
  );
}

/** Continue with what another window left: it is saved as any other text, over nothing that was not seen. */
export async function goOn(left) {
  await mount(usable(left.stored.view), left);
  shown.mounted?.focus();
}

const usable = (view) => (view === "editor" && shown.place.dataset.editor === "yes" && !shown.page?.fault ? "editor" : "source");

/** The view that this person chose last, where the page can be shown in it. */
export const chosenView = () => usable((isReader ? null : localStorage.getItem(VIEW)) ?? "editor");

/** Choose a view, for this page and those that are opened later. */
export const chooseView = (view) => localStorage.setItem(VIEW, view);
