/** Requests to the console's own server. */

export const tenant = document.body.dataset.tenant ?? "";
const mark = document.querySelector('meta[name="csrf"]')?.content ?? "";

/** An answer that is not what was asked for; `status` 0: no answer came. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.sentence ?? "The server does not answer; your text is kept in this browser.");
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

/** What a GET answers. */
export const get = (path, query) => send("GET", address(path, query));

/** What a change answers; body: JSON, or a form with files. */
export const change = (method, path, body = {}) => send(method, address(path), body);

/** As above, for an address outside the tenant. */
export async function send(method, where, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = mark;
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(where, { method, headers, body: isForm ? body : body && JSON.stringify(body) });
  } catch {
    throw new Refusal(0);
  }
  const found = await answer.json().catch(() => null);
  if (answer.status === 401) location.assign("/sign-in");
  if (!answer.ok) throw new Refusal(answer.status, found);
  return found;
}
