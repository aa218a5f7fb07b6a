/**
 * Asked for before it is needed: the page that a person points at or goes to, or another view. The view of a page is
 * made from the page; the first one comes from the server, and the page at the same time.
 */
import { address as addressOf, request } from "../server/api.js";
import { knowAbove } from "../tree/above.js";
import { isMakeable, viewOfPage } from "./page_view.js";
import { reading } from "./reading.js";

const MAX_AGE_MS = 5000; // of an answer that is used; what changed since is learned when the news of the view begin
const POINTED_MS = 80; // that a link is pointed at, before what it leads to is asked for
const PAGE = /^\/t\/[^/]+\/p\/([0-9a-f-]{36})$/;

let asked = null; // the last that was asked for: {address, at, id, view, page}; view and page until they are taken, or null

const isAsked = (where) => asked !== null && asked.address === where && Date.now() - asked.at < MAX_AGE_MS;

/** Ask for the view at `address`, unless that was done a moment ago. */
export function askAhead(where) {
  if (isAsked(where)) return;
  const id = PAGE.exec(new URL(where, location.href).pathname)?.[1] ?? null;
  const isShown = id === (document.querySelector("[data-page]")?.dataset.page ?? null); // and may be saved before it opens again
  const page = id && !isShown ? request("GET", addressOf(`pages/${id}`)) : null;
  asked = { address: where, at: Date.now(), id, view: page && isMakeable() ? null : reading(where), page };
  page?.catch(() => null); // it is asked for again
  asked.view?.catch(() => null); // this is told to who takes it
}

/** The view at `where`, {main, title}, which may have been asked for; rejects where it is none of this tenant's. */
export async function viewAt(where) {
  askAhead(where);
  const taken = asked;
  const { view, page } = taken;
  taken.view = null; // a document is put into the window once
  if (view) return view.finally(() => (asked = taken)); // another link may have been pointed at meanwhile
  const facts = isMakeable() ? await page?.catch(() => null) : null;
  if (!facts) return reading(where); // also where the page cannot be had: this view says why
  knowAbove(facts, taken.at);
  taken.at = Date.now(); // it may have been long on its way
  asked = taken;
  return viewOfPage(facts);
}

/** The page that was asked for with its view, once; null: there is none, or it did not come. */
export async function pageAhead(id) {
  if (asked?.id !== id || !isAsked(asked.address)) return null;
  const { page } = asked;
  asked.page = null;
  return (await page?.catch(() => null)) ?? null;
}

/** Ask for what links lead to while they are pointed at and pressed; `leads(event)` is the address, or null. */
export function listenToPointer(leads) {
  let pointed = null;
  document.addEventListener("pointerover", (event) => {
    clearTimeout(pointed);
    const isWanted = event.pointerType === "mouse" && !navigator.connection?.saveData;
    const where = isWanted ? leads(event) : null;
    if (where) pointed = setTimeout(() => askAhead(where), POINTED_MS);
  });
  document.addEventListener("pointerdown", (event) => {
    const where = leads(event);
    if (where) askAhead(where);
  });
}
