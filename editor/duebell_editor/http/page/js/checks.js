// What the form can tell by itself, in words for people; the API has the last word.

import { limits } from "./limits.js";
import { YEARS, isInYears } from "./moment.js";
import { doubleKey } from "./payload.js";
import { counting, valuesOf } from "./request.js";
import { full } from "./time.js";

const SPANS = { 86400: " (a day)", 3155760000: " (a century)" };

const unprintable = (text) =>
  text && /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}/u.test(text) ? "Only printable characters can be in it." : null;

export const outOfTime = (iso) =>
  iso === null || isInYears(iso) ? null : `Give a time in the years ${YEARS}.`;

function seconds({ minimum, maximum }, value, none) {
  if (value === null || (value >= minimum && value <= maximum)) return null;
  const most = `${maximum.toLocaleString("en")} seconds${SPANS[maximum] ?? ""}`;
  return `Give ${minimum} to ${most}, or nothing for ${none}.`;
}

function whole(name, value) {
  const { minimum, maximum } = limits("NewTask", name);
  if (value === null || (Number.isInteger(value) && value >= minimum && value <= maximum)) return null;
  return `Give a whole number, ${minimum} ${value > maximum ? `to ${maximum.toLocaleString("en")}` : "or more"}.`;
}

function payload(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  const key = doubleKey(text);
  return key === null
    ? null
    : `“${key}” is there twice, and only the last would count. Take one of them away.`;
}

const CHECKS = {
  action: ({ action }) => (action ? unprintable(action) : "Name the action that the worker shall run."),
  id: ({ id, if_exists: ifExists }) =>
    ifExists !== null && id === null ? "Give the id that may be there already." : unprintable(id),
  due: ({ due }) => (due === null ? "Give a day and a time." : outOfTime(due)),
  schedule: ({ schedule }) => (schedule ? null : "Write a schedule, or choose a usual one below."),
  start: ({ start }) => outOfTime(start),
  end: ({ start, end }) =>
    end !== null && start !== null && end < start
      ? `This is before the start, ${full(new Date(start))}.`
      : outOfTime(end),
  max_runs: ({ max_runs: runs }) => whole("max_runs", runs),
  spread: ({ spread }) => seconds(limits("NewTask", "spread"), spread, "none"),
  expires_after: ({ expires_after: late }) => seconds(limits("NewTask", "expires_after"), late, "never"),
  at_most: ({ at_most: most }) => seconds(limits("NewTask", "at_most"), most, "no limit"),
  on_failed: ({ on_failed: action }) => unprintable(action),
  then_action: ({ then_action: action }) => unprintable(action),
  then_after: ({ then_after: after }) => seconds(limits("NewTask", "then").properties.after, after, "at once"),
  then_payload: ({ then_payload: text }) => (text === null ? null : payload(text)),
  payload: ({ payload: text }) => payload(text),
};

// [field, reason] of each that cannot be right; of a task that is edited, only of what was changed.
export function check(form, before = {}) {
  const values = valuesOf(form);
  const isSame = (name) => values[name] === before[name];
  const reason = (name) => {
    if (form.input[name].validity.badInput)
      return form.moments[name] ? "Give the day and the time in full." : "Write a number.";
    const isNew = !isSame(name) || (name === "end" && !isSame("start"));
    return isNew ? CHECKS[name]?.(values) : null;
  };
  return counting(form)
    .map((name) => [name, reason(name)])
    .filter(([, why]) => why);
}
