// What the form can tell by itself, in words for people; the API has the last word.

import { doubleKey } from "./payload.js";
import { counting, valuesOf } from "./request.js";
import { full } from "./time.js";

const FIRST = "1970-01-01T00:00:00.000Z";
const LAST = "2199-12-31T23:59:00.000Z";
const LEAST = 0.001;
const DAY = 86400;
const CENTURY = 100 * 365.25 * DAY;

const unprintable = (text) =>
  text && /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}/u.test(text) ? "Only printable characters can be in it." : null;

// Years beyond 9999 and before 0 begin with a sign, which sorts before them all.
export const outOfTime = (iso) =>
  iso !== null && (iso < FIRST || iso > LAST) ? "Give a time in the years 1970 to 2199." : null;

const between = (value, most, words) => (value !== null && !(value >= LEAST && value <= most) ? words : null);

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
  id: ({ id }) => unprintable(id),
  due: ({ due }) => (due === null ? "Give a day and a time." : outOfTime(due)),
  schedule: ({ schedule }) => (schedule ? null : "Write a schedule, or choose a usual one below."),
  start: ({ start }) => outOfTime(start),
  end: ({ start, end }) =>
    end !== null && start !== null && end < start
      ? `This is before the start, ${full(new Date(start))}.`
      : outOfTime(end),
  max_runs: ({ max_runs: runs }) =>
    runs === null || (Number.isSafeInteger(runs) && runs >= 1) ? null : "Give a whole number, 1 or more.",
  spread: ({ spread }) => between(spread, DAY, "Give 0.001 to 86,400 seconds (a day), or nothing for none."),
  expires_after: ({ expires_after: late }) =>
    between(late, CENTURY, "Give 0.001 to 3,155,760,000 seconds (a century), or nothing for never."),
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
