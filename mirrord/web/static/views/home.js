/** The first view of a tenant: starred pages, those opened last, and what others changed since a person looked. */
import { actor, make, moment, trying } from "../elements/dom.js";
import { lookedAt, rememberLook, titledStars, visited } from "../page/stars.js";
import { getFor, href } from "../server/api.js";
import { create, openDaily } from "../tree/actions.js";
import { HOME } from "../words.js";

const MAX_SHOWN = 12; // pages that were opened, and pages that were changed earlier

const link = (page) => make("a", { href: href(page.id) }, `${page.icon ?? ""} ${page.title}`.trim());
const section = (title, ...parts) => make("section", { "aria-label": title }, make("h2", {}, title), ...parts);
const listOf = (title, pages) => (pages.length ? section(title, make("ul", { class: "pages" }, pages.map((page) => make("li", {}, link(page))))) : null);

/** Where a page is, if its title does not say it. */
function placeOf({ title, path }) {
  const place = path.replace(/(\/_index)?\.md$/, "");
  return place === title ? null : make("span", { class: "place" }, place.replaceAll("/", " / "));
}

function changedLine(page) {
  const words = HOME.line(page.mine ? HOME.you : actor(page.by), moment(page.updated_at));
  return make("li", {}, make("span", {}, link(page), placeOf(page)), make("span", { class: "hint" }, words));
}

function changes(title, pages) {
  return pages.length ? section(title, make("ul", { class: "changes" }, pages.map(changedLine))) : null;
}

function draw(place, pages, stars) {
  const since = lookedAt();
  const isFresh = (page) => !page.mine && (!since || page.updated_at > since);
  const fresh = pages.filter(isFresh);
  const older = pages.filter((page) => !isFresh(page)).slice(0, MAX_SHOWN);
  const parts = [
    listOf(HOME.starred, stars),
    listOf(HOME.visited, visited().slice(0, MAX_SHOWN)),
    changes(HOME.changed, fresh) ?? make("p", { class: "hint" }, pages.length ? HOME.nothingChanged : HOME.empty),
    changes(HOME.changedBefore, older),
  ];
  place.replaceChildren(...parts.filter(Boolean));
  if (pages.length) rememberLook(pages[0].updated_at);
}

/** Show it once: what is new stays so while a person reads. */
export async function start(signal) {
  const place = document.getElementById("content");
  document.querySelector("[data-make=page]").addEventListener("click", () => create(null));
  document.querySelector("[data-make=daily]").addEventListener("click", () => trying(openDaily));
  const get = getFor(signal);
  await trying(async () => draw(place, ...(await Promise.all([get("recent"), titledStars(get)]))));
}
