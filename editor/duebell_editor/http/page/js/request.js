// What the form asks the API for.

import { KINDS } from "./kinds.js";
import { ROWS, namesWhere, valueIn } from "./task_fields.js";

const THEN = namesWhere(({ part }) => part);
// Another schedule comes with its own of these.
const WITH_SCHEDULE = ["timezone", "start", "end"];

// What is stored for nothing is null, as nothing written is; and an empty payload is an empty object.
const DEFAULTS = { if_exists: "fail", priority: 0, spread: 0 };
const given = (name, value) => (value === undefined || value === DEFAULTS[name] ? null : value);

// What each field comes to; null where nothing is written.
export function valuesOf({ input, moments }) {
  const read = ({ name, kind }) => (moments[name] ? moments[name].read() : KINDS[kind].read(input[name].value));
  const values = Object.fromEntries(ROWS.map((one) => [one.name, given(one.name, read(one))]));
  return { ...values, payload: values.payload ?? "{}" };
}

// The fields that count: those of the other kind of task are not shown.
export function counting({ input }) {
  const other = input.recurring.checked ? "once" : "recurring";
  const left = [
    ...namesWhere(({ goes }) => goes === other),
    ...(input.if_exists.value === "push" ? [] : ["at_most"]),
    ...(input.then_action.value.trim() ? [] : ["then_after", "then_payload"]),
  ];
  return namesWhere(({ name }) => !left.includes(name));
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

// What a task has in its fields; null for nothing.
const taskValues = (task) =>
  Object.fromEntries(ROWS.filter(({ part }) => !part).map((one) => [one.name, given(one.name, valueIn(task, one))]));

// The body of a request that adds a task that runs once as it was.
export function toAddAgain(task) {
  const values = Object.entries(taskValues(task)).filter(([, value]) => value !== null);
  const then = task.then ? task.thenText : undefined;
  return bodyOf({ ...Object.fromEntries(values), then, if_exists: "replace", payload: task.payloadText });
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
  const was = { ...taskValues(task), payload: task.payloadText, then: task.thenText };
  const isThen = changed.some((name) => THEN.includes(name));
  const written = [...changed.filter((name) => !THEN.includes(name)), ...(isThen ? ["then"] : [])];
  return {
    body: bodyOf(pick(written, (name) => values[name])),
    back: bodyOf(pick(written, (name) => was[name])),
  };
}

