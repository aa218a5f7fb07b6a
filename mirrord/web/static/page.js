/** One page: its editor or its Markdown, how it is saved, and what happens to it elsewhere. */
import { Refusal, change, get, href, tenant } from "./api.js";
import { actor, button, confirmed, make, moment, trying } from "./dom.js";
import { keep, kept } from "./drafts.js";
import { makePage } from "./missing.js";
import { mountSource } from "./source.js";
import { discard, rename, setIcon } from "./tree.js";

const VIEW = "mirrord.view";
const QUIET_MS = 300; // without news, before the links are asked about
const STATES = {
  saved: "Saved",
  typing: "Not saved yet",
  saving: "Saving…",
  offline: "Offline: kept in this browser until the server is back",
  refused: "Not saved",
  clash: "Changed on both sides",
};

const place = document.getElementById("page");
const id = place?.dataset.page;
const part = (name) => document.getElementById(name);
let page = null;
let mounted = null;
let asked = 0;
let begun = null; // resolves when the page was shown once: only then anything else is done with it

/** The page as it is now; while its document is being derived it is asked for again. Of a version that is here the texts are. */
async function load() {
  const number = ++asked;
  const before = page;
  const known = before?.markdown != null && before.content !== null ? before.version : null;
  for (let wait = 30; ; wait = Math.min(wait * 1.5, 1000)) {
    const found = { markdown: before?.markdown, content: before?.content, ...(await get(`pages/${id}`, { known })) };
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
  onDisk(found.on_disk, found.updated_by, found.updated_at);
  const notices = [];
  if (found.problem) notices.push(make("p", { class: "problem", role: "alert" }, found.problem));
  if (found.deleted) {
    const back = () => trying(async () => location.assign((await change("POST", `pages/${id}/revive`)).href));
    notices.push(make("p", { class: "problem" }, "This page is in the trash. ", button("Restore it", back)));
  }
  part("notices").replaceChildren(...notices);
}

function onDisk(isOnDisk, by, at) {
  part("disk-state").textContent = isOnDisk ? "on disk" : "being written to disk";
  part("disk-state").dataset.state = isOnDisk ? "yes" : "no";
  whenIdle(() => (part("by").textContent = by ? `by ${actor(by)}${at ? `, ${moment(at)}` : ""}` : ""));
}

/** The first time that a browser spells takes it as long as a short page does. */
const whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 200));

function onState(state, sentence) {
  part("save-state").textContent = sentence ? `${STATES[state]}: ${sentence}` : STATES[state];
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
function options(draft) {
  return {
    page,
    kept: draft,
    save,
    upload,
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

async function mount(view, draft = null) {
  if (mounted) await mounted.saveNow();
  mounted?.destroy();
  mounted = null;
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
    mounted = mountEditor(place, options(draft));
  } else {
    if (place.dataset.editor === "no") {
      const why = "This is the plain Markdown editor: the rich editor was not built. `make web` builds it; it needs node.";
      part("why").textContent = why;
    }
    const keeping = { onState, kept: draft, keep: (text) => hold("source", text) };
    mounted = mountSource(place, page, keeping);
  }
  unresolved();
}

/** Keep what is not saved; what was kept before, and nobody decided about yet, is not forgotten for an editor that has nothing. */
function hold(view, text) {
  if (text !== null || !part("offers").firstChild) keep(id, view, page.version, text);
}

/** What was typed before a crash comes back, and is saved as any other text: over nothing that was not seen. */
function offer(draft) {
  if (!draft || page.deleted) return;
  if (draft.view === "source" && draft.text === page.markdown) {
    keep(id, "source", 0, null);
    return;
  }
  const answer = (work) => () => (box.remove(), trying(work));
  const box = make(
    "div",
    { class: "clash", role: "alert" },
    make("p", {}, `There is unsaved text from ${moment(draft.at)}.`),
    button("Continue with it", answer(() => mount(usable(draft.view), draft.text).then(() => mounted.focus())), { class: "main" }),
    button("Discard it", answer(async () => keep(id, draft.view, 0, null))),
  );
  part("offers").append(box);
}

const usable = (view) => (view === "editor" && place.dataset.editor === "yes" ? "editor" : "source");

function chosen() {
  return usable(localStorage.getItem(VIEW) ?? "editor");
}

async function changed(event) {
  if (event && event.detail.id !== id) return;
  await begun;
  unresolved();
  if (event && event.detail.version === page?.version && page?.content !== null) {
    onDisk(event.detail.on_disk, event.detail.by, null);
    return;
  }
  await trying(async () => {
    const found = await load();
    if (!found) return;
    const before = page;
    show(found);
    if (found.version === before?.version && mounted) return;
    if (!mounted || found.kind !== before.kind || found.deleted !== before.deleted) await mount(chosen());
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
    offer(kept(id));
    await mount(chosen());
    reveal();
  });
  tools();
  window.addEventListener("hashchange", reveal);
  window.addEventListener("live:tree", unresolved);
  window.addEventListener("live:page", changed);
  window.addEventListener("live:open", () => changed(null));
  window.addEventListener("beforeunload", (event) => mounted?.unsaved() && event.preventDefault());
  await begun;
  await trying(backlinks);
}
