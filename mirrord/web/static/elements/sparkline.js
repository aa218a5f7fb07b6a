/** Numbers as a line. */

const SVG = "http://www.w3.org/2000/svg";

function drawing(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Two numbers or more as a line, and the same in words. */
export function sparkline(numbers, words) {
  const most = Math.max(...numbers) || 1;
  const points = numbers.map((one, at) => `${(at * 240) / (numbers.length - 1)},${38 - (36 * one) / most}`).join(" ");
  const line = drawing("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": "1.5" });
  return drawing("svg", { viewBox: "0 0 240 40", width: "240", height: "40", role: "img", "aria-label": words }, line);
}

/** Seconds, as people read them. */
export const pace = (seconds) => (seconds < 10 ? `${Math.round(seconds * 1000).toLocaleString()} ms` : `${Math.round(seconds).toLocaleString()} s`);
