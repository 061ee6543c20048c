// The fields of tasks by their kinds: how they are read, and how the API takes them.

import { doubleKey, get, pretty } from "./api.js";
import { byId, h } from "./dom.js";
import { limits, propertiesOf } from "./state.js";
import { YEARS, isInYears, moment } from "./time.js";

// The fields of a task as the server describes them in the schema of a new one: a row for each input of the form.


// name     of the input; `field` is the field of the API, and `part` the one within it, of a follow-up
// kind     the widget that it has: see below
// limits   its JSON schema, without null
// goes     with tasks that run once, with recurring ones, or with all
// stored   with the task, its recurrence, or its schedule
function rowsOf([field, { title, kind, goes, stored, unset, description: hint }]) {
  const row = { name: field, field, title, kind, goes, stored, unset, hint, limits: limits("NewTask", field) };
  if (kind !== "task") return [row];
  const part = (name, ofKind, more) => {
    const ofPart = { part: name, name: `${field}_${name}`, kind: ofKind, limits: row.limits.properties[name] };
    return { ...row, ...ofPart, ...more };
  };
  return [
    part("action", "action"),
    part("after", "duration", { title: "Its delay", hint: "at once, if not given", unset: "at once" }),
    part("payload", "json", { title: "Its payload", hint: "" }),
    part("result_as", "text", { title: "Its field for the result", hint: "of the task that is done", unset: "none" }),
  ];
}

export const ROWS = propertiesOf("NewTask")
  .filter(([name]) => name !== "in")
  .flatMap(rowsOf);

export const row = (name) => ROWS.find((one) => one.name === name);

// The names of the inputs for those that this holds for.
const namesWhere = (holds) => ROWS.filter(holds).map(({ name }) => name);

// The value of a row in a task; undefined if it has none.
export function valueIn(task, { field, part }) {
  const { recurrence } = task ?? {};
  const found = task?.[field] ?? recurrence?.[field] ?? recurrence?.schedule[field];
  if (field === "schedule") return recurrence?.schedule.expression;
  return part ? found?.[part] : found;
}

// The kinds of fields of the form: for each its widget, how it is read, and what can be wrong with it.


const SPANS = { 86400: " (a day)", 3155760000: " (a century)" };
const FEW = 20; // numbers that are chosen, not written

// Those that the server knows, not the browser: schedules are read by the server and the worker.
function zones() {
  if (!byId("zones")) {
    const list = h("datalist", { id: "zones" });
    document.body.append(list);
    get("timezones")
      .then(({ names }) => list.append(...names.map((name) => h("option", { value: name }))))
      .catch(() => list.remove()); // the next form asks again; until then, a name can be typed
  }
  return "zones";
}

const text = (name, properties) =>
  h("input", { name, autocomplete: "off", spellcheck: "false", ...properties });
const numeric = (name, properties) => text(name, { type: "number", inputmode: "decimal", ...properties });
const select = (name, values, value) =>
  h("select", { name }, ...values.map((one) => h("option", { value: String(one), selected: one === value }, String(one))));

const words = (value) => value.trim() || null;
const number = (value) => (value === "" ? null : Number(value));

const unprintable = (row, value) =>
  value && /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}/u.test(value) ? "Only printable characters can be in it." : null;

function seconds({ limits: { minimum, maximum }, unset }, value) {
  if (value === null || (value >= minimum && value <= maximum)) return null;
  const most = `${maximum.toLocaleString("en")} seconds${SPANS[maximum] ?? ""}`;
  return `Give ${minimum} to ${most}, or nothing for ${unset}.`;
}

function whole({ limits: { minimum, maximum } }, value) {
  if (value === null || (Number.isInteger(value) && value >= minimum && value <= maximum)) return null;
  return `Give a whole number, ${minimum} ${value > maximum ? `to ${maximum.toLocaleString("en")}` : "or more"}.`;
}

