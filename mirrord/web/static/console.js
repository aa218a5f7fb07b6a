/** The console: what every page of it does, and the view that it shows. */
import { ask, many } from "./elements/dom.js";
import { start as startSwitcher } from "./finding/switcher.js";
import { listenToLinks, startView } from "./navigation/navigation.js";
import { endOffline, forgetOffline, readOffline } from "./offline/offline.js";
import { countDrafts, forgetAll } from "./page/drafts.js";
import { followPeople } from "./page/people.js";
import { forgetTitles } from "./page/stars.js";
import { send, tenant } from "./server/api.js";
import { listen } from "./server/live.js";
import { COMMON, SIGN_OUT } from "./words.js";

document.addEventListener("click", async (event) => {
  if (!event.target.closest?.("#sign-out")) return;
  const count = await countDrafts().catch(() => 0);
  const choices = [["keep", SIGN_OUT.keep], ["forget", SIGN_OUT.forget]];
  const answer = count ? await ask(SIGN_OUT.question(many(count, COMMON.page)), { choices }) : "keep";
  if (answer === null) return;
  if (answer === "forget") await forgetAll();
  await forgetOffline();
  forgetTitles();
  const { href } = await send("POST", "/sign-out", {});
  await endOffline();
  location.assign(href);
});

const fold = document.getElementById("fold");
fold?.addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("folded") === false;
  fold.setAttribute("aria-expanded", String(isOpen));
});
const isNarrow = () => matchMedia("(max-width: 50rem)").matches;
if (fold && isNarrow()) fold.click();
const markView = () => {
  for (const link of document.querySelectorAll(".bar nav a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
};
markView();
window.addEventListener("view:shown", () => {
  markView();
  document.getElementById("view-links")?.hidePopover();
  if (isNarrow() && !document.body.classList.contains("folded")) fold.click();
});

window.addEventListener("live:attention", ({ detail }) => {
  const waiting = detail.conflicts + detail.halts + detail.problems + detail.approvals;
  for (const count of document.querySelectorAll(".bar .count")) {
    count.textContent = String(waiting);
    count.hidden = waiting === 0;
  }
});

const starting = [startView()];
if (tenant) {
  const { start } = await import("./tree/tree.js");
  starting.push(start());
  startSwitcher();
  followPeople();
  listen();
  listenToLinks();
  void readOffline();
}
await Promise.all(starting);
document.body.dataset.ready = "yes";
