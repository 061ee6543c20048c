// Another time for a task: this occurrence only, if it recurs.

import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { ZONE, near, relative, toLocalInput } from "./time.js";
import { move } from "./verbs.js";

export function openMove(task) {
  const { dialog, body } = openDialog(`Move ${task.id}`, { kind: "form" });
  const input = h("input", {
    type: "datetime-local",
    step: "1",
    name: "due",
    required: true,
    value: toLocalInput(new Date(task.due)),
  });
  const words = h("p.quiet", { "aria-live": "polite" });
  const wrong = h("p.wrong", { role: "alert" });
  const say = () => {
    const due = new Date(input.value);
    words.textContent = Number.isNaN(due.getTime())
      ? ""
      : `${near(due)}, ${relative(due)}${due < Date.now() ? ": it runs at once" : ""}`;
  };
  const form = h(
    "form",
    {},
    h("label", {}, `Due (${ZONE})`, input),
    words,
    task.recurrence && h("p.quiet", {}, "Only this occurrence is moved; the schedule goes on as it was."),
    wrong,
    h(
      "div.actions",
      {},
      h("button", { type: "button", onclick: () => dialog.close() }, "Not now"),
      h("button.primary", {}, "Move"),
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await move(task, new Date(input.value).toISOString());
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    }
  });
  input.addEventListener("input", say);
  body.append(form);
  say();
  input.focus();
}
