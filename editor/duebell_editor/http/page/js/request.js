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
  if_exists: (text) => (text === "fail" ? null : text),
  at_most: number,
  on_failed: words,
  then_action: words,
  then_after: (text) => number(text) || null,
  then_payload: words,
};
const THEN = ["then_action", "then_after", "then_payload"];
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
  "on_failed",
  ...THEN,
  "if_exists",
  "at_most",
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
  const left = [
    ...(input.recurring.checked ? ONCE : RECURRING),
    ...(input.if_exists.value === "push" ? [] : ["at_most"]),
    ...(input.then_action.value.trim() ? [] : ["then_after", "then_payload"]),
  ];
  return [...FIELDS, "payload"].filter((name) => !left.includes(name));
}

export function changedIn(form, before) {
  const values = valuesOf(form);
  return counting(form).filter((name) => name !== "id" && values[name] !== before[name]);
}

// A body with the JSON text of the payload and of what follows as it is: JavaScript's own numbers would round it.
export function bodyOf({ payload, then, ...given }) {
  const texts = Object.entries({ then, payload }).filter(([, text]) => text !== undefined);
  const members = [JSON.stringify(given).slice(1, -1), ...texts.map(([name, text]) => `"${name}":${text}`)];
  return `{${members.filter(Boolean).join(",")}}`;
}

// The JSON text of what follows; null for nothing.
function thenOf({ then_action: action, then_after: after, then_payload: payload }) {
  if (action === null) return "null";
  return bodyOf({ action, after: after ?? undefined, payload: payload ?? undefined });
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
  const names = counting(form).filter((name) => values[name] !== null && !THEN.includes(name));
  const given = pick(names, (name) => values[name]);
  if (values.then_action !== null) given.then = thenOf(values);
  return bodyOf(given.id ? given : { id: made, if_exists: "keep", ...given });
}

// The body of a request that makes the task what the form says, and of one that makes it what it was. Only
// what was changed is in it, and null for what was taken away. Null when nothing was.
export function toChange(form, before, task) {
  const changed = changedIn(form, before);
  if (!changed.length) return null;
  if (changed.includes("schedule"))
    changed.push(...WITH_SCHEDULE.filter((name) => !changed.includes(name)));
  const values = { ...valuesOf(form), then: thenOf(valuesOf(form)) };
  const { schedule, ...rules } = task.recurrence ?? {};
  const was = {
    ...task,
    ...rules,
    ...schedule,
    schedule: schedule?.expression,
    spread: task.spread || null,
    priority: task.priority || null,
    payload: task.payloadText,
    then: task.thenText,
  };
  const isThen = changed.some((name) => THEN.includes(name));
  const written = [...changed.filter((name) => !THEN.includes(name)), ...(isThen ? ["then"] : [])];
  return {
    body: bodyOf(pick(written, (name) => values[name])),
    back: bodyOf(pick(written, (name) => was[name])),
  };
}

