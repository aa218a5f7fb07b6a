/** The console: what every page of it does, and the one it is. */
import { send, tenant } from "./api.js";
import { ask, many } from "./dom.js";
import { countDrafts, forgetAll } from "./drafts.js";
import { listen } from "./live.js";

const VIEWS = { page: "./page.js", history: "./history.js", search: "./search.js", trash: "./trash.js", attention: "./attention.js", review: "./review.js", status: "./status.js", tenants: "./tenants.js" };

document.getElementById("sign-out")?.addEventListener("click", async () => {
  const count = await countDrafts().catch(() => 0);
  const choices = [["keep", "Sign out, and keep it in this browser"], ["forget", "Sign out, and delete it"]];
  const answer = count ? await ask(`This browser has unsaved text of ${many(count, "page")}.`, { choices }) : "keep";
  if (answer === null) return;
  if (answer === "forget") await forgetAll();
  const { href } = await send("POST", "/sign-out", {});
  location.assign(href);
});

const fold = document.getElementById("fold");
fold?.addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("folded") === false;
  fold.setAttribute("aria-expanded", String(isOpen));
});
if (fold && matchMedia("(max-width: 50rem)").matches) fold.click();

window.addEventListener("live:attention", ({ detail }) => {
  const waiting = detail.conflicts + detail.halts + detail.problems + detail.approvals;
  const count = document.querySelector("#attention .count");
  count.textContent = String(waiting);
  count.hidden = waiting === 0;
});

const view = document.querySelector("[data-view]")?.dataset.view;
if (tenant || view) {
  const started = tenant ? [import("./tree.js")] : [];
  if (VIEWS[view]) started.push(import(VIEWS[view]));
  const starting = (await Promise.all(started)).map((module) => module.start());
  if (tenant) listen();
  await Promise.all(starting);
  document.body.dataset.ready = "yes";
}
