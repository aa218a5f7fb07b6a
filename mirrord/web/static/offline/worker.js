/**
 * Keeps the pages of one tenant that were opened, for reading without a connection. The server is always asked first;
 * what it does not answer comes from the cache. Nothing else is kept: no lists, no searches, no files, no changes.
 */
const NAME = `mirrord.pages.${new URL(self.registration.scope).pathname}`;
const MAX_KEPT = 600; // answers: of each page two, and the console's own files
const ID = "[0-9a-f-]{36}";
const OWN = new RegExp(`^/static/|^/t/[^/]+/(p/${ID})?$|^/t/[^/]+/api/(tree|pages/${ID}(/above|/backlinks)?)$`);

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin || !OWN.test(address.pathname)) return;
  event.respondWith(answer(event, keyOf(address)));
});

/** Where an answer is kept: `known` says only which texts the window has already. */
function keyOf(address) {
  address.searchParams.delete("known");
  address.hash = "";
  return address.href;
}

async function answer(event, key) {
  try {
    const response = await fetch(event.request);
    event.waitUntil(keep(event.request, key, response.clone()));
    return response;
  } catch (error) {
    const kept = await (await caches.open(NAME)).match(key);
    if (kept) return kept;
    throw error;
  }
}

async function keep(request, key, response) {
  if (response.redirected || response.status === 401) return caches.delete(NAME); // signed out elsewhere: nothing stays
  if (response.status === 404) return (await caches.open(NAME)).delete(key);
  const isWhole = !new URL(request.url).searchParams.get("known");
  if (response.status !== 200 || !isWhole) return null;
  const cache = await caches.open(NAME);
  await cache.put(key, response);
  return forgetOldest(cache);
}

async function forgetOldest(cache) {
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_KEPT)).map((key) => cache.delete(key)));
}
