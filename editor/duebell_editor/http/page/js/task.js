// The panel with all of one task.

import { get, getTask, pretty, taskPath } from "./api.js";
import { taskLink } from "./changes.js";
import { busy, markBusy, onlySingleClicks, openDialog } from "./dialog.js";
import { h, isReadOnly, refill, topDialog, withCode } from "./dom.js";
import { canBeAddedAgain, openForm } from "./form.js";
import { ROWS, valueIn } from "./kinds.js";
import { badge } from "./rows.js";
import { addressQuery, on, putInAddress, tell } from "./state.js";
import { duration, lateness, time } from "./time.js";
import { toast } from "./toast.js";
import { doTo, openMove } from "./verbs.js";

// The buttons of one task: what can be done to it.


// After a click, no other button takes the place of the one that was clicked: a second click could hit it. No
// button that runs something comes first where Retry was. `act` does one of the verbs.
function buttons(task, act) {
  if (isReadOnly) return [];
  const button = (key, label, onclick, kind = "button") => h(kind, { "data-key": key, onclick }, label);
  const can = (verb) => task.can.includes(verb);
  const verb = (name, label, kind) => can(name) && button(name, label, () => act(name), kind);
  return [
    verb("retry", "Retry", "button.primary"),
    can("update") && button("edit", "Edit", () => openForm(task)),
    can("move") && button("move", task.recurrence ? "Move this one" : "Move", () => openMove(task)),
    can("pause") && button("hold", "Pause", () => act("pause")),
    can("resume") && button("hold", "Resume", () => act("resume"), "button.primary"),
    verb("run_now", "Run now"),
    canBeAddedAgain(task) && button("again", "Add again", () => openForm(null, { like: task })),
    verb("cancel", "Cancel", "button.danger"),
  ];
}

// What there is to know about one task, part by part.


function pair(name, ...value) {
  return value[0] === null || value[0] === undefined
    ? null
    : h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
}

const part = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);

// When it is queued for something else than its due date: to be retried, or spread. A limit or a pause of its
// action may put it back once more.
function starts({ status, queued, due, attempt, limited_since: isLimited }) {
  if (!queued || queued === due || status === "running") return null;
  return pair(isLimited ? "Next look" : attempt ? "Next attempt" : "Starts", time(queued));
}

// What it owes, or could not have; and why.
function followUp({ owes, follow_up_error: why }) {
  if (owes) return pair("Follow-up", "owed since ", time(owes.at), ": it is being added");
  return why && pair("Follow-up", `could not be added: ${why}`);
}

// How far the tasks of a batch are.
function progress({ open, left, done, failed, cancelled, expired }) {
  const ended = done + failed + cancelled + expired;
  return `${ended} of ${ended + left} have ended, ${failed} failed${open ? "; open for more" : ""}`;
}

// The fields that are shown as they are, but for those that have nothing.
function plain(task) {
  const SHOWN_ELSEWHERE = ["action", "id", "zone", "text", "time", "json", "task"];
  const isPlain = ({ part, kind, name }) => !part && !SHOWN_ELSEWHERE.includes(kind) && name !== "max_runs";
  return ROWS.filter(isPlain).map((one) => {
    const value = [valueIn(task, one)].flat().filter(Boolean);
    return value.length ? pair(one.title, value.map(one.kind === "duration" ? duration : String).join(", ")) : null;
  });
}

function when(task) {
  const { recurrence } = task;
  return part(
    "When",
    h(
      "dl",
      {},
      pair(recurrence ? "This occurrence" : "Due", time(task.due)),
      starts(task),
      task.limited_since && pair("Waits for its action's limit since", time(task.limited_since)),
      task.status === "reserved" && pair("Reserved until", time(task.reserved_until)),
      recurrence && pair("Schedule", recurrence.words, " ", h("code", {}, recurrence.schedule.expression)),
      recurrence?.max_runs && pair("Ends", `after ${recurrence.max_runs} runs; ${recurrence.runs} are over`),
      recurrence?.schedule.end && pair("Until", time(recurrence.schedule.end)),
      task.on_failed !== null && pair("When it has failed", task.on_failed || "nothing follows"),
      task.then &&
        pair("When it is done", task.then.action, task.then.after > 0 && ` ${duration(task.then.after)} later`,
          task.then.result_as && `, with the result as ${task.then.result_as}`),
      followUp(task),
      task.members && pair("Its tasks", progress(task.members)),
      task.batch && pair("Its batch", taskLink(task.batch)),
      ...plain(task),
    ),
    recurrence?.upcoming.length > 0 &&
      h(
        "details",
        { open: true },
        h("summary", {}, "Next times"),
        h("ol.times", {}, ...recurrence.upcoming.map((due) => h("li", {}, time(due)))),
      ),
  );
}

