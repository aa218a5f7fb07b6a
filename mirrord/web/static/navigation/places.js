/** Where a person was in a view: kept with the step of the browser's history, and gone back to. */

const FRAMES = 20; // in which a view may grow until it is as long as it was

/** Keep how far the window is scrolled with the current step. */
export const rememberScroll = () => history.replaceState({ ...history.state, scroll: window.scrollY }, "");

/** Scroll to where this step was left. */
export function openedAt(frames = FRAMES) {
  const scroll = history.state?.scroll ?? 0;
  window.scrollTo(0, scroll);
  if (Math.abs(window.scrollY - scroll) > 1 && frames) requestAnimationFrame(() => openedAt(frames - 1));
}

/**
 * Begin a view at its top, unless it is returned to, and let those who do not see the exchange hear its heading next.
 * In the next frame, which lays out the view in any case: at once a browser would lay it out without its text.
 */
export function enter(isReturn) {
  const main = document.getElementById("main");
  requestAnimationFrame(() => {
    if (!main.isConnected) return;
    if (!isReturn) window.scrollTo(0, 0);
    if (!main.contains(document.activeElement)) main.focus({ preventScroll: true }); // a person may be in it by then
  });
}
