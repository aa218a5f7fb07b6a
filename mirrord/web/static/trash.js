/** Deleted pages, the newest first. */
import { change, get, href } from "./api.js";
import { actor, button, make, moment, trying } from "./dom.js";

const place = document.getElementById("content");

function drawn(one) {
  const back = button("Restore", () => trying(async () => location.assign((await change("POST", `pages/${one.id}/revive`)).href)));
  const when = `deleted ${moment(one.deleted_at)} by ${actor(one.by)}`;
  return make("li", { class: "card" }, make("a", { href: href(one.id) }, `${one.icon ?? ""} ${one.title}`.trim()), make("p", {}, when), make("div", { class: "tools" }, back));
}

async function show() {
  const found = await get("trash");
  place.replaceChildren(found.length ? make("ul", { class: "list" }, found.map(drawn)) : make("p", {}, "The trash is empty."));
}

/** Show it, and again when something is deleted or comes back. */
export function start() {
  window.addEventListener("live:tree", () => trying(show));
  return trying(show);
}
