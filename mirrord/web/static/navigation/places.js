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

/** Those who do not see the exchange hear the new view's heading next. */
export const moveFocus = () => document.getElementById("main").focus({ preventScroll: true });
