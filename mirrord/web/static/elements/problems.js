/** A problem of a file: what it is, what helps, and the page. */
import { href } from "../server/api.js";
import { ATTENTION } from "../words.js";
import { make } from "./dom.js";

export const problemCard = ({ path, sentence, remedy, page }) =>
  make("li", { class: "card" },
    make("h3", {}, path || ATTENTION.everything),
    make("p", {}, sentence),
    remedy ? make("p", {}, remedy) : null,
    page ? make("div", { class: "tools" }, make("a", { href: href(page) }, ATTENTION.thePage)) : null);
