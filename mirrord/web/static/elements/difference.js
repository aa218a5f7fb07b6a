/** What changed from one text to another, line by line, the words that changed marked. */
import { DIFFERENCE } from "../words.js";
import { make } from "./dom.js";

const CLASSES = { "+": "added", "-": "removed", " ": "same" };
const NAMES = { "+": DIFFERENCE.added, "-": DIFFERENCE.removed, " ": "" };

function line({ mark, pieces }) {
  const text = pieces.map((piece) => (piece.changed ? make("b", {}, piece.text) : piece.text));
  const name = make("span", { class: "hidden" }, NAMES[mark]);
  return make("div", { class: CLASSES[mark] }, make("span", { "aria-hidden": "true" }, mark), make("span", {}, name, text));
}

/** The hunks of a difference, as elements. */
export function differenceOf(hunks) {
  if (!hunks.length) return [make("p", {}, DIFFERENCE.same)];
  return hunks.map((hunk) => make("div", { class: "difference" }, hunk.map(line)));
}
