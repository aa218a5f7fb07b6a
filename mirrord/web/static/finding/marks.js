/** Texts with the words that were searched for, from parts [text, is a word]. */
import { make } from "../elements/dom.js";
import { tenant } from "../server/api.js";

export const marked = (parts) => parts.map(([text, isWord]) => (isWord ? make("mark", {}, text) : text));

export const plain = (parts) => parts.map(([text]) => text).join("");

/** The search for these words. */
export const hrefOfWords = (words) => `/t/${tenant}/search?q=${encodeURIComponent(words)}`;
