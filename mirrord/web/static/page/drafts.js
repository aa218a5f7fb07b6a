/** Text that is typed and not saved yet, stored by the browser: a crash or a restart loses nothing. */
import { tenant } from "../server/api.js";

const DATABASE = "mirrord";
const STORE = "drafts";
let opening = null;
let database = null;

/** Open the database; rejects where the browser allows none. */
async function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ["tenant", "page", "key"] });
    request.onsuccess = () => {
      database = request.result;
      database.onclose = () => (database = opening = null); // by the browser, such as when its data is cleared
      resolve(database);
    };
    request.onerror = () => reject(request.error);
  });
  try {
    return await opening;
  } catch (error) {
    opening = null; // the next text tries again
    throw error;
  }
}

/**
 * Make the request of `ask(store)`, and wait until the browser has carried it out on its disk. Chromium may tell that a
 * transaction is complete before it has read a large answer.
 */
async function run(mode, ask) {
  const transaction = (database ?? (await open())).transaction(STORE, mode, { durability: "strict" });
  const request = ask(transaction.objectStore(STORE));
  const answer = new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  transaction.commit(); // a window that is closed in this moment stores it all the same
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  return answer;
}

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const lockOf = (key) => `mirrord.draft.${key}`;
/** Until `signal` ends the view: then another one may go on with the draft. */
const untilEnd = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

/** The text of one editor of one window: two windows on a page have a draft each. stored: {view, version, text, at}, or null. */
export class Draft {
  /** stored: what a closed window left; null: a new draft, which is locked until `signal` ends its editor. */
  constructor(page, stored, signal) {
    this.page = page;
    this.stored = stored;
    this.key = stored?.key ?? newKey();
    if (!stored) void navigator.locks?.request(lockOf(this.key), () => untilEnd(signal));
  }

  /** Store `text`, made from `version`, or remove it where it is null. view: the editor. Rejects if that failed. */
  keep(view, version, text) {
    const { page, key } = this;
    this.stored = text === null ? null : { tenant, page, key, view, version, text, at: new Date().toISOString() };
    return run("readwrite", (store) => (text === null ? store.delete([tenant, page, key]) : store.put(this.stored)));
  }

  /** Remove it. */
  forget() {
    return this.keep(null, 0, null);
  }
}

/** Call `work(draft)` for each draft of a page that a closed window left, now or when that window is closed. */
export async function eachLeft(page, work, signal) {
  const stored = await run("readonly", (store) => store.getAll(IDBKeyRange.bound([tenant, page], [tenant, page, []])));
  for (const { key } of stored) {
    const look = async () => {
      const left = await run("readonly", (store) => store.get([tenant, page, key]));
      if (left && !signal.aborted) await work(new Draft(page, left, signal));
      if (left && !signal.aborted) await untilEnd(signal); // it is this window's now
    };
    if (navigator.locks) void navigator.locks.request(lockOf(key), look);
    else void look();
  }
}

/** The number of drafts in this browser. */
export const countDrafts = () => run("readonly", (store) => store.count());

/** Remove all drafts. */
export const forgetAll = () => run("readwrite", (store) => store.clear());
