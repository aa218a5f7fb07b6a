/** What was searched for: pages that are called so, then pages that say so. */
import { get, href } from "../server/api.js";
import { make, trying } from "../elements/dom.js";

const place = document.getElementById("content");

function named(found) {
  const as = found.alias ? ` (also called ${found.alias})` : "";
  return make("li", {}, make("a", { href: href(found.id) }, `${found.icon ?? ""} ${found.title}`.trim()), as);
}

function said(found) {
  const around = make("p", {}, found.before, make("mark", {}, found.words), found.after);
  return make("li", { class: "card" }, make("a", { href: href(found.id) }, found.title), around);
}

async function show(text) {
  const { called, saying } = await get("search", { q: text });
  const none = make("p", {}, text ? `No page has “${text}” in its name or text.` : "Enter a search above.");
  place.replaceChildren(
    ...(called.length ? [make("h2", {}, "By name"), make("ul", {}, called.map(named))] : []),
    ...(saying.length ? [make("h2", {}, "By text"), make("ul", { class: "list" }, saying.map(said))] : []),
    ...(called.length || saying.length ? [] : [none]),
  );
}

/** Show what the address asks for, then what is typed. */
export function start() {
  const field = document.getElementById("q");
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  let waiting = null;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => trying(() => show(field.value.trim())), 200);
  });
  return trying(() => show(field.value.trim()));
}
