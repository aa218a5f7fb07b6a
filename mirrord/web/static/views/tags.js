/** All tags, or the pages that have one. */
import { hint, make, many, trying } from "../elements/dom.js";
import { hrefOfWords } from "../finding/marks.js";
import { getFor, tenant } from "../server/api.js";
import { COMMON, SEARCH, TAGS } from "../words.js";

const hrefOf = (tag) => `/t/${tenant}/tags?${new URLSearchParams({ tag })}`;
const cloud = (tags) => make("ul", { class: "tag-list" }, tags.map(({ tag, pages }) => make("li", {}, make("a", { class: "tag", href: hrefOf(tag) }, `#${tag}`), make("span", { class: "hint" }, many(pages, COMMON.page)))));
const list = (pages) => make("ul", { class: "changes" }, pages.map((page) => make("li", {}, make("a", { href: page.href }, `${page.icon ?? ""} ${page.title}`.trim()), make("span", { class: "hint" }, page.path))));

/** Show what the address asks for. */
export async function start(signal) {
  const place = document.getElementById("content");
  const tag = new URLSearchParams(location.search).get("tag");
  await trying(async () => {
    const answer = await getFor(signal)("tags", { tag });
    if (!tag) return place.replaceChildren(hint(TAGS.about), answer.length ? cloud(answer) : make("p", {}, TAGS.none));
    document.getElementById("tags-title").textContent = TAGS.title(tag);
    const pages = answer.length ? list(answer) : make("p", {}, TAGS.noPages);
    const all = make("p", {}, make("a", { href: `/t/${tenant}/tags` }, TAGS.all));
    return place.replaceChildren(all, pages, make("p", { class: "hint" }, `${TAGS.about} `, make("a", { href: hrefOfWords(tag) }, SEARCH.inText(tag))));
  });
}
