// Messages that pass, and the key that takes back the last change.

import { byId, focusBack, h, topDialog } from "./dom.js";

// Ctrl+Z, or Cmd+Z: the newest thing that can be undone, wherever the focus is but in text.

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const UNDO_KEY = isMac ? "⌘Z" : "Ctrl+Z";
const UNDO_SHORTCUT = isMac ? "Meta+Z" : "Control+Z";

const WITHOUT_TEXT = ["button", "checkbox", "radio", "range", "reset", "submit"];

// In text the key is the browser's own, for what was typed.
export const isText = (element) =>
  element?.matches("textarea, [contenteditable]") ||
  (element?.matches("input") && !WITHOUT_TEXT.includes(element.type));

function onUndoKey(undo) {
  document.addEventListener("keydown", (event) => {
    const isAsked = (isMac ? event.metaKey : event.ctrlKey) && !event.shiftKey && !event.altKey;
    if (!isAsked || event.key.toLowerCase() !== "z" || event.repeat || isText(document.activeElement)) return;
    if (undo()) event.preventDefault();
  });
}

// Short messages, with a way back where there is one.


const SHOWN_MS = 8000;
const AT_ONCE = 2;

let shown = []; // { element, about, undo, close }, the newest last

// Outside an open dialog, messages can be neither reached nor read out. So they go into the top dialog. In a form
// they go to its foot, where they cover none of it.
export function placeToasts() {
  const place = topDialog()?.querySelector(".foot") ?? topDialog() ?? document.body;
  if (byId("toasts").parentElement === place) return;
  if (place.matches(".foot")) place.prepend(byId("toasts"));
  else place.append(byId("toasts"));
}

// A message takes the place of an earlier one with the same `about`, which is out of date. An error, or a message
// with Undo, stays until it is closed or newer messages need its place.
export function toast(text, { undo, about, bad = false } = {}) {
  let before = null; // where the focus was before it came here
  let timer;
  const element = h(`div.toast${bad ? ".bad" : ""}`, {}, h("span", {}, text));
  const one = { element, about, undo: undo && takeBack, close };

  function close() {
    clearTimeout(timer);
    shown = shown.filter((other) => other !== one);
    const hadFocus = element.contains(document.activeElement);
    element.remove();
    if (hadFocus) focusBack(before);
  }
  async function takeBack() {
    close();
    await undo();
  }

  if (undo)
    element.append(
      h("button", { onclick: takeBack, "aria-keyshortcuts": UNDO_SHORTCUT, title: UNDO_KEY }, "Undo"),
      h("kbd", {}, UNDO_KEY),
    );
  element.append(h("button.plain", { "aria-label": "Close this message", onclick: close }, "×"));
  element.addEventListener("focusin", ({ relatedTarget }) => {
    if (!element.contains(relatedTarget)) before = relatedTarget;
  });
  for (const other of shown) if (about && other.about === about) other.close();
  shown.push(one);
  while (shown.length > AT_ONCE) (shown.slice(0, -1).find((other) => !other.undo) ?? shown[0]).close();
  byId("toasts").append(element);
  if (!undo && !bad) timer = setTimeout(close, SHOWN_MS);
}

export const complain = (error) => toast(error.message, { bad: true });

onUndoKey(() => {
  const newest = shown.findLast((one) => one.undo);
  newest?.undo();
  return Boolean(newest);
});
