// The fields of the form, and what they come to.

import { byId, h } from "./dom.js";
import { pretty } from "./payload.js";
import { ZONE, toLocalInput } from "./time.js";

const WORDS = {
  action: "The action",
  due: "The time",
  schedule: "The schedule",
  timezone: "The time zone",
  start: "The start",
  end: "The end",
  max_runs: "The number of runs",
  spread: "The spread",
  expires_after: "Too late",
  payload: "The payload",
  id: "The id",
};
export const wordsFor = (field) => WORDS[field] ?? field;

const label = (text, input, hint) => h("label", {}, h("span", {}, text), input, hint && h("small", {}, hint));
const local = (iso) => (iso ? toLocalInput(new Date(iso)) : "");

function zones() {
  if (!byId("zones")) {
    const names = ["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])];
    document.body.append(
      h("datalist", { id: "zones" }, ...names.map((name) => h("option", { value: name }))),
    );
  }
  return "zones";
}

export function fields(task) {
  const schedule = task?.recurrence?.schedule;
  const text = (name, properties) =>
    h("input", { name, autocomplete: "off", spellcheck: "false", ...properties });
  const moment = (name, value) => text(name, { type: "datetime-local", step: "1", value });
  const inAnHour = new Date(Math.ceil((Date.now() + 3600000) / 300000) * 300000);
  const input = {
    action: text("action", { list: "actions", maxlength: "256", value: task?.action ?? "" }),
    id: text("id", { maxlength: "256" }),
    once: h("input", { type: "radio", name: "kind", value: "once", checked: !schedule }),
    recurring: h("input", { type: "radio", name: "kind", value: "recurring", checked: Boolean(schedule) }),
    due: moment("due", task ? local(task.due) : toLocalInput(inAnHour)),
    schedule: text("schedule", { placeholder: "0 9 * * MON-FRI", value: schedule?.expression ?? "" }),
    timezone: text("timezone", { list: zones(), value: schedule?.timezone ?? ZONE }),
    start: moment("start", schedule?.expression.startsWith("rate") ? "" : local(schedule?.start)),
    end: moment("end", local(schedule?.end)),
    missed: h(
      "select",
      { name: "missed" },
      ...[
        ["once", "make up for them once"],
        ["all", "make up for each"],
        ["skip", "skip them"],
      ].map(([value, name]) => h("option", { value, selected: value === task?.recurrence?.missed }, name)),
    ),
    max_runs: text("max_runs", {
      type: "number",
      min: "1",
      inputmode: "numeric",
      value: task?.recurrence?.max_runs ?? "",
    }),
    spread: text("spread", { type: "number", min: "0", inputmode: "numeric", value: task?.spread || "" }),
    expires_after: text("expires_after", {
      type: "number",
      min: "0",
      inputmode: "numeric",
      value: task?.expires_after ?? "",
    }),
    payload: h(
      "textarea",
      { name: "payload", rows: "4", spellcheck: "false" },
      task ? pretty(task.payloadText) : "{}",
    ),
  };
  const kinds = h(
    "fieldset.segments",
    {},
    h("legend.unseen", {}, "How often"),
    h("label", {}, input.once, "Once"),
    h("label", {}, input.recurring, "Recurring"),
  );
  const quick = h(
    "div.quick",
    { role: "group", "aria-label": "Quick times" },
    ...[
      ["In 10 minutes", 10],
      ["In an hour", 60],
      ["In a day", 1440],
    ].map(([name, minutes]) =>
      chip(name, () => put(input.due, toLocalInput(new Date(Date.now() + minutes * 60000)))),
    ),
  );
  const usual = h(
    "div.quick",
    { role: "group", "aria-label": "Usual schedules" },
    ...[
      ["Every hour", "rate(1 hour)"],
      ["Daily at 9", "0 9 * * *"],
      ["Weekdays at 9", "0 9 * * MON-FRI"],
      ["First of the month", "0 9 1 * *"],
    ].map(([name, expression]) => chip(name, () => put(input.schedule, expression))),
  );
  const isFixed = ["failed", "expired"].includes(task?.status);
  const parts = [
    label("Action", input.action, "what the worker shall do"),
    !isFixed && (task ? null : kinds),
    !isFixed && h("div.once", {}, label(`When (${ZONE})`, input.due), quick),
    !isFixed &&
      h(
        "div.recurring",
        {},
        label("Schedule", input.schedule, "rate(5 minutes), cron(0 9 ? * MON-FRI *), or five cron fields"),
        usual,
        label("Time zone", input.timezone),
      ),
    h("div.preview", { "aria-live": "polite" }),
    label("Payload (JSON)", input.payload),
    !isFixed &&
      h(
        "details",
        {},
        h("summary", {}, "More"),
        h(
          "div.grid",
          {},
          !task && label("Id", input.id, "your own, or one is made up"),
          label("Spread, in seconds", input.spread, "run up to so much later"),
          h("div.once", {}, label("Too late after, in seconds", input.expires_after, "then it is not run")),
          h(
            "div.recurring",
            {},
            label("Not before", input.start),
            label("Not after", input.end),
            label("Missed ones", input.missed),
            label("Ends after so many runs", input.max_runs),
          ),
        ),
      ),
  ];
  const before = Object.fromEntries(Object.entries(input).map(([name, one]) => [name, one.value]));
  return { parts: parts.filter(Boolean), input, before };
}

const chip = (name, onclick) => h("button.chip", { type: "button", onclick }, name);

function put(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

const iso = (value) => (value ? new Date(value).toISOString() : null);
const number = (value) => (value === "" ? null : Number(value));
const words = (value) => value.trim() || null;

// What each field of the form comes to in a request; null where nothing is written.
const VALUE = {
  action: (value) => value.trim(),
  id: (value) => value || null,
  due: iso,
  schedule: (value) => value.trim(),
  timezone: words,
  start: iso,
  end: iso,
  missed: words,
  max_runs: number,
  spread: number,
  expires_after: number,
};
const RECURRING = ["schedule", "timezone", "start", "end", "missed", "max_runs"];
const ONCE = ["due", "expires_after"];
// Another schedule comes with its own of these.
const WITH_SCHEDULE = ["timezone", "start", "end"];

const bad = (field, reason) => ({ bad: { field, reason } });

function payloadOf(input) {
  const text = input.payload.value.trim() || "{}";
  JSON.parse(text);
  return text;
}

// A body with the payload as it is written: JavaScript's own numbers would round it.
function bodyOf(given, payload) {
  const text = JSON.stringify(given);
  if (payload === undefined) return text;
  return text === "{}" ? `{"payload":${payload}}` : `${text.slice(0, -1)},"payload":${payload}}`;
}

function asked(input) {
  const left = input.recurring.checked ? ONCE : RECURRING;
  return Object.keys(VALUE).filter((name) => !left.includes(name));
}

// The body of a request that adds what the form says, or { bad }.
export function readNew(input) {
  let payload;
  try {
    payload = payloadOf(input);
  } catch (error) {
    return bad("payload", `is not JSON: ${error.message}`);
  }
  if (!input.recurring.checked && !input.due.value) return bad("due", "is missing");
  const given = asked(input).map((name) => [name, VALUE[name](input[name].value)]);
  return { body: bodyOf(Object.fromEntries(given.filter(([, value]) => value !== null)), payload) };
}

// The body of a request that makes the task what the form says, and of one that makes it what it was; or
// { bad }. Only what was changed is in it, and null for what was taken away.
export function readChanges(input, before, task) {
  let payload;
  try {
    payload = payloadOf(input);
  } catch (error) {
    return bad("payload", `is not JSON: ${error.message}`);
  }
  const changed = new Set(asked(input).filter((name) => name !== "id" && input[name].value !== before[name]));
  if (changed.has("due") && !input.due.value) return bad("due", "is missing");
  if (changed.has("schedule")) for (const name of WITH_SCHEDULE) changed.add(name);
  const { schedule, ...rules } = task.recurrence ?? {};
  const was = { ...task, ...rules, ...schedule, schedule: schedule?.expression, spread: task.spread || null };
  const pick = (value) => Object.fromEntries([...changed].map((name) => [name, value(name)]));
  const isSame = payload === pretty(task.payloadText);
  return {
    body: bodyOf(
      pick((name) => VALUE[name](input[name].value)),
      isSame ? undefined : payload,
    ),
    back: bodyOf(
      pick((name) => was[name]),
      isSame ? undefined : task.payloadText,
    ),
  };
}
