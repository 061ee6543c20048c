// Short messages at the foot of the page, with a way back where there is one.

import { byId, h } from "./dom.js";

const SHOWN_MS = 8000;

// What is outside an open dialog can be neither reached nor heard: so they go where the reader is.
export function placeToasts() {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (byId("toasts").parentElement !== place) place.append(byId("toasts"));
}

export function toast(text, { undo, bad = false } = {}) {
  const close = () => shown.remove();
  const shown = h(`div.toast${bad ? ".bad" : ""}`, {}, h("span", {}, text));
  if (undo) {
    shown.append(
      h(
        "button",
        {
          onclick: async (event) => {
            event.target.disabled = true;
            close();
            await undo();
          },
        },
        "Undo",
      ),
    );
  }
  shown.append(h("button.plain", { "aria-label": "Close this message", onclick: close }, "×"));
  byId("toasts").append(shown);
  let timer = setTimeout(close, SHOWN_MS);
  for (const event of ["pointerenter", "focusin"]) shown.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["pointerleave", "focusout"]) {
    shown.addEventListener(event, () => {
      clearTimeout(timer);
      timer = setTimeout(close, SHOWN_MS);
    });
  }
}

export const complain = (error) => toast(error.message, { bad: true });
