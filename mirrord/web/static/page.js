/** One page: its editor or its Markdown, how it is saved, and what happens to it elsewhere. */
import { Refusal, change, get, href, tenant } from "./api.js";
import { actor, button, confirmed, make, moment, trying } from "./dom.js";
import { Draft } from "./drafts.js";
import { makePage } from "./missing.js";
import { offer, offerLeft } from "./offers.js";
import { mountSource } from "./source.js";
import { discard, rename, setIcon } from "./tree.js";

const VIEW = "mirrord.view";
const QUIET_MS = 300; // without news, before the links are asked about
const STATES = {
  saved: "Saved",
  typing: "Not saved yet",
  saving: "Saving…",
  offline: "Offline",
  refused: "Not saved",
  clash: "Changed on both sides",
};
const KEEPING = { yes: "kept in this browser until the server is back", no: "this browser cannot keep your text, so leave this window open" };
const FAULT = "The front matter of this page cannot be read. Mend it in the Markdown view; until then nothing else of the page can be changed";
const LEAVING = 3000; // ms that a save may take before another page is opened

const place = document.getElementById("page");
const id = place?.dataset.page;
const part = (name) => document.getElementById(name);
let page = null;
let mounted = null;
let draft = null; // of what is mounted
let kept = null; // whether the browser has stored what is not saved: "yes" or "no"; null: not asked yet
let told = ["saved", null]; // the state of the editor, and its sentence
let asked = 0;
let begun = null; // resolves when the page was shown once: only then anything else is done with it

/** The page as it is now; while its document is being derived it is asked for again. Of a version that is here the texts are. */
async function load() {
  const number = ++asked;
  const before = page;
  const known = before?.markdown != null && before.content !== null ? before.version : null;
  for (let wait = 30; ; wait = Math.min(wait * 1.5, 1000)) {
    const found = { markdown: before?.markdown, content: before?.content, fault: before?.fault, ...(await get(`pages/${id}`, { known })) };
    if (number !== asked) return null;
    if (found.deleted || found.kind === "folder" || (found.content !== null && found.markdown !== null)) return found;
    if (found.problem && wait >= 1000) return found;
    await new Promise((done) => setTimeout(done, wait));
  }
}

function show(found) {
  page = found;
  part("title").textContent = found.title;
  part("icon").textContent = found.icon || (found.kind === "folder" ? "▤" : "•");
  document.title = `${found.title} · ${tenant}`;
  onDisk(found, found.updated_at);
  const hasText = !found.deleted && found.kind !== "folder";
  part("view-editor").hidden = !hasText || place.dataset.editor === "no";
  for (const name of ["view-source", "state"]) part(name).hidden = !hasText;
  for (const name of ["rename", "delete"]) part(name).hidden = found.deleted;
  for (const name of ["view-editor", "rename"]) part(name).disabled = Boolean(found.fault);
  part("icon").disabled = found.deleted || Boolean(found.fault);
  const notices = [];
  if (found.fault) notices.push(make("p", { class: "problem", role: "alert" }, `${FAULT} (${found.fault}).`));
  else if (found.problem) notices.push(make("p", { class: "problem", role: "alert" }, found.problem));
  if (found.deleted) {
    const back = () => trying(async () => (await change("POST", `pages/${id}/revive`), changed(null)));
    notices.push(make("p", { class: "problem" }, "This page is in the trash. ", button("Restore it", back)));
  }
  part("notices").replaceChildren(...notices);
}

function onDisk({ on_disk, halted, by, updated_by }, at) {
  const decision = () => make("a", { href: `/t/${tenant}/attention` }, "its deletion waits for a decision");
  part("disk-state").replaceChildren(halted ? decision() : on_disk ? "on disk" : "being written to disk");
  part("disk-state").dataset.state = on_disk ? "yes" : "no";
  by ??= updated_by;
  whenIdle(() => (part("by").textContent = by ? `by ${actor(by)}${at ? `, ${moment(at)}` : ""}` : ""));
}

/** The first time that a browser spells takes it as long as a short page does. */
const whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 200));

function onState(state, sentence) {
  told = [state, sentence ?? null];
  showState();
}

