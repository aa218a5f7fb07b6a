/** Elements made from data: text is always text, never markup. */
import { ACTORS, CHANNELS, COMMON } from "../words.js";

/** An element; attributes whose value is null or false are left out, those that begin with "on" are listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button. */
export const button = (label, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, label);

/** Tell what happened, also those who do not see it. */
export function tell(sentence) {
  const place = document.getElementById("told");
  place.textContent = sentence;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => (place.textContent = ""), 8000);
}

/** Run `work`; what is refused is told. */
export async function trying(work) {
  try {
    return await work();
  } catch (error) {
    tell(error.message);
    return null;
  }
}

/**
 * A dialog; undefined: the person closed it, also by Escape or a click beside it.
 *
 * `build(close)` returns its `parts`, the `buttons` below them, what `submit` does on Enter, and what the button that `ends`
 * it says; `close(answer)` ends it.
 */
export function dialogOf(title, build) {
  return new Promise((answer) => {
    const before = document.activeElement;
    const close = (result) => {
      dialog.remove();
      before?.focus?.();
      answer(result);
    };
    const { parts, buttons = [], submit = () => {}, ends = COMMON.cancel } = build(close);
    const actions = make("div", { class: "actions" }, buttons, button(ends, () => close()));
    const onsubmit = (event) => (event.preventDefault(), submit());
    const form = make("form", { method: "dialog", onsubmit }, make("h2", {}, title), parts, actions);
    const onclick = ({ target }) => target === dialog && close();
    const dialog = make("dialog", { "aria-label": title, oncancel: () => close(), onclick }, form);
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input")?.select();
  });
}

/** A sentence of a dialog; "": none. */
export const hint = (sentence) => (sentence ? make("p", { class: "hint" }, sentence) : "");

/**
 * Ask for one line; null: nothing. With `choices` the person chooses one of [[value, label]] instead. `note` is said
 * below the line.
 */
export async function ask(question, { value = "", action = COMMON.ok, choices = null, note = "" } = {}) {
  const answer = await dialogOf(question, (close) => {
    if (choices) return { parts: [make("div", { class: "choices" }, choices.map(([chosen, label]) => button(label, () => close(chosen))))] };
    const input = make("input", { value, "aria-label": question, maxlength: "500" });
    const submit = () => close(input.value);
    return { parts: [input, hint(note)], buttons: [make("button", { type: "submit", class: "main" }, action)], submit };
  });
  return answer ?? null;
}

/** Ask whether something is meant; kind: `main`, or `danger` for what takes something away. note: an element below the question. */
export async function confirmed(question, action, kind = "main", note = "") {
  const answer = await dialogOf(question, (close) => ({ parts: [note], buttons: [button(action, () => close(true), { class: kind })] }));
  return answer === true;
}

/** A time for people, to the minute: the day unless it is today, the year unless it is this one. */
export function moment(text, now = new Date()) {
  const at = new Date(text);
  if (at.toDateString() === now.toDateString()) return COMMON.today(at.toLocaleTimeString(undefined, { timeStyle: "short" }));
  const year = at.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return at.toLocaleString(undefined, { year, month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
}

/** So many of a thing, for people. */
export const many = (count, thing) => `${count.toLocaleString()} ${thing}${count === 1 ? "" : "s"}`;

/** Who did something, for people: "agent writer, as an agent". */
export function actor(by) {
  if (!by) return COMMON.someone;
  if (by.kind === "human" && by.name === "file") return COMMON.aFile;
  const name = by.kind === "daemon" && by.name === "mirrord" ? by.name : `${ACTORS[by.kind] ?? `${by.kind} `}${by.name}`;
  return by.channel && by.channel !== "file" && by.kind !== "agent" ? `${name} ${CHANNELS[by.channel] ?? `(${by.channel})`}` : name;
}
