/** What a person is told about the pages that link to a page which gets another name or place. */
import { get } from "../server/api.js";
import { LINKING } from "../words.js";

/** Before a page gets another name or place; "": no other page links to it or below it, or that is not known. */
export async function linkingNote(page) {
  const { pages, follow } = await get(`pages/${page}/linking`).catch(() => ({ pages: 0 }));
  if (!pages) return "";
  return follow ? LINKING.follow(pages) : LINKING.stay(pages);
}
