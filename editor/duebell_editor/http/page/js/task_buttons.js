// The buttons of one task: what can be done to it.

import { canBeAddedAgain } from "./again.js";
import { h } from "./dom.js";
import { openForm } from "./form.js";
import { openMove } from "./move.js";
import { isReadOnly } from "./read_only.js";
import { can } from "./verbs.js";

// None stands where another was that a second click could be meant for, and none that runs something is first
// where Retry was. `act` does one of the verbs.
export function buttons(task, act) {
  if (isReadOnly) return [];
  const button = (key, label, onclick, kind = "button") => h(kind, { "data-key": key, onclick }, label);
  const verb = (name, label, kind) => can(name, task) && button(name, label, () => act(name), kind);
  return [
    verb("retry", "Retry", "button.primary"),
    can("edit", task) && button("edit", "Edit", () => openForm(task)),
    can("move", task) && button("move", task.recurrence ? "Move this one" : "Move", () => openMove(task)),
    can("pause", task) && button("hold", "Pause", () => act("pause")),
    can("resume", task) && button("hold", "Resume", () => act("resume"), "button.primary"),
    verb("run", "Run now"),
    canBeAddedAgain(task) && button("again", "Add again", () => openForm(null, { like: task })),
    verb("cancel", "Cancel", "button.danger"),
  ];
}
