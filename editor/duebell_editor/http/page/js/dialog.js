// Dialogs: the browser's own, which keep the focus inside and give it back.

import { h } from "./dom.js";
import { placeToasts } from "./toast.js";

let count = 0;

export function openDialog(title, { kind = "box", onclose } = {}) {
  count += 1;
  const heading = h("h2", { id: `dialog-${count}` }, title);
  const body = h("div.body");
  const close = h("button.plain.close", { type: "button", "aria-label": "Close" }, "×");
  const dialog = h(
    `dialog.${kind}`,
    { "aria-labelledby": heading.id },
    h("div.head", {}, heading, close),
    body,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && kind !== "form") dialog.close();
  });
  dialog.addEventListener("close", () => {
    placeToasts();
    dialog.remove();
    onclose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  placeToasts();
  return { dialog, heading, body };
}

// Resolves to true when the reader confirms.
export function confirm(title, text, yes, { danger = false } = {}) {
  return new Promise((resolve) => {
    let answer = false;
    const { dialog, body } = openDialog(title, { onclose: () => resolve(answer) });
    const agree = h(
      danger ? "button.danger" : "button.primary",
      {
        onclick: () => {
          answer = true;
          dialog.close();
        },
      },
      yes,
    );
    const decline = h("button", { onclick: () => dialog.close() }, "Not now");
    body.append(h("p", {}, text), h("div.actions", {}, decline, agree));
    decline.focus();
  });
}
