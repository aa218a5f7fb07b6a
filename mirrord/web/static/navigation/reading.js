/** The part of a view that is exchanged, as the server renders it. */

/**
 * The view at `address` as {main, title}; rejects where it is none of this tenant's.
 *
 * XMLHttpRequest parses it: a string of HTML would need a policy of Trusted Types, and here nothing makes one.
 */
export function reading(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.setRequestHeader("X-Part", "main");
    request.onload = () => (request.status === 200 && isSame(request, address) ? resolve(partOf(request.response)) : reject(new Error(address)));
    request.onerror = () => reject(new Error(address));
    request.send();
  });
}

const partOf = (page) => ({ main: page.getElementById("main"), title: page.title });
const isSame = (request, address) => new URL(request.responseURL).pathname === new URL(address, location.href).pathname;
