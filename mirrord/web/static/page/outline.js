/** The headings of the page, to go to: beside the text where there is room. */
import { make } from "../elements/dom.js";
import { part, shown } from "./shown.js";

const QUIET_MS = 300; // without a change, before the headings are read again
const FEWEST = 2; // headings that are worth a list
const HEADING = /^H[1-6]$/;

/** Keep the list true while the text is edited. */
export function followHeadings(signal) {
  let waiting = null;
  listed = null;
  const seen = new MutationObserver(() => {
    clearTimeout(waiting);
    if (listed === null && shown.place.querySelector(".prose")) show(); // before the first frame: beside a list the text is narrower
    else waiting = setTimeout(() => signal.aborted || show(), QUIET_MS);
  });
  seen.observe(shown.place, { childList: true, subtree: true, characterData: true });
  signal.addEventListener("abort", () => seen.disconnect());
}

let listed = null;

function show() {
  const blocks = [...(shown.place.querySelector(".prose")?.children ?? [])]; // a selector would look at every element in them
  const headings = blocks.filter((block) => HEADING.test(block.tagName) && block.textContent.trim());
  const list = part("outline");
  const wanted = headings.map((heading) => `${heading.tagName} ${heading.textContent}`).join("\n");
  list.hidden = headings.length < FEWEST;
  if (wanted === listed && list.querySelector("li")) return;
  listed = wanted;
  list.firstElementChild.replaceChildren(...headings.map(line));
}

function line(heading) {
  const words = heading.textContent.trim();
  const link = make("a", { href: `#${encodeURIComponent(words)}` }, words);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    history.replaceState(history.state, "", link.hash);
    if (heading.isConnected) heading.scrollIntoView({ block: "start" });
  });
  return make("li", { "data-level": heading.tagName.slice(1) }, link);
}
