// The fields of the form: what is in them, and how they are laid out.

import { get } from "./api.js";
import { byId, h } from "./dom.js";
import { field } from "./field.js";
import { choices, limits } from "./limits.js";
import { moment } from "./moment.js";
import { pretty, rawField } from "./payload.js";
import { ZONE, toLocalInput } from "./time.js";

export const NAMES = {
  action: "Action",
  due: "Due",
  schedule: "Schedule",
  timezone: "Time zone",
  start: "Not before",
  end: "Not after",
  missed: "Missed runs",
  max_runs: "Number of runs",
  spread: "Spread",
  expires_after: "Expiry",
  priority: "Priority",
  payload: "Payload",
  id: "Id",
  if_exists: "If it is there already",
  at_most: "Put off at most",
  on_failed: "When it has failed",
  then_action: "When it is done",
  then_after: "How long after it is done",
  then_payload: "Payload of what follows",
};

// What adding does where the id is taken; in the order of the API's schema.
const IF_EXISTS = {
  fail: "say so, and add nothing",
  keep: "leave the task that is there",
  replace: "put this one in its place",
  push: "put off the one that waits",
};

export const MISSED = {
  once: "run once for all of them",
  all: "run each of them",
  skip: "skip them",
};

const MINUTE = 60000;
const inAnHour = () => new Date(Math.ceil((Date.now() + 60 * MINUTE) / (5 * MINUTE)) * 5 * MINUTE);
const ifToCome = (iso) => (iso && Date.parse(iso) > Date.now() ? iso : null);

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
const number = (name, properties) => text(name, { type: "number", inputmode: "decimal", ...properties });

const longest = (name) => String(limits("NewTask", name).maxLength);

// Filled with what the task has; with times to come where a new one is made like it.
function inputs(task, isNew) {
  const { schedule, missed, max_runs: maxRuns } = task?.recurrence ?? {};
  const bound = (iso) => (isNew ? ifToCome(iso) : (iso ?? null));
  const isRate = schedule?.expression.startsWith("rate"); // it is counted from its start, which is no bound
  const moments = {
    due: moment("due", isNew ? inAnHour().toISOString() : task.due),
    start: moment("start", isRate ? null : bound(schedule?.start)),
    end: moment("end", bound(schedule?.end)),
  };
  const input = {
    action: text("action", { list: "actions", maxlength: longest("action"), value: task?.action ?? "" }),
    id: text("id", { maxlength: longest("id") }),
    once: h("input", { type: "radio", name: "kind", value: "once", checked: !schedule }),
    recurring: h("input", { type: "radio", name: "kind", value: "recurring", checked: Boolean(schedule) }),
    due: moments.due.input,
    schedule: text("schedule", { placeholder: "0 9 * * MON-FRI", value: schedule?.expression ?? "" }),
    timezone: text("timezone", { list: zones(), value: schedule?.timezone ?? ZONE }),
    start: moments.start.input,
    end: moments.end.input,
    missed: h(
      "select",
      { name: "missed" },
      ...Object.entries(MISSED).map(([value, name]) =>
        h("option", { value, selected: value === missed }, name),
      ),
    ),
    max_runs: number("max_runs", { min: String(limits("NewTask", "max_runs").minimum), value: maxRuns ?? "" }),
    spread: number("spread", { min: "0", step: "any", value: task?.spread || "" }),
    expires_after: number("expires_after", { min: "0", step: "any", value: task?.expires_after ?? "" }),
    priority: h(
      "select",
      { name: "priority" },
      ...Array.from({ length: limits("NewTask", "priority").maximum + 1 }, (_, value) =>
        h("option", { value: String(value), selected: value === (task?.priority ?? 0) }, String(value)),
      ),
    ),
    if_exists: h(
      "select",
      { name: "if_exists" },
      ...choices("NewTask", "if_exists").map((value) => h("option", { value }, IF_EXISTS[value] ?? value)),
    ),
    at_most: number("at_most", { min: "0", step: "any" }),
    on_failed: text("on_failed", { list: "actions", maxlength: longest("on_failed"), value: task?.on_failed ?? "" }),
    then_action: text("then_action", { list: "actions", maxlength: longest("action"), value: task?.then?.action ?? "" }),
    then_after: number("then_after", { min: "0", step: "any", value: task?.then?.after || "" }),
    then_payload: h(
      "textarea",
      { name: "then_payload", rows: "3", spellcheck: "false" },
      task?.then ? pretty(rawField(task.thenText, "payload")) : "",
    ),
    payload: h(
      "textarea",
      { name: "payload", rows: "4", spellcheck: "false" },
      task ? pretty(task.payloadText) : "{}",
    ),
  };
  return { input, moments };
}

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

