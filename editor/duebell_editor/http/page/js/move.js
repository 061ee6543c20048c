// Another time for a task: this occurrence only, if it recurs.

import { getTask } from "./api.js";
import { busy } from "./busy.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { blame, field, forgive } from "./field.js";
import { moment } from "./moment.js";
import { outOfTime } from "./kinds.js";
import { tell } from "./state.js";
import { ZONE, full, near, relative } from "./time.js";
import { move } from "./verbs.js";

export function openMove(task) {
  let now = task;
  const { dialog, body } = openDialog(`Move ${task.id}`, { kind: "form" });
  const due = moment("due", task.due);
  const words = h("p.quiet", { "aria-live": "polite" });
  const wrong = h("p.wrong", { role: "alert" });
  const foot = h(
    "div.foot",
    {},
    wrong,
    h(
      "div.actions",
      {},
      h("button", { type: "button", onclick: () => dialog.close() }, "Don't move"),
      h("button.primary", {}, "Move"),
    ),
  );
  const form = h(
    "form",
    { novalidate: true },
    field(`Due (${ZONE})`, due.input, { note: due.note }),
    words,
    task.recurrence && h("p.quiet", {}, "Only this occurrence is moved; the schedule goes on as it was."),
    foot,
  );

  function say() {
    forgive(due.input);
    const iso = due.read();
    const date = new Date(iso);
    words.textContent = iso
      ? `${near(date)}, ${relative(date)}${date < Date.now() ? ": it runs at once" : ""}`
      : "";
  }

  function complain(reason) {
    blame(due.input, reason);
    due.input.focus();
  }

  async function send() {
    wrong.textContent = "";
    const iso = due.read();
    const reason = iso ? outOfTime(iso) : "Give a day and a time.";
    if (reason) return complain(reason);
    try {
      await move(now, iso);
      dialog.close();
    } catch (error) {
      if (error.status === 412) await sayChanged();
      else if (error.document?.field === "due") complain(`The time ${error.document.reason}`);
      else wrong.textContent = error.message;
    }
    return undefined;
  }

  async function sayChanged() {
    try {
      now = await getTask(task.id);
      wrong.textContent =
        "The task was changed meanwhile, and is not moved. " +
        `It is ${now.status}, due ${full(new Date(now.due))}. ` +
        "Press Move again to move it all the same.";
    } catch (error) {
      wrong.textContent = error.message;
    }
    tell("changed", task.id);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(foot, send);
  });
  form.addEventListener("input", say);
  body.append(form);
  say();
  due.input.focus();
}