function showState() {
  const [state, sentence] = told;
  const more = sentence ?? (state === "offline" ? KEEPING[kept] : null);
  part("save-state").textContent = more ? `${STATES[state]}: ${more}` : STATES[state];
  part("save-state").dataset.state = state;
}

/** For the editor: 409 is an answer with the page, 422 one with a sentence; it rejects when nothing answers, or not so soon. */
async function save(content, version) {
  try {
    return await change("PUT", `pages/${id}/content`, { version, content });
  } catch (error) {
    if (!(error instanceof Refusal) || [0, 429].includes(error.status) || error.status >= 500) throw error;
    if (error.status !== 409) return { sentence: error.message };
    if (error.body.page.deleted) return { sentence: error.message };
    return { page: error.body.page.content === null ? await load() : error.body.page };
  }
}

async function upload(file) {
  const form = new FormData();
  form.append("file", file, file.name || "pasted.png");
  return change("POST", `pages/${id}/attachments`, form);
}

const orNothing = (error) => {
  if (error.status === 404) return null;
  throw error;
};

/** What the editor is told and asks for; the contract with static/built/editor.js. */
function options() {
  return {
    page,
    kept: draft.stored?.text ?? null,
    save,
    upload,
    convert: async (markdown) => (await change("POST", "document", { markdown })).content,
    complete: (q) => get("completions", { q }),
    preview: (target) => get("preview", { target, from: id }).catch(orNothing),
    open: (target) => follow(target),
    fileUrl: (src) => `${href(id)}/file?${new URLSearchParams({ src })}`,
    onState,
    keep: (text) => hold("editor", text),
  };
}

