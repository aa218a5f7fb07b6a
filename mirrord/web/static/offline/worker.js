/**
 * Keeps the pages of one tenant that were asked for, for reading without a connection. The server is always asked first;
 * what it does not answer comes from the cache. Nothing else is kept: no lists, no searches, no files, no changes.
 * The console's own files in addresses with their digest never change: what is kept of them is not asked for again.
 */
const NAME = `mirrord.pages.${new URL(self.registration.scope).pathname}`;
const MAX_KEPT = 600; // answers: of each page two, and what goes with them
const MAX_FILES = 400; // of the console's own, of several versions of it
const QUIET_MS = 1000; // without a request, before what was answered is kept: the window has the processor first
const MAX_VIEW_MS = 10_000; // that a view may take to come: others are kept after it
const MAX_WAITING_MS = 10_000; // of an answer, until it is kept in any case
const ID = "[0-9a-f-]{36}";
const STATIC = /^\/static\//;
const FIXED = /^\/static\/[0-9a-f]{16}\//;
const PAGE = new RegExp(`^(/t/[^/]+)/api/pages/(${ID})$`);
const ABOVE = /\/above$/;
const OWN = new RegExp(`^/t/[^/]+/(p/${ID})?$|^/t/[^/]+/api/(tree|pages/${ID}(/above|/backlinks)?)$`);

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin) return;
  if (FIXED.test(address.pathname)) event.respondWith(keptFirst(event, address.href));
  else if (STATIC.test(address.pathname) || OWN.test(address.pathname)) event.respondWith(serverFirst(event, keyOf(address)));
});

/** Where an answer is kept: `known` says only which texts the window has already. */
function keyOf(address) {
  address.searchParams.delete("known");
  address.hash = "";
  return address.href;
}

async function keptFirst(event, key) {
  const kept = await caches.open(NAME).then((cache) => cache.match(key)).catch(() => null); // a browser may refuse to keep
  return kept ?? serverFirst(event, key);
}

async function serverFirst(event, key) {
  const begun = period;
  try {
    const response = await fetch(event.request);
    const copy = response.clone();
    event.waitUntil(untilQuiet().then(() => track(inTurn(() => begun === period && keep(event.request, key, copy)))));
    return response;
  } catch (error) {
    const kept = await keptAnswer(await caches.open(NAME), key);
    if (kept) return kept;
    throw error;
  }
}

/** What is kept of an answer. What is above a page came with the page, if a link led to it. */
async function keptAnswer(cache, key) {
  const kept = await cache.match(key);
  if (kept || !ABOVE.test(key)) return kept;
  const page = await cache.match(key.replace(ABOVE, ""));
  return page && Response.json((await page.json()).above ?? []);
}

let asked = 0; // when something was asked for last, in ms
let quiet = null; // resolves once nothing was asked for a while

/** Wait until the window has what it asks for: it has the processor first. */
function untilQuiet() {
  asked = Date.now();
  quiet ??= rest().finally(() => (quiet = null));
  return quiet;
}

async function rest() {
  const end = Date.now() + MAX_WAITING_MS;
  for (let left = QUIET_MS; left > 0; left = Math.min(asked + QUIET_MS, end) - Date.now()) await new Promise((done) => setTimeout(done, left));
}

let period = 0; // from one sign-out to the next: what was asked for before one is not kept after it
const running = new Set(); // promises of what is being kept

let turn = Promise.resolve();

/** One answer is kept after the other: none is pushed out as the oldest while it becomes the newest. */
const inTurn = (work) => (turn = turn.then(work).catch(() => null));

function track(work) {
  const tracked = work.catch(() => null).finally(() => running.delete(tracked));
  running.add(tracked);
  return tracked;
}

/** A person signs out: from the answer on nothing more is kept of what was asked for before. */
self.addEventListener("message", (event) => {
  period += 1;
  lately.clear();
  event.waitUntil(Promise.all(running).then(() => event.ports[0]?.postMessage(null)));
});

async function keep(request, key, response) {
  if (response.redirected || response.status === 401) return forgetAll(); // signed out elsewhere: nothing stays
  if (response.status === 404) return (await caches.open(NAME)).delete(key);
  const isWhole = !new URL(request.url).searchParams.get("known");
  const isOther = FIXED.test(new URL(key).pathname) && !response.headers.get("Cache-Control").includes("immutable"); // of another version
  if (response.status !== 200 || !isWhole || isOther) return null;
  lately.add(key);
  const cache = await caches.open(NAME);
  await cache.put(key, response);
  await keepView(cache, key);
  return forgetOldest(cache);
}

const lately = new Set(); // addresses of what was kept since the worker began

/** A link shows a page without asking for its view, with which a window without a connection begins: both age together. */
async function keepView(cache, key) {
  const [, tenant, id] = PAGE.exec(new URL(key).pathname) ?? [];
  const view = id && new URL(`${tenant}/p/${id}`, key).href;
  if (!view) return;
  const kept = lately.has(view) ? await cache.match(view) : null; // it may have been pushed out
  if (kept) return cache.put(view, kept); // as the newest
  const begun = period;
  const response = await fetch(view, { signal: AbortSignal.timeout(MAX_VIEW_MS) });
  if (begun === period) await keep(new Request(view), view, response);
}

function forgetAll() {
  lately.clear();
  return caches.delete(NAME);
}

/** Pages never push out the files that show them. */
async function forgetOldest(cache) {
  const keys = await cache.keys();
  const isFile = ({ url }) => STATIC.test(new URL(url).pathname);
  const [files, answers] = [keys.filter(isFile), keys.filter((key) => !isFile(key))];
  const oldest = [...beyond(files, MAX_FILES), ...beyond(answers, MAX_KEPT)];
  await Promise.all(oldest.map((key) => cache.delete(key)));
}

const beyond = (keys, most) => keys.slice(0, Math.max(0, keys.length - most));
