/** The Markdown of a page as it is in its file, byte for byte. Nothing is merged here: the person chooses. */
import { change } from "../server/api.js";
import { button, make } from "../elements/dom.js";
import { SOURCE } from "../words.js";
import { restored } from "./endings.js";

const HOLDING = 300; // ms between two times that what is typed is kept: a long text is too much for every key

/**
 * Show `page` in `place`. `options`: `onState(state, sentence)`, `onSaved(id, version)`, `keep(text|null, version)`, `kept` (a text that was never
 * saved) and `keptVersion`, that of the page from which it was made.
 * Returns what page.js drives: `update(page)`, `unsaved()`, `saveNow()`, `focus()`, `destroy()`.
 */
export function mountSource(place, page, options) {
  const isOlder = options.kept !== null && options.keptVersion < page.version; // what came since was not seen
  let current = isOlder ? { ...page, version: options.keptVersion, text_digest: null } : page;
  const area = make("textarea", { id: "source", spellcheck: "true", "aria-label": SOURCE.field, autocomplete: "off" });
  const save = button(SOURCE.save, () => saveNow(), { class: "main", "aria-keyshortcuts": "Control+S" });
  const choice = make("div", { class: "choice" });
  const hint = make("p", { class: "hint" }, SOURCE.hint);
  area.value = options.kept ?? page.markdown ?? "";
  area.setSelectionRange(0, 0); // a browser puts the cursor at the end, and scrolls there
  let shown = page.markdown === null ? "" : normal(page.markdown);
  place.replaceChildren(make("div", { class: "source-bar" }, save, hint), choice, area);

  const unsaved = () => area.value !== shown;
  const text = () => restored(current.markdown ?? "", area.value);

  let holding = null; // until what was typed since is kept
  const leaving = new AbortController();

  function keep() {
    clearTimeout(holding);
    holding = null;
    options.keep(unsaved() ? text() : null, current.version);
  }

  /** Nothing may come after this. */
  function keepNow() {
    if (holding !== null) keep();
  }

  function typed() {
    holding ??= setTimeout(keep, HOLDING);
    tell();
  }

  function tell() {
    options.onState(unsaved() ? "typing" : "saved");
    save.disabled = !unsaved();
  }

  function take(fresh) {
    const at = [area.selectionStart, area.selectionEnd, area.scrollTop];
    current = fresh;
    shown = normal(fresh.markdown ?? "");
    area.value = shown;
    area.setSelectionRange(Math.min(at[0], shown.length), Math.min(at[1], shown.length));
    area.scrollTop = at[2];
    choice.replaceChildren();
    keep();
    tell();
  }

  async function saveNow(over = current) {
    if (!unsaved()) return;
    const sent = area.value;
    options.onState("saving");
    try {
      const markdown = restored(current.markdown ?? "", sent);
      const { version, text_digest } = over;
      const saved = await change("PUT", `pages/${page.id}/markdown`, { version, text_digest, markdown });
      current = { ...current, ...saved, markdown };
      shown = sent;
      options.onSaved(page.id, saved.version);
      choice.replaceChildren();
      keep();
      tell();
    } catch (error) {
      if (error.status === 409) offer(error.body.page);
      else if (error.status === 0 || error.status === 503) options.onState("offline");
      else options.onState("refused", error.message);
      if (error.status === 0 || error.status === 503) setTimeout(() => area.isConnected && saveNow(), 2000);
    }
  }

  /** Both texts, and what to do with them. */
  function offer(theirs) {
    options.onState("clash", SOURCE.clash);
    choice.replaceChildren(
      make(
        "div",
        { class: "clash", role: "alert" },
        make("p", {}, SOURCE.theyChanged),
        make("pre", { tabindex: "0", "aria-label": SOURCE.theirs }, theirs.markdown ?? ""),
        button(SOURCE.keepYours, () => ((current = { ...current, version: theirs.version, text_digest: theirs.text_digest }), saveNow(theirs)), { class: "main" }),
        button(SOURCE.useTheirs, () => take(theirs)),
      ),
    );
  }

  area.addEventListener("input", typed);
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      void saveNow();
    }
  });
  const { signal } = leaving;
  window.addEventListener("pagehide", keepNow, { signal });
  document.addEventListener("visibilitychange", () => document.hidden && keepNow(), { signal });
  tell();
  if (isOlder && unsaved()) offer(page);
  return {
    unsaved,
    saveNow,
    focus: () => area.focus(),
    destroy() {
      keepNow();
      leaving.abort();
      place.replaceChildren();
    },
    update(fresh) {
      if (!unsaved()) take(fresh);
      else if (fresh.version > current.version && fresh.markdown !== current.markdown) offer(fresh);
    },
  };
}

/** As a textarea holds it. */
const normal = (text) => text.replace(/\r\n?/g, "\n");
