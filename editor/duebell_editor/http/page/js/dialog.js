// Dialogs: the browser's own, which keep the focus inside and give it back.

import { onlySingleClicks } from "./busy.js";
import { h } from "./dom.js";
import { byKey, focusBack } from "./focus.js";
import { placeToasts } from "./toast.js";

let count = 0;

// `mayLeave` is asked before the reader leaves without an answer; `back` is the data-key of what led here.
export function openDialog(title, { kind = "box", onclose, mayLeave, back } = {}) {
  count += 1;
  const opener = document.activeElement;
  const heading = h("h2", { id: `dialog-${count}`, tabindex: "-1", autofocus: true }, title);
  const body = h("div.body");
  const close = h("button.plain.close", { type: "button", "aria-label": "Close" }, "×");
  const dialog = h(
    `dialog.${kind}`,
    { "aria-labelledby": heading.id },
    h("div.head", {}, heading, close),
    body,
  );
  const leave = async () => {
    if (!mayLeave || (await mayLeave())) dialog.close();
  };
  const ask = (event) => {
    event.preventDefault();
    leave();
  };
  close.addEventListener("click", leave);
  if (mayLeave) {
    dialog.addEventListener("cancel", ask);
    // The browser lets a second Escape through without a `cancel`.
    dialog.addEventListener("keydown", (event) => event.key === "Escape" && ask(event));
  }
  dialog.addEventListener("click", (event) => {
    const isDouble = event.detail > 1; // its first click was for what is behind
    if (event.target === dialog && kind !== "form" && !isDouble) dialog.close();
  });
  dialog.addEventListener("close", () => {
    placeToasts();
    dialog.remove();
    onclose?.();
    focusBack(byKey(back), opener, byKey(opener?.dataset.key));
  });
  document.body.append(dialog);
  dialog.showModal();
  queueMicrotask(placeToasts); // when it has got its foot
  return { dialog, heading, body, leave };
}

// Resolves to true when the reader confirms.
export function confirm(title, text, yes, { danger = false, no = "Go back" } = {}) {
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
    const decline = h("button", { onclick: () => dialog.close() }, no);
    body.append(h("p", {}, text), onlySingleClicks(h("div.actions", {}, decline, agree)));
    decline.focus();
  });
}
