/** Sharing a page: a link that expires, a public name, and the list of both with their end. */
import { button, dialogOf, hint, make, moment, trying } from "../elements/dom.js";
import { change, get } from "../server/api.js";
import { COMMON, SHARING } from "../words.js";

const DAYS = [1, 7, 30, 90, 365];

/** Show how a page is shared, and let the person share it or end that. */
export function openSharing(page) {
  const list = make("ul", { class: "shares" });
  const outcome = make("div", { role: "status" });
  const acting = (work) => work().catch((error) => outcome.replaceChildren(make("p", { class: "problem" }, error.message)));
  const showShares = async () => {
    const { shares } = await get(`pages/${page.id}/shares`);
    const rows = shares.map((share) => rowOf(share, () => acting(async () => {
      await change("DELETE", `shares/${share.id}`);
      outcome.replaceChildren(hint(SHARING.revoked));
      await showShares();
    })));
    list.replaceChildren(...(rows.length ? rows : [make("li", { class: "hint" }, SHARING.none)]));
  };
  void trying(showShares);
  return dialogOf(SHARING.title(page.title), () => {
    const form = formOf(page);
    const share = () => acting(async () => {
      outcome.replaceChildren(...addressOf(await change("POST", `pages/${page.id}/shares`, form.wanted())));
      await showShares();
    });
    const buttons = [make("button", { type: "submit", class: "main" }, SHARING.make)];
    return { parts: [...form.parts, outcome, make("h3", {}, SHARING.shared), list], buttons, submit: share, ends: COMMON.close };
  });
}

/** The fields of a new share; `wanted()` is what the person chose. Only operators are offered to publish. */
function formOf(page) {
  const days = make("select", { "aria-label": SHARING.validFor }, DAYS.map((count) => make("option", { value: count, selected: count === 7 }, SHARING.days(count))));
  const inside = make("input", { type: "checkbox", checked: page.kind === "folder" });
  const isPublished = make("input", { type: "checkbox" });
  const name = make("input", { "aria-label": SHARING.name, placeholder: SHARING.name, maxlength: "40", autocomplete: "off" });
  const indexed = make("input", { type: "checkbox" });
  const published = make("div", { hidden: true }, name, make("label", {}, indexed, ` ${SHARING.indexed}`));
  const validity = make("label", {}, `${SHARING.validFor} `, days);
  isPublished.addEventListener("change", () => {
    published.hidden = !isPublished.checked;
    validity.hidden = isPublished.checked;
  });
  const mayPublish = document.getElementById("share").dataset.publishes === "yes";
  const publishing = make("label", { hidden: !mayPublish }, isPublished, ` ${SHARING.publish}`);
  const options = make("div", { class: "share-options" }, make("label", {}, inside, ` ${SHARING.inside}`), validity, publishing, published);
  const wanted = () => ({
    inside: inside.checked,
    days: isPublished.checked ? null : Number(days.value),
    name: isPublished.checked ? name.value.trim() : null,
    indexed: isPublished.checked && indexed.checked,
  });
  return { parts: [hint(SHARING.about), options], wanted };
}

function addressOf({ href, name }) {
  const field = make("input", { readonly: true, "aria-label": SHARING.address, value: new URL(href, location.href).href });
  const copied = make("span", { class: "hint" });
  const copy = () => trying(async () => {
    field.select();
    await navigator.clipboard.writeText(field.value);
    copied.textContent = SHARING.copied;
  });
  return [make("div", { class: "share-address" }, field, button(SHARING.copy, copy), copied), name ? "" : hint(SHARING.onlyNow)];
}

function rowOf(share, end) {
  const what = share.name ? make("a", { href: `/s/${share.name}` }, `/s/${share.name}`) : SHARING.linkUntil(moment(share.until));
  return make("li", {}, what, make("span", { class: "hint" }, ` ${SHARING.by(share.by, share.inside)} `), button(SHARING.revoke, end));
}
