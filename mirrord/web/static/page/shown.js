/** The page that this window shows, as it was read last, and what edits it. */
import { pageAhead } from "../navigation/ahead.js";
import { get } from "../server/api.js";

const MOST_WAITED = 1000; // ms between two requests
const MOST_UNWRITTEN = 10_000; // ms that a text is waited for which has all changes
let asked = 0;

/** place: where it is shown. signal: ends it. page: the last that was read. mounted: its editor. draft: of what is mounted. */
export const shown = { place: null, signal: null, id: null, page: null, mounted: null, draft: null };

/** Show another page from now on: what is still asked about the one before is not answered. */
export function begin(signal) {
  const place = document.getElementById("page");
  asked += 1;
  Object.assign(shown, { place, signal, id: place.dataset.page, page: null, mounted: null, draft: null });
}

/** End what is shown: its text is saved by now, or in its draft. */
export function end() {
  asked += 1;
  shown.mounted?.destroy();
  shown.mounted = null;
}

export const part = (name) => document.getElementById(name);

/** Whether the Markdown of a page has all its changes: what is edited elsewhere in the row is written into it a moment later. */
export const isWritten = (page) => !page.ahead?.length;

const isSourceShown = () => part("view-source").getAttribute("aria-pressed") === "true";

/**
 * The page as it is now; while its document is being derived it is asked for again. Of a version that is here the texts are.
 * With `needsMarkdown` it is asked for until its Markdown has all changes, for some seconds: without a daemon it never has.
 */
export async function load(needsMarkdown = isSourceShown()) {
  const number = ++asked;
  const before = shown.page;
  const isHere = before?.markdown != null && before.content !== null && isWritten(before);
  const known = isHere ? before.version : null;
  const end = Date.now() + MOST_UNWRITTEN;
  let ahead = before ? null : await pageAhead(shown.id);
  for (let wait = 30; ; wait = Math.min(wait * 1.5, MOST_WAITED)) {
    const { markdown, text_digest, content, fault } = before ?? {};
    const texts = { markdown, text_digest, content, fault };
    const page = { ...texts, ...(ahead ?? (await get(`pages/${shown.id}`, { known }))) };
    ahead = null;
    if (number !== asked) return null;
    if (page.deleted || page.kind === "folder") return page;
    const isEnough = isWritten(page) || !needsMarkdown || Date.now() > end;
    if (page.content !== null && page.markdown !== null && isEnough) return page;
    if (page.problem && wait >= MOST_WAITED) return page;
    await new Promise((done) => setTimeout(done, wait));
  }
}

const [LINK_TRIES, LINK_RETRY_MS] = [6, 500];

/** What a question about a link answers, null where it leads nowhere; asked again while links follow new pages. */
export async function getTarget(path, query) {
  for (let tries = LINK_TRIES; ; tries -= 1) {
    try {
      return await get(path, query);
    } catch (error) {
      if (error.status === 404) return null;
      if (error.status !== 503 || tries <= 1) throw error;
      await new Promise((done) => setTimeout(done, LINK_RETRY_MS));
    }
  }
}
