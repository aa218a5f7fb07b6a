/** Where a page is, and the pages inside it. */
import { make } from "../elements/dom.js";
import { get, href, tenant } from "../server/api.js";
import { entriesAbove } from "../tree/above.js";
import { PAGE } from "../words.js";
import { part, shown } from "./shown.js";

const lineOf = (node) => make("li", {}, make("a", { href: href(node.id) }, make("span", { class: "icon", "aria-hidden": "true" }, node.icon || (node.kind === "folder" ? "▤" : "•")), " ", node.title));

/** List the pages inside; in a folder that has none, say so. */
export async function showInside() {
  const { id, signal } = shown;
  const [{ nodes }, above] = await Promise.all([get("tree", { parent: id }), entriesAbove(id)]);
  if (id !== shown.id || signal.aborted) return; // another view is shown by now
  const isFolder = shown.page?.kind === "folder";
  const empty = isFolder ? [make("li", { class: "hint" }, PAGE.emptyFolder)] : [];
  part("inside").replaceChildren(...(nodes.length ? nodes.map(lineOf) : empty));
  part("inside").parentElement.hidden = !nodes.length && !isFolder;
  if (above.length) showPath(above.slice(0, -1));
}

function showPath(above) {
  const home = { href: `/t/${tenant}/`, title: tenant };
  const steps = [home, ...above.map((node) => ({ href: href(node.id), title: node.title }))];
  part("crumbs").replaceChildren(...steps.map((step) => make("li", {}, make("a", { href: step.href }, step.title))));
}
