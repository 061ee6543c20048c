// Ctrl+Z, or Cmd+Z: the newest thing that can be undone, wherever the focus is but in text.

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export const UNDO_KEY = isMac ? "⌘Z" : "Ctrl+Z";
export const UNDO_SHORTCUT = isMac ? "Meta+Z" : "Control+Z";

const WITHOUT_TEXT = ["button", "checkbox", "radio", "range", "reset", "submit"];

// In text the key is the browser's own, for what was typed.
export const isText = (element) =>
  element?.matches("textarea, [contenteditable]") ||
  (element?.matches("input") && !WITHOUT_TEXT.includes(element.type));

export function onUndoKey(undo) {
  document.addEventListener("keydown", (event) => {
    const isAsked = (isMac ? event.metaKey : event.ctrlKey) && !event.shiftKey && !event.altKey;
    if (!isAsked || event.key.toLowerCase() !== "z" || event.repeat || isText(document.activeElement)) return;
    if (undo()) event.preventDefault();
  });
}
