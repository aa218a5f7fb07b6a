/** What a person is told about the pages that link to a page which gets another name or place, or is deleted. */
import { make } from "../elements/dom.js";
import { get } from "../server/api.js";
import { LINKING } from "../words.js";

/** Before a page gets another name or place; "": no other page links to it or below it, or that is not known. */
export async function linkingNote(page) {
  const { pages, follow } = await get(`pages/${page}/linking`).catch(() => ({ pages: 0 }));
  if (!pages) return "";
  return follow ? LINKING.follow(pages) : LINKING.stay(pages);
}

/** Before a page is deleted: that there is a way back, and once it is known what goes with it and which links end. */
export function deletionNote(page) {
  const note = make("p", { class: "hint", role: "status" }, LINKING.restorable);
  const tell = ({ pages, below }) => {
    const known = [below && LINKING.inside(below), pages && LINKING.dead(pages), LINKING.restorable];
    note.textContent = known.filter(Boolean).join(" ");
  };
  const fail = () => (note.textContent = `${LINKING.insideUnknown} ${LINKING.restorable}`);
  void get(`pages/${page}/linking`).then(tell, fail);
  return note;
}
