/** The versions of a page, what each changed, and back to one. */
import { change, get, href } from "../server/api.js";
import { differenceOf } from "../elements/difference.js";
import { actor, button, confirmed, make, moment, tell, trying } from "../elements/dom.js";

const place = document.getElementById("content");
const { page } = document.querySelector("main").dataset;
let versions = [];

async function show(version) {
  const at = versions.findIndex((one) => one.version === version);
  const older = versions.slice(at + 1);
  const before = older.find((one) => one.has_text)?.version ?? 0;
  const shown = make("section", { id: "shown", tabindex: "-1", "aria-label": `Version ${version}` });
  const { hunks } = await get(`pages/${page}/diff`, { before, after: version });
  const one = versions[at];
  const back = button("Restore this version", () => trying(() => restore(version)), { class: "main" });
  const head = `Version ${version}, ${moment(one.at)}, by ${actor(one.by)}`;
  const isFirst = before === 0 && older.some((one) => one.text_removed);
  const note = isFirst ? make("p", {}, "The texts of the versions before were removed; the whole text is shown.") : "";
  shown.append(make("h2", {}, head), at === 0 ? "" : back, note, ...differenceOf(hunks));
  document.getElementById("shown").replaceWith(shown);
  shown.focus();
}

async function restore(version) {
  if (!(await confirmed(`Restore the text of version ${version}? This creates a new version.`, "Restore"))) return;
  await change("POST", `pages/${page}/restore`, { version: versions[0].version, then: version });
  tell("Restored.");
  location.assign(href(page));
}

function drawn(one) {
  const what = one.changed.join(", ") || "form";
  const end = one.text_removed ? " · text removed" : "";
  const label = `${one.version} · ${what} · ${actor(one.by)} · ${moment(one.at)}${end}`;
  return make("li", {}, one.has_text ? button(label, () => trying(() => show(one.version)), { class: "plain" }) : label);
}

/** Show the versions and what the newest changed. */
export const start = () =>
  trying(async () => {
    versions = await get(`pages/${page}/history`);
    place.replaceChildren(
      make("p", {}, make("a", { href: href(page) }, "Back to the page")),
      make("div", { class: "split" }, make("ol", { class: "list", reversed: true }, versions.map(drawn)), make("section", { id: "shown" })),
    );
    const newest = versions.find((one) => one.has_text);
    if (newest) await show(newest.version);
  });
