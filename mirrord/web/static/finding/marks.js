/** Texts with the words that were searched for, from parts [text, is a word]. */
import { make } from "../elements/dom.js";

export const marked = (parts) => parts.map(([text, isWord]) => (isWord ? make("mark", {}, text) : text));

export const plain = (parts) => parts.map(([text]) => text).join("");
