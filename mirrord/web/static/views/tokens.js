/** What agents have access by: an operator makes tokens, sees them all, and ends them. */
import { actor, button, confirmed, hint, make, moment, tell, trying } from "../elements/dom.js";
import { change, get } from "../server/api.js";
import { TOKENS } from "../words.js";

const SCOPES = ["read", "review", "write"];
const DAYS = [7, 30, 90, 365];

/** A section about access; null: the person may not, or the files are elsewhere. */
export async function access() {
  const found = await get("tokens").catch(orNull);
  if (!found) return null;
  const list = make("ul", { class: "list tokens" });
  const fresh = make("div", { role: "status" });
  const show = ({ tokens, programs }) => {
    const rows = [...tokens.map((one) => [one, TOKENS.token]), ...programs.map((one) => [one, TOKENS.program])];
    list.replaceChildren(...(rows.length ? rows.map(([one, kind]) => rowOf(one, kind, end)) : [make("li", { class: "hint" }, TOKENS.none)]));
  };
  const end = (one) =>
    trying(async () => {
      if (!(await confirmed(TOKENS.endsAtOnce(one.actor), TOKENS.end, "danger"))) return;
      await change("DELETE", `tokens/${one.id}`);
      tell(TOKENS.ended);
      show(await get("tokens"));
    });
  const issue = (wanted) =>
    trying(async () => {
      fresh.replaceChildren(...tokenOf(await change("POST", "tokens", wanted)));
      show(await get("tokens"));
    });
  show(found);
  return make("section", { "aria-label": TOKENS.title }, make("h2", {}, TOKENS.title), hint(TOKENS.about), formOf(issue), fresh, list);
}

const orNull = (error) => {
  if ([403, 404].includes(error.status)) return null;
  throw error;
};

function formOf(issue) {
  const name = make("input", { "aria-label": TOKENS.agent, placeholder: TOKENS.agent, maxlength: "60", required: true, autocomplete: "off" });
  const scope = make("select", { "aria-label": TOKENS.may }, SCOPES.map((one) => make("option", { value: one, selected: one === "review" }, TOKENS.scopes[one])));
  const days = make("select", { "aria-label": TOKENS.validFor }, DAYS.map((count) => make("option", { value: count, selected: count === 90 }, TOKENS.days(count))));
  const onsubmit = async (event) => {
    event.preventDefault();
    await issue({ actor: name.value, scope: scope.value, days: Number(days.value) });
    name.value = "";
  };
  return make("form", { class: "line", onsubmit }, name, scope, days, make("button", { type: "submit", class: "main" }, TOKENS.make));
}

function tokenOf({ token, actor: agent }) {
  const field = make("input", { readonly: true, "aria-label": TOKENS.of(agent), value: token });
  const copy = () => trying(async () => {
    field.select();
    await navigator.clipboard.writeText(token);
    tell(TOKENS.copied);
  });
  return [make("div", { class: "share-address" }, field, button(TOKENS.copy, copy)), hint(TOKENS.onlyNow)];
}

function rowOf(one, kind, end) {
  const isOver = one.is_revoked || (one.until !== null && new Date(one.until) < new Date());
  const place = one.paths ? ` (${one.paths})` : "";
  const state = one.is_revoked ? TOKENS.revoked(one.ended_by, one.ended_at && moment(one.ended_at)) : one.until ? TOKENS.until(moment(one.until)) : TOKENS.always;
  const facts = make("p", { class: "hint" }, `${kind}; ${TOKENS.scopes[one.scope]}${place}; ${TOKENS.madeBy(one.by, moment(one.made_at))}; ${state}.`);
  const attributes = { "aria-label": TOKENS.endOf(one.actor) };
  return make("li", { class: "card" }, make("h3", {}, actor({ kind: "agent", name: one.actor })), facts, isOver ? null : make("div", { class: "tools" }, button(TOKENS.end, () => end(one), attributes)));
}
