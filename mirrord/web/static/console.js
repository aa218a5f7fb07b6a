/** The console: what every page of it does, and the one it is. */
import { send, tenant } from "./server/api.js";
import { ask, many } from "./elements/dom.js";
import { countDrafts, forgetAll } from "./page/drafts.js";
import { listen } from "./server/live.js";

const VIEWS = new Set(["history", "search", "trash", "attention", "review", "status", "tenants"]);

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
  const started = tenant ? [import("./tree/tree.js")] : [];
  if (view === "page") started.push(import("./page/page.js"));
  else if (VIEWS.has(view)) started.push(import(`./views/${view}.js`));
  const starting = (await Promise.all(started)).map((module) => module.start());
  if (tenant) listen();
  await Promise.all(starting);
  document.body.dataset.ready = "yes";
}
