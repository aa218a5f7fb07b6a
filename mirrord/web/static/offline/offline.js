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

/** Remove what the browser keeps of all tenants. */
export async function forgetOffline() {
  const registrations = (await navigator.serviceWorker?.getRegistrations().catch(() => [])) ?? [];
  await Promise.all(registrations.map((one) => one.unregister()));
  const names = (await globalThis.caches?.keys().catch(() => [])) ?? [];
  await Promise.all(names.filter((name) => name.startsWith(CACHES)).map((name) => caches.delete(name)));
}
