// Adding a task and editing one: once or recurring, with what it means said as it is written.

import { ask, taskPath } from "./api.js";
import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { fields, readChanges, readNew, wordsFor } from "./fields.js";
import { preview } from "./preview.js";
import { tell } from "./state.js";
import { toast } from "./toast.js";
import { edited } from "./verbs.js";

export function openForm(task = null) {
  const { dialog, body } = openDialog(task ? `Edit ${task.id}` : "Add a task", { kind: "form" });
  const form = h("form", { novalidate: true });
  const { parts, input, before } = fields(task);
  const wrong = h("p.wrong", { role: "alert" });
  const conflict = h("div.conflict", { hidden: true });
  const send = h("button.primary", { "data-key": "send" }, task ? "Save" : "Add");
  form.append(
    ...parts,
    wrong,
    conflict,
    h("div.actions", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Not now"), send),
  );
  body.append(form);
  preview(form, input);

  async function submit(rev) {
    wrong.textContent = "";
    conflict.hidden = true;
    for (const one of Object.values(input)) one.removeAttribute("aria-invalid");
    send.disabled = true;
    try {
      const { body: given, back, bad } = task ? readChanges(input, before, task) : readNew(input);
      if (bad) throw Object.assign(new Error(bad.reason), { document: bad });
      if (task) await save(given, back, rev);
      else await add(given);
      dialog.close();
    } catch (error) {
      if (error.status === 412) showConflict(error.document.rev);
      else complain(error);
    } finally {
      send.disabled = false;
    }
  }

  async function add(given) {
    const added = await ask("POST", "tasks", { body: given });
    toast(`${added.id} is added`, {
      undo: async () => {
        await ask("DELETE", taskPath(added.id), { rev: added.rev });
        toast("Undone: it is cancelled");
        tell("changed", added.id);
      },
    });
    tell("changed", added.id);
  }

  async function save(given, back, rev) {
    if (given === "{}") return;
    const now = await ask("PATCH", taskPath(task.id), { rev, body: given });
    await edited(task, now, back);
  }

  function complain(error) {
    const field = error.document?.field?.split(".")[0];
    const culprit = input[field] ?? null;
    wrong.textContent = culprit ? `${wordsFor(field)} ${error.document.reason}` : error.message;
    culprit?.setAttribute("aria-invalid", "true");
    culprit?.closest("details")?.setAttribute("open", "");
    culprit?.focus();
    if (error.document?.stored) tell("changed", error.document.id);
  }

  function showConflict(rev) {
    conflict.replaceChildren(
      h(
        "p",
        {},
        "Someone, or a run, has changed this task since you opened it. Nothing of yours was written.",
      ),
      h(
        "div.actions",
        {},
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              dialog.close();
              tell("changed", task.id);
            },
          },
          "See how it is now",
        ),
        h("button.danger", { type: "button", onclick: () => submit(rev) }, "Write mine over it"),
      ),
    );
    conflict.hidden = false;
    conflict.querySelector("button").focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(task?.rev);
  });
  (task ? input.payload : input.action).focus();
}
