/** The title of a page, edited where it stands: Enter or a click elsewhere renames the page, Escape leaves it as it is. */
import { renamePage } from "../tree/actions.js";
import { isReader } from "../server/api.js";
import { PAGE } from "../words.js";
import { part, shown } from "./shown.js";

/** Let the title be edited while the page can be renamed. */
export function listenToTitle() {
  const title = part("title");
  title.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
    if (event.key === "Escape") title.textContent = shown.page.title;
    if (event.key === "Enter" || event.key === "Escape") title.blur();
  });
  title.addEventListener("blur", async () => {
    const wanted = title.textContent.replace(/\s+/g, " ").trim();
    if (wanted && wanted !== shown.page.title) await renamePage(shown.id, wanted);
    title.textContent = shown.page.title; // as it is: a rename is shown once it is news
  });
}

/** Show the title; what a person is typing stays. */
export function showTitle({ title, content, deleted, fault }) {
  const place = part("title");
  place.closest(".page-head").classList.toggle("titled-in-text", isHeadedBy(title, content));
  if (document.activeElement !== place) place.textContent = title;
  const canRename = !deleted && !fault && !isReader;
  for (const [name, value] of Object.entries({ contenteditable: "plaintext-only", role: "textbox", "aria-label": PAGE.titleField, spellcheck: "false" })) {
    if (canRename) place.setAttribute(name, value);
    else place.removeAttribute(name);
  }
}

/** Whether the text begins with its title as a heading: then that one is the large one. */
function isHeadedBy(title, content) {
  const first = content?.content?.[0];
  return first?.type === "heading" && first.attrs?.level === 1 && (first.content ?? []).map((node) => node.text ?? "").join("").trim() === title;
}