function once(input, moments) {
  const later = (minutes) => () => put(input.due, toLocalInput(new Date(Date.now() + minutes * MINUTE)));
  const quick = [
    ["In 10 minutes", later(10)],
    ["In an hour", later(60)],
    ["In a day", later(1440)],
  ];
  const when = field(`When (${ZONE})`, input.due, { note: moments.due.note });
  return h("div.once", {}, when, chips("Quick times", quick), said());
}

function recurring(input) {
  const usual = [
    ["Every hour", "rate(1 hour)"],
    ["Daily at 9", "0 9 * * *"],
    ["Weekdays at 9", "0 9 * * MON-FRI"],
    ["First of the month", "0 9 1 * *"],
  ].map(([name, expression]) => [name, () => put(input.schedule, expression)]);
  const hint = "rate(5 minutes), cron(0 9 ? * MON-FRI *), or five cron fields";
  return h(
    "div.recurring",
    {},
    field("Schedule", input.schedule, { hint }),
    chips("Usual schedules", usual),
    said(),
    field("Time zone of the schedule", input.timezone),
  );
}

// A task of its own, when this one is over. What belongs to it is asked for once there is one.
function following(input) {
  const rest = h(
    "div.grid",
    {},
    field("So many seconds after", input.then_after, { hint: "at once, if not given" }),
    field("What that is given (JSON)", input.then_payload),
  );
  const show = () => (rest.hidden = !input.then_action.value.trim());
  input.then_action.addEventListener("input", show);
  show();
  return h(
    "fieldset.following",
    {},
    h("legend", {}, "What follows"),
    h(
      "div.grid",
      {},
      field(NAMES.on_failed, input.on_failed, { hint: "action that gets the failed task; else as its action says" }),
      field(NAMES.then_action, input.then_action, { hint: "action of the next task" }),
    ),
    rest,
  );
}

// What to do where the id is taken; how long it can be put off is asked for if it can be.
function ifTaken(input) {
  const limit = field("Put off at most, in seconds", input.at_most, { hint: "after it was added first" });
  const show = () => (limit.hidden = input.if_exists.value !== "push");
  input.if_exists.addEventListener("input", show);
  show();
  return [field(NAMES.if_exists, input.if_exists), limit];
}

function more(input, moments, id, isNew) {
  const bound = (name) =>
    field(`${NAMES[name]} (your time, ${ZONE})`, input[name], { note: moments[name].note });
  return h(
    "details",
    {},
    h("summary", {}, "More"),
    h(
      "div.grid",
      {},
      id,
      ...(isNew ? ifTaken(input) : []),
      field("Spread, in seconds", input.spread, { hint: "run up to so much later" }),
      field("Priority", input.priority, { hint: "of what waits, higher ones go first" }),
      h(
        "div.once",
        {},
        field("Expires after, in seconds", input.expires_after, { hint: "so late, it is not run at all" }),
      ),
      h(
        "div.recurring",
        {},
        bound("start"),
        bound("end"),
        field("Missed runs", input.missed),
        field("Ends after so many runs", input.max_runs),
      ),
    ),
    following(input),
  );
}

// For a task that is edited; or for a new one, `like` another or not.
export function fields(task, like = null) {
  const { input, moments } = inputs(task ?? like, !task);
  const isFixed = task && !task.can.includes("move"); // it is over: only what is tried again can be changed
  const id = !task && field("Id", input.id, { hint: "your own, or one is made up" });
  const parts = [
    field("Action", input.action, { hint: "what the worker shall do" }),
    like && id,
    !task && kinds(input),
    !isFixed && once(input, moments),
    !isFixed && recurring(input),
    field("Payload (JSON)", input.payload),
    !isFixed && more(input, moments, !like && id, !task),
  ];
  // What a rate is counted from, as long as it stays the same.
  const { expression, start } = task?.recurrence?.schedule ?? {};
  const anchor = { expression, start };
  return { parts: parts.filter(Boolean), input, moments, anchor };
}
