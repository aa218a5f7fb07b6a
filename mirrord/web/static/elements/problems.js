/** A problem of a file: what it is, what helps, and the page. */
import { href } from "../server/api.js";
import { ATTENTION, REMEDIES } from "../words.js";
import { make } from "./dom.js";

/** A sentence about a page or tree without what it says of commands and of the file that pauses, for which there are buttons. */
export const withoutCommands = (sentence) =>
  sentence.split(/(?<=[.;]) /).filter((part) => !/`mirrord |\/PAUSE\.$/.test(part)).join(" ").replace(/;$/, ".");

export function problemCard({ path, code, sentence, remedy, page }) {
  const own = remedy && REMEDIES[code]; // a guest can do nothing about a stop
  const cure = own ?? remedy;
  const links = page ? [make("a", { href: href(page) }, ATTENTION.thePage), own ? make("a", { href: `${href(page)}/history` }, ATTENTION.history) : null] : [];
  return make("li", { class: "card" },
    make("h3", {}, path || ATTENTION.everything),
    make("p", {}, own ? withoutCommands(sentence) || sentence : sentence),
    cure ? make("p", {}, cure) : null,
    links.length ? make("div", { class: "tools" }, links) : null);
}
