// The focus is never lost to the page as a whole: it goes where the reader was, or near it.

import { content } from "./dom.js";

const isNowhere = () => !document.activeElement || document.activeElement.matches("body, [tabindex='-1']");

export const topDialog = () => [...document.querySelectorAll("dialog[open]")].at(-1);

// Moves the focus to the first of these that is still there; else to the heading of what is open, or to the content.
export function focusBack(...wanted) {
  if (!isNowhere()) return;
  const place = topDialog() ?? document;
  const there = wanted.find((one) => one?.isConnected && place.contains(one) && one !== document.body);
  (there ?? topDialog()?.querySelector("h2") ?? content()).focus({ preventScroll: true });
}

export const byKey = (key, place = topDialog() ?? document) =>
  key ? place.querySelector(`[data-key="${CSS.escape(key)}"]`) : null;
