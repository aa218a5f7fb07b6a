/** The quick switcher: Ctrl+P, some letters of a title or a path, Enter. */
import { make, trying } from "../elements/dom.js";
import { openView } from "../navigation/navigation.js";
import { visited } from "../page/stars.js";
import { change, get } from "../server/api.js";
import { SEARCH, SWITCHER } from "../words.js";
import { hrefOfWords, marked, plain } from "./marks.js";

const DELAY_MS = 60; // after a key, before the server is asked
const MAX_VISITED = 12; // pages opened last that are listed without letters

/** Open the switcher at Ctrl+P. */
export function start() {
  window.addEventListener(
    "keydown",
    (event) => {
      const isAsked = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "p";
      if (!isAsked) return;
      event.preventDefault();
      event.stopPropagation();
      if (!document.querySelector("dialog.switcher")) new Switcher().open();
    },
    { capture: true }, // the editor has keys of its own
  );
  document.getElementById("switch")?.addEventListener("click", () => new Switcher().open());
}

class Switcher {
  constructor() {
    this.options = [];
    this.current = -1;
    this.asked = 0;
    this.list = make("ul", { id: "switcher-list", role: "listbox", "aria-label": "Pages" });
    this.status = make("p", { class: "hidden", role: "status" });
    this.input = make("input", {
      type: "text", role: "combobox", "aria-label": SWITCHER.label, "aria-controls": "switcher-list", "aria-expanded": "true",
      "aria-autocomplete": "list", placeholder: SWITCHER.placeholder, autocomplete: "off", spellcheck: "false", maxlength: "200",
      oninput: () => this.wait(), onkeydown: (event) => this.key(event),
    });
    this.dialog = make(
      "dialog",
      { class: "switcher", "aria-label": SWITCHER.label, oncancel: () => this.close(), onclick: (event) => this.click(event) },
      this.input, this.list, this.status,
      make("p", { class: "hint" }, SWITCHER.hint),
    );
  }

  open() {
    this.before = document.activeElement;
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.input.focus();
    this.load();
  }

  close() {
    clearTimeout(this.timer);
    this.asked++;
    this.dialog.remove();
    this.before?.focus?.();
  }

  click(event) {
    if (event.target === this.dialog) this.close(); // beside the dialog
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), DELAY_MS);
  }

  /** Load what fits; only the answer to the last question counts. */
  async load() {
    const query = this.input.value.trim();
    const number = ++this.asked;
    const answer = await trying(() => get("titles", { q: query, seen: query ? null : visited().slice(0, MAX_VISITED).map(({ id }) => id).join(",") }));
    if (answer && number === this.asked) this.show(query, answer.pages);
  }

  show(query, pages) {
    this.query = query;
    this.options = pages.map((page) => ({ href: page.href, element: pageOption(page) }));
    if (query) {
      const isThere = pages.some((page) => plain(page.title).toLowerCase() === query.toLowerCase());
      if (!isThere && !query.includes("/")) this.options.push({ create: query, element: option("+", SWITCHER.create(query)) });
      this.options.push({ href: hrefOfWords(query), element: option("⌕", SEARCH.inText(query)) });
    }
    this.options.forEach(({ element }, at) => {
      element.id = `switcher-${at}`;
      element.addEventListener("click", (event) => this.choose(at, event.ctrlKey || event.metaKey));
    });
    this.list.replaceChildren(...this.options.map(({ element }) => element));
    this.status.textContent = SWITCHER.count(pages.length);
    this.move(this.options.length ? 0 : -1);
  }

  move(to) {
    this.options[this.current]?.element.setAttribute("aria-selected", "false");
    this.current = to;
    const element = this.options[to]?.element;
    element?.setAttribute("aria-selected", "true");
    element?.scrollIntoView({ block: "nearest" });
    if (element) this.input.setAttribute("aria-activedescendant", element.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const count = this.options.length;
    if (event.isComposing) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "ArrowDown" && count) this.move((this.current + 1) % count);
    else if (event.key === "ArrowUp" && count) this.move((this.current - 1 + count) % count);
    else if (event.key === "Enter") this.enter(event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Enter counts for what is typed, also before the answer is there. */
  async enter(inNewTab) {
    clearTimeout(this.timer);
    if (this.input.value.trim() !== this.query) await this.load();
    this.choose(this.current, inNewTab);
  }

  async choose(at, inNewTab) {
    const chosen = this.options[at];
    if (!chosen) return;
    const href = chosen.href ?? (await trying(() => change("POST", "pages", { parent: null, title: chosen.create })))?.href;
    if (!href) return;
    if (inNewTab) window.open(href, "_blank", "noopener");
    this.close();
    if (!inNewTab) await openView(new URL(href, location.href).href);
  }
}

function option(icon, ...label) {
  return make("li", { role: "option", "aria-selected": "false" }, make("span", { class: "icon", "aria-hidden": "true" }, icon), make("span", { class: "label" }, ...label));
}

function pageOption(page) {
  const element = option(page.icon || (page.kind === "folder" ? "▤" : "•"), ...marked(page.title));
  if (page.path.length) element.append(make("span", { class: "path" }, ...marked(page.path)));
  return element;
}
