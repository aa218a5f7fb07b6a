/** What a person does with the page that is shown, besides editing it: star, duplicate, move, rename, delete. */
import { discard, duplicate, moveElsewhere, rename, setIcon } from "../tree/actions.js";
import { PAGE } from "../words.js";
import { openSharing } from "./sharing.js";
import { part, shown } from "./shown.js";
import { isStarred, toggleStar } from "./stars.js";

/** Let the buttons above the page act. */
export function listenToActions() {
  const acts = {
    rename: () => rename(shown.id, shown.page.title),
    icon: () => setIcon(shown.id, shown.page.icon ?? ""),
    delete: () => discard(shown.id, shown.page.title),
    duplicate: () => duplicate(shown.id, shown.page.title),
    "move-to": () => moveElsewhere(shown.id, shown.page.title),
    share: () => openSharing(shown.page),
    star: () => showStar(toggleStar(shown.page)),
  };
  for (const [name, act] of Object.entries(acts)) part(name).addEventListener("click", () => shown.page && act());
}

function showStar(isOn) {
  part("star").setAttribute("aria-pressed", String(isOn));
  part("star").textContent = isOn ? PAGE.starred : PAGE.star;
}

/** Offer what can be done with the page as it is. */
export function showActions(page) {
  showStar(isStarred(page.id));
  const hasText = !page.deleted && page.kind !== "folder";
  for (const name of ["rename", "delete", "move-to", "share", "star"]) part(name).hidden = page.deleted;
  part("duplicate").hidden = !hasText;
  part("rename").disabled = Boolean(page.fault);
  part("icon").disabled = page.deleted || Boolean(page.fault);
}