function wrongJson(row, value) {
  if (value === null) return null;
  try {
    JSON.parse(value);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  const key = doubleKey(value);
  return key === null
    ? null
    : `“${key}” is there twice, and only the last would count. Take one of them away.`;
}

export const outOfTime = (iso) =>
  iso === null || isInYears(iso) ? null : `Give a time in the years ${YEARS}.`;

const longest = ({ limits: { maxLength } }) => (maxLength === undefined ? undefined : String(maxLength));

// `widget` makes an input that shows the value, or a moment; `read` gives null where nothing is written.
export const KINDS = {
  text: {
    widget: (row, value) => text(row.name, { maxlength: longest(row), value: value ?? "" }),
    read: words,
    check: unprintable,
  },
  action: {
    widget: (row, value) => text(row.name, { list: "actions", maxlength: longest(row), value: value ?? "" }),
    read: words,
    check: unprintable,
  },
  texts: {
    widget: ({ name }, value) => text(name, { value: (value ?? []).join(", "), placeholder: "a, b" }),
    read: (value) => value.split(",").map((one) => one.trim()).filter(Boolean),
  },
  zone: { widget: ({ name }, value) => text(name, { list: zones(), value: value ?? "" }), read: words },
  time: { widget: ({ name }, value) => moment(name, value ?? null), check: (row, iso) => outOfTime(iso) },
  duration: {
    widget: ({ name }, value) => numeric(name, { min: "0", step: "any", value: value || "" }),
    read: (value) => number(value) || null,
    check: seconds,
  },
  number: {
    widget: ({ name, limits: { minimum, maximum } }, value) =>
      maximum > FEW
        ? numeric(name, { min: String(minimum), value: value ?? "" })
        : select(name, Array.from({ length: maximum - minimum + 1 }, (_, n) => minimum + n), value ?? minimum),
    read: number,
    check: whole,
  },
  choice: { widget: ({ name, limits }, value) => select(name, limits.enum, value), read: words },
  json: {
    widget: ({ name }, value) => h("textarea", { name, rows: "4", spellcheck: "false" }, value ? pretty(value) : ""),
    read: words,
    check: wrongJson,
  },
};

// What the form asks the API for.


const THEN = namesWhere(({ part }) => part);
// The fields of a schedule. A change of the schedule sends all of them.
const WITH_SCHEDULE = namesWhere(({ stored }) => stored === "schedule");

// The value of a field; null for its default, an empty list or no value, as for an empty input.
const DEFAULTS = { if_exists: "fail", holidays: "skip", priority: 0, spread: 0 };
const given = (name, value) => {
  const isNothing = value === undefined || value === DEFAULTS[name] || (Array.isArray(value) && !value.length);
  return isNothing ? null : value;
};

export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

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
    ...(input.if_exists.value === "push" ? [] : ["max_wait"]),
    ...(input.then_action.value.trim() ? [] : THEN.filter((name) => name !== "then_action")),
  ];
  return namesWhere(({ name }) => !left.includes(name));
}

export function changedIn(form, before) {
  const values = valuesOf(form);
  return counting(form).filter((name) => name !== "id" && !isSame(values[name], before[name]));
}

// A body with the JSON text of the payload and of what follows as it is: JavaScript's own numbers would round it.
function bodyOf({ payload, then, ...given }) {
  const texts = Object.entries({ then, payload }).filter(([, text]) => text !== undefined);
  const members = [JSON.stringify(given).slice(1, -1), ...texts.map(([name, text]) => `"${name}":${text}`)];
  return `{${members.filter(Boolean).join(",")}}`;
}

// The JSON text of what follows; null for nothing.
function thenOf({ then_action: action, then_after: after, then_payload: payload, then_result_as: resultAs }) {
  if (action === null) return "null";
  return bodyOf({ action, after: after ?? undefined, result_as: resultAs ?? undefined, payload: payload ?? undefined });
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

// The body of a request that adds the form's task, with the id `made` if none is given. Each form has one such
// id, so that a request that got no answer can be sent again.
export function toAdd(form, made) {
  const values = valuesOf(form);
  const names = counting(form).filter((name) => values[name] !== null && !THEN.includes(name));
  const given = pick(names, (name) => values[name]);
  if (values.then_action !== null) given.then = thenOf(values);
  return bodyOf(given.id || given.unique ? given : { id: made, if_exists: "keep", ...given });
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
