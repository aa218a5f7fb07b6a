/** A document as a person reads it, from its JSON: text is always text, and what has no form here is shown as written. */
import { make } from "./dom.js";

const MARKS = { bold: "strong", italic: "em", strike: "s", code: "code", highlight: "mark", link: "u" };
const TAGS = {
  paragraph: "p", bulletList: "ul", orderedList: "ol", listItem: "li", taskList: "ul", blockquote: "blockquote",
  details: "section", detailsSummary: "p", detailsContent: "div", footnoteDef: "section", tableRow: "tr", tableHeader: "th", tableCell: "td",
};

function inline(node) {
  const marks = node.marks ?? [];
  return marks.reduce((shown, mark) => make(MARKS[mark.type] ?? "span", {}, shown), node.text ?? "");
}

function task(node) {
  const box = make("input", { type: "checkbox", disabled: true, checked: Boolean(node.attrs?.checked), "aria-label": "Task" });
  return make("li", { class: "task" }, box, make("div", {}, children(node)));
}

function callout(node) {
  const title = node.attrs?.title || `${node.attrs?.type ?? ""}`.replace(/^./, (letter) => letter.toUpperCase());
  return make("blockquote", {}, make("p", {}, make("strong", {}, title)), children(node));
}

/** A formula, as written until the program that draws formulas is read, and where it cannot be drawn. */
function formula(node) {
  const latex = String(node.attrs?.latex ?? "");
  const isBlock = node.type === "mathBlock";
  const asWritten = () => make("code", {}, latex);
  const place = make(isBlock ? "div" : "span", { class: "math" }, asWritten());
  const drawing = import("../built/formulas.js").then(({ draw }) => draw(latex, place, isBlock || Boolean(node.attrs?.display)));
  drawing.catch(() => place.replaceChildren(asWritten()));
  return place;
}

const children = (node) => (node.content ?? []).map(block);
const written = (node) => node.attrs?.raw ?? node.attrs?.alias ?? node.attrs?.target ?? node.attrs?.label ?? node.attrs?.alt ?? "";

function block(node) {
  switch (node.type) {
    case "text": return inline(node);
    case "hardBreak": return make("br");
    case "horizontalRule": return make("hr");
    case "heading": return make(`h${Math.min(6, (node.attrs?.level ?? 1) + 2)}`, {}, children(node));
    case "codeBlock": return make("pre", {}, children(node));
    case "taskItem": return task(node);
    case "callout": return callout(node);
    case "table": return make("div", { class: "table" }, make("table", {}, make("tbody", {}, children(node))));
    case "wikilink": return make("u", {}, written(node));
    case "mathBlock": case "mathInline": return formula(node);
    case "rawBlock": return make("pre", {}, written(node));
    default: return TAGS[node.type] ? make(TAGS[node.type], {}, children(node)) : make("code", {}, written(node), children(node));
  }
}

/** A document as elements. */
export const renderedOf = (doc) => (doc?.content ?? []).map(block);

/** Two documents side by side, each with its title; null: there is none. */
export function renderedPair(titles, documents, nothing) {
  const column = (title, doc) => make("div", {}, make("h4", {}, title), make("div", { class: "rendered", tabindex: "0", "aria-label": title, role: "group" }, doc?.content?.length ? renderedOf(doc) : nothing));
  return make("div", { class: "columns" }, titles.map((title, at) => column(title, documents[at])));
}
