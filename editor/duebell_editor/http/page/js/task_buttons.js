// The buttons of one task: what can be done to it.

import { canBeAddedAgain } from "./add_again.js";
import { h } from "./dom.js";
import { openForm } from "./form.js";
import { openMove } from "./move.js";
import { isReadOnly } from "./read_only.js";

// None stands where another was that a second click could be meant for, and none that runs something is first
// where Retry was. `act` does one of the verbs.
export function buttons(task, act) {
  if (isReadOnly) return [];
  const button = (key, label, onclick, kind = "button") => h(kind, { "data-key": key, onclick }, label);
  const can = (verb) => task.can.includes(verb);
  const verb = (name, label, kind) => can(name) && button(name, label, () => act(name), kind);
  return [
    verb("retry", "Retry", "button.primary"),
    can("update") && button("edit", "Edit", () => openForm(task)),
    can("move") && button("move", task.recurrence ? "Move this one" : "Move", () => openMove(task)),
    can("pause") && button("hold", "Pause", () => act("pause")),
    can("resume") && button("hold", "Resume", () => act("resume"), "button.primary"),
    verb("run_now", "Run now"),
    canBeAddedAgain(task) && button("again", "Add again", () => openForm(null, { like: task })),
    verb("cancel", "Cancel", "button.danger"),
  ];
}
