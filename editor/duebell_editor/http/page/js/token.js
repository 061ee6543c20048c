// Asking for the token, on servers that others can reach.

import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { field } from "./field.js";

let asking = null;

export function askForToken(tried) {
  if (sessionStorage.getItem("duebell-token") !== tried) return Promise.resolve(true); // given meanwhile
  asking ??= new Promise((resolve) => {
    let given = false;
    const { dialog, body } = openDialog("This server wants its token", {
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
      tried && h("p.wrong", { role: "alert" }, "That was not it."),
      field("Token", input, { hint: "Whoever started the server has it." }),
      h("div.foot", {}, h("div.actions", {}, h("button.primary", {}, "Go on"))),
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
