// What the form can tell by itself, in words for people; the API has the last word.

import { KINDS } from "./kinds.js";
import { counting, valuesOf } from "./request.js";
import { row } from "./task_fields.js";
import { full } from "./time.js";

// What is wrong beyond what the kind of a field tells.
const CHECKS = {
  action: ({ action }) => (action ? null : "Name the action that the worker shall run."),
  id: ({ id, if_exists: policy }) => (policy !== null && id === null ? "Give the id that may be there already." : null),
  due: ({ due }) => (due === null ? "Give a day and a time." : null),
  schedule: ({ schedule }) => (schedule ? null : "Write a schedule, or choose a usual one below."),
  end: ({ start, end }) =>
    end !== null && start !== null && end < start
      ? `This is before the start, ${full(new Date(start))}.`
      : null,
};

// [field, reason] of each that cannot be right; of a task that is edited, only of what was changed.
export function check(form, before = {}) {
  const values = valuesOf(form);
  const isSame = (name) => values[name] === before[name];
  const reason = (name) => {
    if (form.input[name].validity.badInput)
      return form.moments[name] ? "Give the day and the time in full." : "Write a number.";
    const isNew = !isSame(name) || (name === "end" && !isSame("start"));
    const { check } = KINDS[row(name).kind];
    return isNew ? (CHECKS[name]?.(values) ?? check?.(row(name), values[name])) : null;
  };
  return counting(form)
    .map((name) => [name, reason(name)])
    .filter(([, why]) => why);
}
