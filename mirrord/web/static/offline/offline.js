/** Reading without a connection: a worker keeps the pages that were opened, in this browser, until a person signs out. */
import { tenant } from "../server/api.js";

const CACHES = "mirrord.pages.";

/** Let the worker keep what is opened from now on. */
export async function readOffline() {
  if (!("serviceWorker" in navigator)) return;
  const address = `/t/${tenant}/worker.js`;
  const policy = window.trustedTypes?.createPolicy("mirrord-worker", { createScriptURL: () => address }); // this address only
  await navigator.serviceWorker.register(policy?.createScriptURL("") ?? address, { scope: `/t/${tenant}/` }).catch(() => null);
}

const MAX_ANSWERING_MS = 2000; // that a worker may take to stop keeping what it has asked for

/** Resolves when a worker keeps nothing more of what was asked for until now. */
const stopped = (worker) =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    setTimeout(resolve, MAX_ANSWERING_MS);
    worker.postMessage("forget", [port2]);
  });

const registered = async () => (await navigator.serviceWorker?.getRegistrations().catch(() => [])) ?? [];

/** Remove what the browser keeps of all tenants. */
export async function forgetOffline() {
  const workers = (await registered()).flatMap(({ active }) => active ?? []);
  await Promise.all(workers.map(stopped));
  const names = (await globalThis.caches?.keys().catch(() => [])) ?? [];
  await Promise.all(names.filter((name) => name.startsWith(CACHES)).map((name) => caches.delete(name)));
}

/** The same once a person is signed out, for what was read meanwhile; and no worker is left. */
export async function endOffline() {
  await forgetOffline();
  await Promise.all((await registered()).map((one) => one.unregister()));
}