// Explains why the task waits, or started late: at once if it is late, else when the button is pressed.
function why(task) {
  const { starts_by: startsBy, started_at: startedAt } = task;
  if (!startsBy && !startedAt) return null;
  const answer = h("div", { role: "status" });
  const ask = () =>
    get(taskPath(task.id, "why")).then(
      ({ what, way_out: wayOut, is_late: isLate }) =>
        refill(
          answer,
          h(isLate ? "p.why" : "p", {}, isLate && h("strong", {}, "Late: "), what, "."),
          wayOut && h("p.quiet", {}, ...withCode(wayOut)),
        ),
      (error) => refill(answer, h("p", {}, `The cause cannot be read: ${error.message}`)),
    );
  if (startsBy && new Date(startsBy) < new Date()) ask();
  const label = startsBy ? "Why does it wait?" : "How late did it start?";
  refill(answer, h("button.small", { "data-key": "why", onclick: ask }, label));
  return part("Why", answer);
}

function payload(task) {
  if (task.payload_dropped !== null) {
    const size = task.payload_dropped.toLocaleString("en");
    return part("Payload", h("p.quiet", {}, `Not kept: it was ${size} bytes, and the task is done.`));
  }
  const text = pretty(task.payloadText);
  const copy = h(
    "button.small",
    {
      "data-key": "copy",
      onclick: async () => {
        await navigator.clipboard.writeText(text);
        toast("The payload is in the clipboard");
      },
    },
    "Copy",
  );
  return part("Payload", h("pre", { tabindex: "0", "aria-label": "Payload" }, text), navigator.clipboard && copy); // browsers have it on secure pages only
}

function result({ resultText, result_error: why }) {
  if (why) return part("Result", h("p.quiet", {}, `Not kept: ${why}.`));
  const text = resultText !== "null" && pretty(resultText);
  return text && part("Result", h("pre", { tabindex: "0", "aria-label": "Result" }, text));
}

function failure({ failure: why, status }) {
  if (!why) return null;
  return part(
    "Last failure",
    h("p.why", {}, h("strong", {}, why.type), ` ${why.message}`),
    why.traceback &&
      h(
        "details",
        { open: status === "failed" },
        h("summary", {}, "Traceback"),
        h("pre", { tabindex: "0", "aria-label": "Traceback" }, why.traceback),
      ),
  );
}

const table = (names, rows, kind = "table.plain") =>
  h(
    kind,
    {},
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );

function failures(task) {
  const isShownAbove = task.failure && task.failures.length === 1;
  if (!task.failures.length || isShownAbove) return null;
  return part("Failed attempts", eventTable(task.failures));
}

function occurrences(task) {
  if (!task.occurrences.length) return null;
  const rows = [...task.occurrences]
    .reverse()
    .map((one) =>
      h(
        "tr",
        {},
        h("td", {}, time(one.due, { words: false })),
        h(
          "td",
          {},
          badge(one.result),
          one.extra && " extra",
          one.missed > 0 && ` ${one.missed} missed before`,
          one.failure && h("small.why", {}, one.failure),
        ),
        h("td", {}, lateness(one.lateness_ms)),
        h("td", {}, String(one.attempts)),
      ),
    );
  return part("Past occurrences", table(["Due", "Result", "Late", "Attempts"], rows));
}

// What happened to the task before, when the button is pressed.
function history(task) {
  const answer = h("div", { role: "status" });
  const ask = () =>
    get(taskPath(task.id, "history")).then(
      ({ events }) => refill(answer, eventTable(events)),
      (error) => refill(answer, h("p", {}, `The history cannot be read: ${error.message}`)),
    );
  refill(answer, h("button.small", { "data-key": "history", onclick: ask }, "Show the history"));
  return part("History", answer);
}

const eventTable = (events) =>
  table(["When", "What", "By, or why"], [...events].reverse().map(eventRow), "table.plain.attempts");

