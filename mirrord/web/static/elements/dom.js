/** Elements made from data: text is always text, never markup. */

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
 * Ask for one line in a dialog; null: nothing. With `choices` the person chooses one of [[value, label]] instead.
 */
export function ask(question, { value = "", action = "OK", choices = null } = {}) {
  return new Promise((answer) => {
    const input = choices ? null : make("input", { value, "aria-label": question, maxlength: "500" });
    const options = (choices ?? []).map(([chosen, label]) => button(label, () => close(chosen)));
    const form = make(
      "form",
      { method: "dialog", onsubmit: (event) => (event.preventDefault(), close(input?.value ?? null)) },
      make("h2", {}, question),
      input ?? make("div", { class: "choices" }, options),
      make(
        "div",
        { class: "actions" },
        input ? make("button", { type: "submit", class: "main" }, action) : null,
        button("Cancel", () => close(null)),
      ),
    );
    const dialog = make("dialog", { "aria-label": question, oncancel: () => close(null) }, form);
    const before = document.activeElement;
    function close(result) {
      dialog.remove();
      before?.focus?.();
      answer(result);
    }
    document.body.append(dialog);
    dialog.showModal();
    input?.select();
  });
}

/** Ask whether something is meant. */
export const confirmed = async (question, action) => (await ask(question, { choices: [["yes", action]] })) === "yes";

/** A time for people. */
export const moment = (text) => new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** So many of a thing, for people. */
export const many = (count, thing) => `${count.toLocaleString()} ${thing}${count === 1 ? "" : "s"}`;

/** Who did something, for people: "agent writer (file)". */
export function actor(by) {
  if (!by) return "someone";
  const name = by.kind === "human" && by.name === "file" ? "a file" : `${by.kind} ${by.name}`;
  return by.channel && by.channel !== "file" ? `${name} (${by.channel})` : name;
}
