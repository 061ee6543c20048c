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
    spread: text("spread", { type: "number", min: "0", inputmode: "numeric" }),
    expires_after: text("expires_after", { type: "number", min: "0", inputmode: "numeric" }),
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
          !task && label("Spread, in seconds", input.spread, "run up to so much later"),
          !task && label("Too late after, in seconds", input.expires_after, "then it is not run"),
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
  return { parts: parts.filter(Boolean), input };
}

const chip = (name, onclick) => h("button.chip", { type: "button", onclick }, name);

function put(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

const iso = (value) => (value ? new Date(value).toISOString() : undefined);
const number = (value) => (value === "" ? undefined : Number(value));

// The request's body, as text; only what differs when a task is edited.
export function read(input, task) {
  const payload = input.payload.value.trim() || "{}";
  try {
    JSON.parse(payload);
  } catch (error) {
    return { bad: { field: "payload", reason: `is not JSON: ${error.message}` } };
  }
  const before = task?.recurrence;
  const given = { action: input.action.value.trim() };
  if (input.recurring.checked) {
    Object.assign(given, {
      schedule: input.schedule.value.trim(),
      timezone: input.timezone.value.trim() || undefined,
      start: iso(input.start.value),
      end: iso(input.end.value),
      missed: input.missed.value,
      max_runs: number(input.max_runs.value),
    });
  } else {
    given.due = iso(input.due.value);
    if (!given.due) return { bad: { field: "due", reason: "is missing" } };
  }
  if (!task)
    Object.assign(given, {
      id: input.id.value || undefined,
      spread: number(input.spread.value),
      expires_after: number(input.expires_after.value),
    });
  else {
    if (given.action === task.action) delete given.action;
    if (given.due && input.due.value === local(task.due)) delete given.due;
    if (before && sameSchedule(given, before))
      for (const name of ["schedule", "timezone", "start", "end"]) delete given[name];
    if (before?.missed === given.missed) delete given.missed;
    if (before?.max_runs === given.max_runs) delete given.max_runs;
  }
  const isSame = task && payload === pretty(task.payloadText);
  const text = JSON.stringify(given);
  return {
    body: isSame
      ? text
      : text === "{}"
        ? `{"payload":${payload}}`
        : `${text.slice(0, -1)},"payload":${payload}}`,
  };
}

function sameSchedule(given, { schedule }) {
  const start = schedule.expression.startsWith("rate") ? undefined : schedule.start;
  const same = (one, other) =>
    (one ? new Date(one).getTime() : 0) === (other ? Math.floor(new Date(other) / 1000) * 1000 : 0);
  return (
    given.schedule === schedule.expression &&
    given.timezone === schedule.timezone &&
    same(given.start, start) &&
    same(given.end, schedule.end)
  );
}