function eventRow(one) {
  const took = one.ended_at && `took ${lateness(new Date(one.ended_at) - new Date(one.at))}`;
  const late = one.lateness_ms !== null && `${lateness(one.lateness_ms)} late`;
  const facts = one.what === "attempt" ? [took, late, one.run && `run ${one.run}`].filter(Boolean).join(", ") : "";
  return h(
    "tr",
    {},
    h("td", {}, time(one.at, { words: false })),
    h("td", {}, one.attempt ? `attempt ${one.attempt} ${one.result}` : one.result || one.what.replace("_", " ")),
    h(
      "td",
      {},
      one.what === "forgotten" ? "changes and attempts before are not kept" : one.by || one.error || "",
      facts && h("small", {}, facts),
    ),
  );
}

function details(task) {
  return part(
    "Details",
    h(
      "dl",
      {},
      pair("Id", task.id),
      pair("Added", time(task.created_at)),
      task.changed_by && pair("Last changed by", task.changed_by),
    task.traceparent && pair("Trace", task.traceparent.split("-")[1]),
      task.started_at && pair("Last started", time(task.started_at)),
      task.finished_at && pair("Finished", time(task.finished_at)),
      pair("Attempts", String(task.attempt)),
      task.lateness_ms !== null && pair("Started late by", lateness(task.lateness_ms)),
      task.run && pair("Run", h("code", {}, task.run)),
      task.expires_at && pair("History is kept until", time(task.expires_at)),
      pair("Lane of the queue", String(task.lane)),
      pair("Revision", String(task.rev)),
    ),
  );
}

// One task in full: what it shall do, when, and what has become of it.


let latest = 0; // the last that was asked for
let open = null; // { id, panel, task, actions }

function show(task) {
  open.task = task;
  const { heading, body, dialog } = open.panel;
  const { actions } = open;
  const hadFocus = body.contains(document.activeElement);
  heading.textContent = task.id;
  refill(actions, buttons(task, act));
  markBusy(actions);
  refill(
    body,
    h("p.lead", {}, badge(task.status), " ", h("span", {}, task.action)),
    !isReadOnly && actions,
    why(task),
    failure(task),
    failures(task),
    when(task),
    payload(task),
    result(task),
    occurrences(task),
    history(task),
    details(task),
  );
  if (hadFocus && !dialog.contains(document.activeElement)) heading.focus({ preventScroll: true });
  tell("task", task);
}

// Applies the verb, then reads the task again. The buttons are disabled until then: no verb is applied to an
// outdated task.
function act(verb) {
  const { task, actions } = open;
  return busy(actions, async () => {
    await doTo(task, verb);
    await refresh();
  });
}

function unread(error) {
  if (error.status === 404)
    return [h("p", {}, "There is no such task. The history of finished tasks is deleted after a while.")];
  return [
    h("p", { role: "alert" }, `The task cannot be shown: ${error.message}`),
    h("button.primary", { "data-key": "again", onclick: refresh }, "Try again"),
  ];
}

async function refresh() {
  if (!open) return;
  const { id } = open;
  const mine = (latest += 1);
  try {
    const task = await getTask(id);
    if (mine === latest && open?.id === id && open.task?.rev !== task.rev) show(task);
  } catch (error) {
    if (open?.id !== id) return;
    open.task = null; // whatever it is then, it is shown when it is read
    refill(open.panel.body, ...unread(error));
  }
}

function openTask(id) {
  if (open?.id === id && open.panel.dialog === topDialog()) return;
  open?.panel.dialog.close();
  const panel = openDialog(id, {
    kind: "panel",
    back: `open ${id}`,
    onclose: () => {
      if (open?.panel === panel) {
        open = null;
        tell("opened", null);
        putInAddress({ task: "" });
      }
    },
  });
  panel.body.append(h("p.quiet", {}, "Loading…"));
  open = { id, panel, task: null, actions: onlySingleClicks(h("div.actions")) };
  putInAddress({ task: id });
  tell("opened", id);
  refresh();
}

export const refreshTask = refresh;

function openAsked() {
  const id = addressQuery().get("task");
  if (id) openTask(id);
}

export function startTask() {
  on("open", openTask);
  // Moved, edited or undone from here: its buttons wait until that is seen.
  on("changed", (id) => {
    if (open?.id === id) busy(open.actions, refresh);
  });
  addEventListener("hashchange", openAsked);
  openAsked();
}
