// Dialogs, and buttons whose call is under way.

import { byKey, focusBack, h } from "./dom.js";
import { field } from "./field.js";
import { placeToasts } from "./toast.js";

// Buttons that wait for an answer: none of their group is pressed meanwhile, and the focus stays on them.

const working = new WeakSet();

const stop = (event) => {
  event.preventDefault();
  event.stopPropagation();
};

const isBusy = (group) => working.has(group);

// Disabled for the reader, not for the browser, which would take the focus away.
export function markBusy(group) {
  group.setAttribute("aria-busy", String(isBusy(group)));
  for (const button of group.querySelectorAll("button"))
    if (isBusy(group)) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
}

export async function busy(group, work) {
  if (isBusy(group)) return;
  working.add(group);
  group.addEventListener("click", stop, true);
  markBusy(group);
  try {
    await work();
  } finally {
    working.delete(group);
    group.removeEventListener("click", stop, true);
    markBusy(group);
  }
}

// The second click of a double click means the button that was there at the first.
export function onlySingleClicks(group) {
  group.addEventListener("click", (event) => event.detail > 1 && stop(event), true);
  return group;
}

// Dialogs: the browser's own, which keep the focus inside and give it back.


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

// Asking for the token, on servers that others can reach.


let asking = null;

export function askForToken(tried) {
  if (sessionStorage.getItem("duebell-token") !== tried) return Promise.resolve(true); // given meanwhile
  asking ??= new Promise((resolve) => {
    let given = false;
    const { dialog, body } = openDialog("This server needs a token", {
      kind: "form",
      onclose: () => {
        asking = null;
        resolve(given);
      },
    });
    const input = h("input", {
      type: "password",
      name: "token",
      required: true,
      autocomplete: "current-password",
    });
    const form = h(
      "form",
      {},
      tried && h("p.wrong", { role: "alert" }, "The token is wrong."),
      field("Token", input, { hint: "The person who started the server has it." }),
      h("div.foot", {}, h("div.actions", {}, h("button.primary", {}, "Continue"))),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem("duebell-token", input.value.trim());
      given = true;
      dialog.close();
    });
    body.append(form);
    input.focus();
  });
  return asking;
}
