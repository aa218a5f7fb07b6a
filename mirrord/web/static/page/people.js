/** Who else is on this page: their initials beside the title, and their names where they are pointed at. */
import { make } from "../elements/dom.js";
import { PEOPLE } from "../words.js";

const MAX_SHOWN = 3;

const firstOf = (word) => Array.from(word)[0].toLocaleUpperCase();

/** One or two letters for a name, or for the part of an address before its host. */
function initialsOf(name) {
  const words = name.split(/@/u)[0].split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  if (!words.length) return PEOPLE.noInitials;
  return words.length === 1 ? firstOf(words[0]) : firstOf(words[0]) + firstOf(words.at(-1));
}

const badge = (letters, names) =>
  make("li", { title: names.join("\n") }, make("span", { "aria-hidden": "true" }, letters), make("span", { class: "unseen" }, names.join(", ")));

function show({ page, people, more }) {
  const place = document.getElementById("people");
  if (!place || (page !== null && page !== place.dataset.page)) return; // told of the page before
  const names = people.map((name) => name || PEOPLE.unnamed);
  const [shown, others] = [names.slice(0, MAX_SHOWN), names.slice(MAX_SHOWN)];
  if (more) others.push(PEOPLE.more(more));
  const rest = others.length ? [badge(PEOPLE.further(names.length - shown.length + more), others)] : [];
  place.replaceChildren(...shown.map((name) => badge(initialsOf(name), [name])), ...rest);
  place.hidden = !names.length;
}

/** Show who comes and goes; without a stream it is not known. */
export function followPeople() {
  window.addEventListener("live:people", ({ detail }) => show(detail));
  window.addEventListener("live:lost", () => show({ page: null, people: [], more: 0 }));
}
