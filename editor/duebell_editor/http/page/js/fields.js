// The fields of the form, and how they are laid out.

import { h } from "./dom.js";
import { field } from "./field.js";
import { KINDS } from "./kinds.js";
import { rawField } from "./payload.js";
import { ROWS, row, valueIn } from "./task_fields.js";
import { ZONE, toLocalInput } from "./time.js";

const MINUTE = 60000;
const inAnHour = () => new Date(Math.ceil((Date.now() + 60 * MINUTE) / (5 * MINUTE)) * 5 * MINUTE);
const ifToCome = (iso) => (iso && Date.parse(iso) > Date.now() ? iso : null);

// What a field shows: what the task has, with times to come where a new one is made like it.
function shown(one, task, isNew) {
  const { name, field, kind } = one;
  const value = valueIn(task, one);
  const isRate = task?.recurrence?.schedule.expression.startsWith("rate"); // it is counted from its start
  if (name === "payload") return task ? task.payloadText : "{}";
  if (kind === "json") return task?.[field] ? rawField(task.thenText, "payload") : "";
  if (name === "id") return "";
  if (name === "due" && isNew) return inAnHour().toISOString();
  if (name === "start" && isRate) return null;
  if (kind === "time" && isNew) return ifToCome(value);
  if (kind === "zone") return value ?? ZONE;
  return value;
}

function inputs(task, isNew) {
  const isRecurring = Boolean(task?.recurrence);
  const input = {
    once: h("input", { type: "radio", name: "kind", value: "once", checked: !isRecurring }),
    recurring: h("input", { type: "radio", name: "kind", value: "recurring", checked: isRecurring }),
  };
  const moments = {};
  for (const one of ROWS) {
    const widget = KINDS[one.kind].widget(one, shown(one, task, isNew));
    if (one.kind === "time") moments[one.name] = widget;
    input[one.name] = widget.input ?? widget;
  }
  input.schedule.placeholder = "0 9 * * MON-FRI";
  return { input, moments };
}

const UNITS = { duration: ", in seconds", time: ` (your time, ${ZONE})`, json: " (JSON)" };

// A field with its title, its unit and what it means.
const titled = (name, { input, moments }) => {
  const { title, kind, hint } = row(name);
  return field(`${title}${UNITS[kind] ?? ""}`, input[name], { hint, note: moments[name]?.note });
};

const chip = (name, onclick) => h("button.chip", { type: "button", onclick }, name);

function put(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function chips(name, given) {
  return h("div.quick", { role: "group", "aria-label": name }, ...given.map(([of, put]) => chip(of, put)));
}

const said = () => h("div.preview", { "aria-live": "polite" });

function kinds({ once, recurring }) {
  return h(
    "fieldset.segments",
    {},
    h("legend.unseen", {}, "How often"),
    h("label", {}, once, "Once"),
    h("label", {}, recurring, "Recurring"),
  );
}

function once({ input, moments }) {
  const later = (minutes) => () => put(input.due, toLocalInput(new Date(Date.now() + minutes * MINUTE)));
  const quick = [
    ["In 10 minutes", later(10)],
    ["In an hour", later(60)],
    ["In a day", later(1440)],
  ];
  const when = field(`When (${ZONE})`, input.due, { note: moments.due.note });
  return h("div.once", {}, when, chips("Quick times", quick), said());
}

function recurring(all) {
  const { input } = all;
  const usual = [
    ["Every hour", "rate(1 hour)"],
    ["Daily at 9", "0 9 * * *"],
    ["Weekdays at 9", "0 9 * * MON-FRI"],
    ["First of the month", "0 9 1 * *"],
  ].map(([name, expression]) => [name, () => put(input.schedule, expression)]);
  return h(
    "div.recurring",
    {},
    titled("schedule", all),
    chips("Usual schedules", usual),
    said(),
    titled("timezone", all),
  );
}

// A task of its own, when this one is over. What belongs to it is asked for once there is one.
function following(all) {
  const { then_action: action } = all.input;
  const rest = h("div.grid", {}, titled("then_after", all), titled("then_payload", all));
  const show = () => (rest.hidden = !action.value.trim());
  action.addEventListener("input", show);
  show();
  return h(
    "fieldset.following",
    {},
    h("legend", {}, "What follows"),
    h("div.grid", {}, titled("on_failed", all), titled("then_action", all)),
    rest,
  );
}

// What to do where the id is taken; how long it can be put off is asked for if it can be.
function ifTaken(all) {
  const policy = all.input.if_exists;
  const limit = titled("at_most", all);
  const show = () => (limit.hidden = policy.value !== "push");
  policy.addEventListener("input", show);
  show();
  return [titled("if_exists", all), limit];
}

// The fields that have a place of their own. All others are under More.
const PLACED = [
  ...["action", "id", "due", "schedule", "timezone", "payload", "if_exists", "at_most"],
  ...["on_failed", "then_action", "then_after", "then_payload"],
];

function more(all, id, isNew) {
  const others = (kind) => ROWS.filter(({ name, goes }) => goes === kind && !PLACED.includes(name));
  const titles = (kind) => others(kind).map(({ name }) => titled(name, all));
  return h(
    "details",
    {},
    h("summary", {}, "More"),
    h(
      "div.grid",
      {},
      id,
      ...(isNew ? ifTaken(all) : []),
      ...titles("all"),
      h("div.once", {}, ...titles("once")),
      h("div.recurring", {}, ...titles("recurring")),
    ),
    following(all),
  );
}

// For a task that is edited; or for a new one, `like` another or not.
export function fields(task, like = null) {
  const all = inputs(task ?? like, !task);
  const { input, moments } = all;
  const isFixed = task && !task.can.includes("move"); // it is over: only what is tried again can be changed
  const id = !task && titled("id", all);
  const parts = [
    titled("action", all),
    like && id,
    !task && kinds(input),
    !isFixed && once(all),
    !isFixed && recurring(all),
    titled("payload", all),
    !isFixed && more(all, !like && id, !task),
  ];
  // What a rate is counted from, as long as it stays the same.
  const { expression, start } = task?.recurrence?.schedule ?? {};
  const anchor = { expression, start };
  return { parts: parts.filter(Boolean), input, moments, anchor };
}
