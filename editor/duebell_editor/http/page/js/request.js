// What the form asks the API for.

const number = (text) => (text === "" ? null : Number(text));
const words = (text) => text.trim() || null;

// What each field comes to; null where nothing is written.
const VALUE = {
  action: (text) => text.trim(),
  id: (text) => text || null,
  schedule: (text) => text.trim(),
  timezone: words,
  missed: words,
  max_runs: number,
  spread: (text) => number(text) || null,
  expires_after: number,
  priority: (text) => number(text) || null,
  payload: (text) => text.trim() || "{}",
};
const FIELDS = [
  "action",
  "id",
  "due",
  "schedule",
  "timezone",
  "start",
  "end",
  "missed",
  "max_runs",
  "spread",
  "expires_after",
  "priority",
];
const RECURRING = ["schedule", "timezone", "start", "end", "missed", "max_runs"];
const ONCE = ["due", "expires_after"];
// Another schedule comes with its own of these.
const WITH_SCHEDULE = ["timezone", "start", "end"];

export function valuesOf({ input, moments }) {
  const read = (name) => moments[name]?.read() ?? VALUE[name]?.(input[name].value) ?? null;
  return Object.fromEntries([...FIELDS, "payload"].map((name) => [name, read(name)]));
}

// The fields that count: those of the other kind of task are not shown.
export function counting({ input }) {
  const left = input.recurring.checked ? ONCE : RECURRING;
  return [...FIELDS, "payload"].filter((name) => !left.includes(name));
}

export function changedIn(form, before) {
  const values = valuesOf(form);
  return counting(form).filter((name) => name !== "id" && values[name] !== before[name]);
}

// A body with the payload as it is written: JavaScript's own numbers would round it.
export function bodyOf({ payload, ...given }) {
  const text = JSON.stringify(given);
  if (payload === undefined) return text;
  return text === "{}" ? `{"payload":${payload}}` : `${text.slice(0, -1)},"payload":${payload}}`;
}

const pick = (names, value) => Object.fromEntries(names.map((name) => [name, value(name)]));

// An id, as the server makes them.
export function madeId() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5");
}

// The body of a request that adds what the form says; under `made` where no id is given. That is the
// form's own, so that what was sent and never answered can be sent again.
export function toAdd(form, made) {
  const values = valuesOf(form);
  const names = counting(form).filter((name) => values[name] !== null);
  const given = pick(names, (name) => values[name]);
  return bodyOf(given.id ? given : { id: made, if_exists: "keep", ...given });
}

// The body of a request that makes the task what the form says, and of one that makes it what it was. Only
// what was changed is in it, and null for what was taken away. Null when nothing was.
export function toChange(form, before, task) {
  const changed = changedIn(form, before);
  if (!changed.length) return null;
  if (changed.includes("schedule"))
    changed.push(...WITH_SCHEDULE.filter((name) => !changed.includes(name)));
  const values = valuesOf(form);
  const { schedule, ...rules } = task.recurrence ?? {};
  const was = {
    ...task,
    ...rules,
    ...schedule,
    schedule: schedule?.expression,
    spread: task.spread || null,
    priority: task.priority || null,
    payload: task.payloadText,
  };
  return {
    body: bodyOf(pick(changed, (name) => values[name])),
    back: bodyOf(pick(changed, (name) => was[name])),
  };
}

