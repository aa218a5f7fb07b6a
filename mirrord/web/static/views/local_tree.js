/** What an operator does with the tree on the console's machine: pause it, and settle which files stay out. */
import { button, make, tell, trying } from "../elements/dom.js";
import { change, get } from "../server/api.js";
import { STATUS } from "../words.js";

/** A section about the tree; null: the person may not, or the tree is elsewhere. */
export async function localTree() {
  const tree = await get("local-tree").catch(orNull);
  return tree && make("section", { "aria-label": STATUS.tree }, make("h2", {}, STATUS.tree), pausing(tree), ...ignoring(tree));
}

const orNull = (error) => {
  if ([403, 404].includes(error.status)) return null;
  throw error;
};

function pausing({ paused }) {
  let isPaused = paused;
  const label = () => (isPaused ? STATUS.resume : STATUS.pause);
  const turn = async () => {
    await change("POST", "local-tree/pause", { paused: !isPaused });
    isPaused = !isPaused;
    one.textContent = label();
    tell(isPaused ? STATUS.paused : STATUS.resumed);
  };
  const one = button(label(), () => trying(turn));
  return make("p", { class: "line" }, one, scanning());
}

function scanning() {
  const scan = async () => {
    one.disabled = true;
    try {
      const { is_done: isDone } = await change("POST", "local-tree/rescan");
      tell(isDone ? STATUS.scanned : STATUS.scanGoesOn);
    } finally {
      one.disabled = false;
    }
  };
  const one = button(STATUS.rescan, () => trying(scan));
  return one;
}

function ignoring({ ignore, digest }) {
  let known = digest;
  const field = make("textarea", { class: "patterns", rows: "6", spellcheck: "false", "aria-label": STATUS.ignore });
  const theirs = make("div");
  field.value = ignore;
  const save = async () => {
    try {
      known = (await change("PUT", "local-tree/ignore", { ignore: field.value, digest: known })).digest;
      theirs.replaceChildren();
      tell(STATUS.ignoreSaved);
    } catch (error) {
      if (error.status !== 409) throw error;
      const now = await get("local-tree");
      known = now.digest;
      theirs.replaceChildren(make("p", { role: "alert" }, STATUS.ignoreChanged), make("pre", {}, now.ignore));
    }
  };
  const parts = [make("p", { class: "hint" }, STATUS.ignoreHint), theirs, field];
  return [make("h2", {}, STATUS.ignore), ...parts, make("p", {}, button(STATUS.save, () => trying(save), { class: "main" }))];
}
