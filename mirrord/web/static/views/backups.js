/** The backups of the tenant: an operator sees when each was made and what it holds, has one made, and reads how one is restored. */
import { button, hint, make, many, moment, tell, trying } from "../elements/dom.js";
import { change, get } from "../server/api.js";
import { BACKUPS } from "../words.js";

const AGAIN = 1000; // ms between two looks at a backup that is being made
const HOUR = 3600_000; // ms
const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** A section about backups; null: the person may not, or they are not here. It looks again while one is made, until `signal`. */
export async function backups(signal) {
  const found = await get("backups").catch(orNull);
  if (!found) return null;
  const state = make("div", { role: "status" });
  const list = make("div");
  const start = button(BACKUPS.make, () => trying(begin), { class: "main" });
  const begin = async () => {
    follow((await change("POST", "backups")).run);
    window.dispatchEvent(new CustomEvent("live:mirrors")); // the events of the view have one more
  };
  const follow = (run) => {
    start.disabled = Boolean(run && !run.is_over);
    state.replaceChildren(...stateOf(run));
    if (start.disabled) setTimeout(() => signal.aborted || again(), AGAIN);
  };
  const again = async () => {
    const answer = await get("backups/run").catch(() => null);
    if (signal.aborted) return;
    if (!answer) setTimeout(() => signal.aborted || again(), AGAIN); // the server is away for a moment
    else if (answer.run?.is_over === false) follow(answer.run);
    else await trying(async () => show(await get("backups")));
  };
  const show = (answer) => {
    list.replaceChildren(...listOf(answer));
    follow(answer.run);
  };
  show(found);
  return make("section", { "aria-label": BACKUPS.title }, make("h2", {}, BACKUPS.title), hint(BACKUPS.about(found.directory)), make("p", {}, start), state, list);
}

const orNull = (error) => {
  if ([403, 404].includes(error.status)) return null;
  throw error;
};

/** What is told of the backup that was asked for last. */
function stateOf(run) {
  if (!run) return [];
  if (!run.is_over && run.percent === null) return [make("p", {}, BACKUPS.waits)];
  if (!run.is_over) return [make("label", { class: "work" }, BACKUPS.goesOn(run.by, run.percent), make("progress", { max: 100, value: run.percent }))];
  if (run.number === null) return [make("p", { class: "problem" }, BACKUPS.failed(run.sentence))];
  const unread = run.unread ? make("p", { class: "problem" }, BACKUPS.unread(many(run.unread, "file"))) : null;
  return [make("p", {}, BACKUPS.whole(run.number)), ...(unread ? [unread] : [])];
}

function listOf({ backups: found, damaged }) {
  const broken = damaged.length ? [make("p", { class: "problem" }, BACKUPS.damaged(damaged.join(", ")))] : [];
  if (!found.length) return [...broken, make("p", { class: "hint" }, BACKUPS.none)];
  const last = make("p", {}, BACKUPS.last(moment(found[0].made_at), ageOf(found[0].made_at)));
  return [...broken, last, make("ul", { class: "list backups" }, found.map(rowOf))];
}

function rowOf(one) {
  const held = BACKUPS.holds(many(one.pages, "page"), many(one.versions, "version"), many(one.attachments, "attachment"), many(one.files, BACKUPS.otherFile));
  const size = one.size === null ? BACKUPS.noSize : BACKUPS.size(sizeOf(one.size));
  const unread = one.unread ? make("p", { class: "problem" }, BACKUPS.unread(many(one.unread, "file"))) : null;
  const restore = one.restore && howToRestore(one.restore);
  return make("li", { class: "card" }, make("h3", {}, `${BACKUPS.number(one.number)}, ${moment(one.made_at)}`), make("p", { class: "hint" }, `${held}; ${size}.`), unread, restore);
}

function howToRestore(commands) {
  const ways = ["beside", "lost"].flatMap((way) => [make("p", {}, BACKUPS[way]), commandOf(commands[way], BACKUPS[way])]);
  return make("details", {}, make("summary", {}, BACKUPS.restore), ...ways, hint(BACKUPS.where));
}

function commandOf(command, label) {
  const copy = () => trying(async () => {
    await navigator.clipboard.writeText(command);
    tell(BACKUPS.copied);
  });
  return make("div", { class: "command" }, make("pre", { tabindex: "0", role: "group", "aria-label": label }, command), button(BACKUPS.copy, copy));
}

/** How long ago, for people. */
function ageOf(text, now = new Date()) {
  const hours = Math.floor((now - new Date(text)) / HOUR);
  if (hours < 1) return BACKUPS.ages.minute;
  return hours < 48 ? BACKUPS.ages.hours(hours) : BACKUPS.ages.days(Math.floor(hours / 24));
}

/** Bytes for people, in steps of a thousand as disks have them. */
function sizeOf(bytes) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const count = bytes / 1000 ** step;
  return `${count < 10 && step ? count.toFixed(1) : Math.round(count)} ${UNITS[step]}`;
}
