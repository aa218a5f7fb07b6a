/** Texts that closed windows left unsaved: those that were saved all the same are removed, the others are offered. */
import { change } from "../server/api.js";
import { button, make, moment, trying } from "../elements/dom.js";
import { PAGE } from "../words.js";
import { eachLeft } from "./drafts.js";

/** Whether the page has, or had since, the text of a draft. */
async function isSaved(draft) {
  const { view, version, text } = draft.stored;
  const { keptContent } = view === "editor" ? await import("../built/editor.js") : {};
  const content = keptContent?.(text);
  if (view === "editor" && content === null) return false; // a person has to choose between two versions
  const body = view === "editor" ? { version, content } : { version, markdown: text };
  return (await change("POST", `pages/${draft.page}/saved`, body)).saved;
}

/** Offer what is left of `page` in `place`; `goOn(draft)` continues with it. */
export function offerLeft(page, place, goOn, signal) {
  return eachLeft(page, async (draft) => {
    if (await isSaved(draft).catch(() => false)) await draft.forget();
    else offer(draft, place, goOn);
  }, signal);
}

/** Offer a draft. */
export function offer(draft, place, goOn) {
  const answer = (work) => () => (box.remove(), trying(work));
  const box = make(
    "div",
    { class: "clash", role: "alert" },
    make("p", {}, PAGE.unsaved(moment(draft.stored.at))),
    button(PAGE.continue, answer(() => goOn(draft)), { class: "main" }),
    button(PAGE.discard, answer(() => draft.forget())),
  );
  place.append(box);
}
