/** Where a page goes: a dialog that finds pages and folders by name. */
import { button, dialogOf, hint, make, trying } from "../elements/dom.js";
import { get } from "../server/api.js";
import { DESTINATION } from "../words.js";

const STILL_MS = 150; // without typing before pages are asked for

/** The id of the chosen parent; null: the top of the tree, undefined: the person chose nothing. note: said below. */
export function askDestination(page, title, note) {
  return dialogOf(DESTINATION.title(title), (close) => {
    const field = make("input", { type: "search", "aria-label": DESTINATION.field, placeholder: DESTINATION.field, autocomplete: "off" });
    const list = make("div", { class: "choices" });
    let waiting = null;
    const show = () => trying(async () => list.replaceChildren(...choicesOf(await find(field.value, page), field.value, close)));
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(show, STILL_MS);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault(); // a browser would empty the field first
      close();
    });
    void show();
    return { parts: [field, list, hint(note)], submit: () => list.querySelector("button")?.click() };
  });
}

async function find(text, page) {
  if (!text.trim()) return (await get("tree")).nodes.filter(({ id }) => id !== page);
  return (await get("completions", { q: text.trim() })).filter(({ id }) => id !== page);
}

function choicesOf(pages, text, close) {
  const top = text.trim() ? [] : [button(DESTINATION.top, () => close(null))];
  const others = pages.map((page) => {
    const path = page.path?.replace(/\.md$/, "");
    return button([`${page.icon ?? ""} ${page.title}`.trim(), ...(path ? [make("span", { class: "hint", title: path }, path)] : [])], () => close(page.id));
  });
  const choices = [...top, ...others];
  return choices.length ? choices : [make("p", { class: "hint" }, DESTINATION.nothing)];
}