/** Where a link leads: in the mirror, or out of it. */
async function follow(target) {
  if (/^(https?|mailto):/i.test(target)) {
    window.open(target, "_blank", "noopener,noreferrer");
    return;
  }
  const asPath = /\.md(#|$)|^\.{0,2}\//.test(target);
  for (const kind of asPath ? ["markdown", "wikilink"] : ["wikilink", "markdown"]) {
    const found = await get(`pages/${id}/resolve`, { target, kind }).catch(orNothing);
    if (found) return go(found.href);
  }
  const [name] = target.split("#");
  if (!(await confirmed(`There is no page “${name}” yet.`, "Create it"))) return;
  await trying(async () => go(await makePage(target, page, asPath)));
}

/** To another page, once this one is saved; or to a heading of this one. */
async function go(where) {
  if (new URL(where, location.href).pathname !== location.pathname) {
    if (mounted?.unsaved()) await mounted.saveNow();
    return location.assign(where);
  }
  history.pushState(null, "", where);
  reveal();
}

/** Scroll to the heading that the address names. */
function reveal() {
  const fragment = decodeURIComponent(location.hash.slice(1));
  if (fragment) mounted?.reveal?.(fragment);
}

/** The links that lead to no page are shown as such, as soon as that is known. */
function unresolved() {
  clearTimeout(unresolved.timer);
  unresolved.timer = setTimeout(async () => {
    const links = await get(`pages/${id}/unresolved`).catch(() => null);
    if (links) mounted?.showUnresolved?.(links);
  }, QUIET_MS);
}

async function mount(view, left = null) {
  if (mounted) await mounted.saveNow();
  const unsaved = mounted?.unsaved() ? draft : null;
  mounted?.destroy();
  mounted = null;
  if (unsaved?.stored) offer(unsaved, part("offers"), goOn);
  draft = left ?? new Draft(id);
  kept = null;
  place.replaceChildren();
  for (const [name, one] of [["view-editor", "editor"], ["view-source", "source"]]) {
    part(name).setAttribute("aria-pressed", String(one === view));
  }
  if (page.kind === "folder") {
    place.append(make("p", {}, "A folder: it has no page of its own. Pages in it are in the sidebar."));
    return;
  }
  if (page.deleted) {
    place.append(make("pre", {}, page.markdown ?? ""));
    return;
  }
  if (view === "editor") {
    const { mount: mountEditor } = await import("./built/editor.js");
    mounted = mountEditor(place, options());
  } else {
    if (place.dataset.editor === "no") {
      const why = "This is the plain Markdown editor: the rich editor was not built. `make web` builds it; it needs node.";
      part("why").textContent = why;
    }
    mounted = mountSource(place, page, { onState, kept: draft.stored?.text ?? null, keep: (text) => hold("source", text) });
  }
  unresolved();
}

/** Keep what is not saved, in the draft of the editor that is mounted now. */
function hold(view, text) {
  const own = draft;
  own.keep(view, page.version, text).then(
    () => own === draft && showKept("yes"),
    () => text !== null && own === draft && showKept("no"),
  );
}

function showKept(answer) {
  kept = answer;
  showState();
}

/** Continue with what another window left: it is saved as any other text, over nothing that was not seen. */
async function goOn(left) {
  await mount(usable(left.stored.view), left);
  mounted?.focus();
}

/** Save what is typed before a link opens another page, so that the browser need not ask. */
async function saveFirst(event) {
  const link = event.target.closest?.("a[href]");
  const isOther = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link?.target;
  if (!link || isOther || event.defaultPrevented || link.origin !== location.origin || !mounted?.unsaved()) return;
  event.preventDefault();
  await Promise.race([mounted.saveNow(), new Promise((done) => setTimeout(done, LEAVING))]);
  location.assign(link.href);
}

const usable = (view) => (view === "editor" && place.dataset.editor === "yes" && !page?.fault ? "editor" : "source");

function chosen() {
  return usable(localStorage.getItem(VIEW) ?? "editor");
}

async function changed(event) {
  if (event && event.detail.id !== id) return;
  await begun;
  unresolved();
  if (event && event.detail.version === page?.version && page?.content !== null) {
    onDisk({ ...page, ...event.detail }, null);
    return;
  }
  await trying(async () => {
    const found = await load();
    if (!found) return;
    const before = page;
    show(found);
    if (found.version === before?.version && mounted) return;
    const isTaken = found.deleted && !mounted?.unsaved() && !place.contains(document.activeElement); // an edit outlives a deletion
    const isMended = before.fault && !found.fault && chosen() === "editor" && !mounted?.unsaved();
    if (!mounted || found.kind !== before.kind || isTaken || isMended) await mount(chosen());
    else mounted.update(found);
  });
}

async function backlinks() {
  const found = await get(`pages/${id}/backlinks`);
  part("backlinks").replaceChildren(
    ...found.map((one) => make("li", {}, make("a", { href: one.href }, `${one.icon ?? ""} ${one.title}`.trim()))),
  );
  part("backlinks").parentElement.hidden = !found.length;
}

function tools() {
  for (const [name, view] of [["view-editor", "editor"], ["view-source", "source"]]) {
    part(name).addEventListener("click", () =>
      trying(async () => {
        await begun;
        if (mounted && part(name).getAttribute("aria-pressed") === "true") return mounted.focus(); // what is typed stays
        localStorage.setItem(VIEW, view);
        await mounted?.saveNow();
        const found = await load();
        if (found) show(found);
        await mount(view);
        mounted?.focus();
      }),
    );
  }
  part("rename").addEventListener("click", () => rename(id, page.title));
  part("icon").addEventListener("click", () => setIcon(id, page.icon ?? ""));
  part("delete").addEventListener("click", () => discard(id, page.title));
}

/** Let the page live. */
export async function start() {
  begun = trying(async () => {
    if (chosen() === "editor") void import("./built/editor.js"); // it is read while the page is on its way
    show(await load());
    await mount(chosen());
    reveal();
  });
  tools();
  window.addEventListener("hashchange", reveal);
  window.addEventListener("live:tree", unresolved);
  window.addEventListener("live:page", changed);
  window.addEventListener("live:open", () => changed(null));
  window.addEventListener("live:attention", () => changed(null)); // a halt may be about this page
  document.addEventListener("click", saveFirst);
  window.addEventListener("beforeunload", (event) => kept === "no" && mounted?.unsaved() && event.preventDefault());
  await begun;
  if (!page?.deleted) void offerLeft(id, part("offers"), goOn).catch(() => null); // a browser without a store has none
  await trying(backlinks);
}
