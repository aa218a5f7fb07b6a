/** The properties of a page, from the top of its file: shown and edited beside its text. */
import { ask, button, make, trying } from "../elements/dom.js";
import { get, tenant } from "../server/api.js";
import { changed } from "../tree/actions.js";
import { PROPERTIES } from "../words.js";
import { part, shown } from "./shown.js";

let listed = null;
let reread = () => {};

/** Show the properties of `page`; `again()` reads it once one is changed. A field that is being edited stays. */
export function showProperties(page, again) {
  reread = again;
  const place = part("properties");
  const isShown = !page.deleted && !page.fault && page.kind !== "folder";
  place.hidden = !isShown;
  const wanted = JSON.stringify([page.id, page.properties]);
  if (!isShown || place.contains(document.activeElement) || (wanted === listed && place.firstChild)) return;
  listed = wanted;
  const own = page.properties.filter(({ key }) => key !== "tags");
  const more = button(`+ ${PROPERTIES.add}`, add, { class: "plain quiet" });
  place.replaceChildren(tagsOf(page), own.length ? folded(own, more) : more);
}

const UNFOLDED = "mirrord.properties"; // "yes" or "no": as a person left them last
const isUnfolded = () => (localStorage.getItem(UNFOLDED) ?? (matchMedia("(max-width: 50rem)").matches ? "no" : "yes")) === "yes";

function folded(properties, more) {
  const summary = make("summary", {}, PROPERTIES.count(properties.length));
  const details = make("details", { open: isUnfolded() }, summary, make("div", { class: "property-list" }, properties.map(property), more));
  summary.addEventListener("click", () => localStorage.setItem(UNFOLDED, details.open ? "no" : "yes")); // before it changes
  return details;
}

const writeChange = (body) =>
  trying(async () => {
    await changed("PATCH", `pages/${shown.id}`, shown.id, body);
    document.activeElement?.blur?.();
    await reread();
  });

/** Write one property; null removes it. */
const write = (key, value) => writeChange({ properties: { [key]: value } });

/** Write what `next` makes of the tags that the page has by then: those shown here may be older. */
function writeTags(next) {
  const { id, page } = shown;
  return writeChange(async () => {
    const { version, properties } = await get(`pages/${id}`, { known: page.version });
    const tags = next(tagsIn(properties));
    return { version, properties: { tags: tags.length ? tags : null } };
  });
}

function tagsIn(properties) {
  const value = properties.find(({ key }) => key === "tags")?.value ?? [];
  return (Array.isArray(value) ? value : String(value).split(/[\s,]+/)).map(String).filter(Boolean);
}

function tagsOf({ properties }) {
  const tags = tagsIn(properties);
  const chip = (tag) =>
    make(
      "span",
      { class: "tag" },
      make("a", { href: `/t/${tenant}/tags?${new URLSearchParams({ tag })}`, title: PROPERTIES.tagOf(tag) }, `#${tag.replace(/^#/, "")}`),
      button("×", () => writeTags((now) => now.filter((other) => other !== tag)), { class: "plain", "aria-label": PROPERTIES.removeTag(tag), title: PROPERTIES.removeTag(tag) }),
    );
  const addTag = async () => {
    const tag = (await ask(PROPERTIES.addTag, { action: PROPERTIES.addTag }))?.trim().replace(/^#/, "");
    if (tag && !tags.includes(tag)) await writeTags((now) => (now.includes(tag) ? now : [...now, tag]));
  };
  return make("div", { class: "tags" }, tags.map(chip), button(`+ ${PROPERTIES.addTag}`, addTag, { class: "plain quiet" }));
}

function property({ key, value, editable }) {
  const field = editable ? fieldOf(key, value) : make("code", { title: PROPERTIES.onlyInMarkdown }, JSON.stringify(value));
  const remove = editable ? button("×", () => write(key, null), { class: "plain", "aria-label": PROPERTIES.remove(key), title: PROPERTIES.remove(key) }) : null;
  return make("div", { class: "property" }, make("label", {}, make("span", { class: "key" }, key), field), remove);
}

function fieldOf(key, value) {
  if (typeof value === "boolean") {
    const box = make("input", { type: "checkbox", checked: value });
    box.addEventListener("change", () => write(key, box.checked));
    return box;
  }
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  const input = make("input", { type: "text", value: text, autocomplete: "off", title: Array.isArray(value) ? PROPERTIES.listHint : null });
  input.addEventListener("change", () => write(key, valueOf(input.value, value)));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") input.value = text;
    if (event.key === "Enter" || event.key === "Escape") input.blur();
  });
  return input;
}

/** What was typed, in the form that the value had. */
function valueOf(text, before) {
  if (Array.isArray(before)) return text.split(",").map((item) => item.trim()).filter(Boolean);
  if (typeof before === "number" && text.trim() && Number.isFinite(Number(text))) return Number(text);
  return text;
}

async function add() {
  const key = (await ask(PROPERTIES.name, { action: PROPERTIES.add }))?.trim();
  if (!key) return;
  if (!shown.page.properties.some((one) => one.key === key)) await write(key, "");
  for (const label of part("properties").querySelectorAll(".property label")) {
    if (label.querySelector(".key").textContent === key) label.querySelector("input")?.focus();
  }
}
