/** Requests to the console's own server. */
import { COMMON } from "../words.js";

export const tenant = document.body.dataset.tenant ?? "";
const mark = document.querySelector('meta[name="csrf"]')?.content ?? "";

/** Whether the person may only read in this tenant; the server refuses changes in any case. */
export const isReader = document.body.dataset.role === "reader";

/** An answer that is not what was asked for; `status` 0: no answer came. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.sentence ?? COMMON.noAnswer);
    this.status = status;
    this.body = body ?? {};
  }
}

/** Where something of this tenant is asked for. */
export function address(path, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined));
  return `/t/${tenant}/api/${path}${asked.size ? `?${asked}` : ""}`;
}

/** Where a page is shown. */
export const href = (page) => `/t/${tenant}/p/${page}`;

/** What a GET answers; nothing comes after it once `signal` has ended what asked for it. */
export const getFor = (signal) => async (path, query) => {
  const answer = await get(path, query);
  return signal.aborted ? new Promise(() => {}) : answer;
};

/** What a GET answers. */
export const get = (path, query) => send("GET", address(path, query));

/** What a change answers; body: JSON, or a form with files. */
export const change = (method, path, body = {}) => send(method, address(path), body);

const MAX_KEEPALIVE = 60_000; // characters; browsers refuse more in requests of windows that are closed
let isLeaving = false;
window.addEventListener("pagehide", () => (isLeaving = true));
window.addEventListener("pageshow", () => (isLeaving = false));

/** As above, for an address outside the tenant. Who is not signed in any more goes to do so. */
export async function send(method, where, body) {
  try {
    return await request(method, where, body);
  } catch (error) {
    if (error.status === 401) location.assign("/sign-in");
    throw error;
  }
}

/** As send(), but the window stays where it is. */
export async function request(method, where, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = mark;
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  const sent = isForm ? body : body && JSON.stringify(body);
  const keepalive = isLeaving && typeof sent === "string" && sent.length < MAX_KEEPALIVE;
  let answer;
  try {
    answer = await fetch(where, { method, headers, body: sent, keepalive });
  } catch {
    throw new Refusal(0);
  }
  const found = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(answer.status, found);
  return found;
}
