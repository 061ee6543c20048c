// One task in full: what it shall do, when, and what has become of it.

import { asked, note } from "./address.js";
import { getTask } from "./api.js";
import { h, refill } from "./dom.js";
import { openDialog } from "./dialog.js";
import { openForm } from "./form.js";
import { openMove } from "./move.js";
import { pretty } from "./payload.js";
import { badge } from "./row.js";
import { on, tell } from "./state.js";
import { lateness, time } from "./time.js";
import { toast } from "./toast.js";
import { can, doTo } from "./verbs.js";

let open = null; // { id, panel, task }

function pair(name, ...value) {
  return value[0] === null || value[0] === undefined
    ? null
    : h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
}

const part = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);

function buttons(task) {
  const verb = (name, label, kind = "button") =>
    can(name, task) && h(kind, { "data-key": name, onclick: () => doTo(task, name) }, label);
  return h(
    "div.actions",
    {},
    verb("retry", "Retry", "button.primary"),
    verb("run", "Run now", "button.primary"),
    verb("resume", "Resume", "button.primary"),
    can("edit", task) && h("button", { "data-key": "edit", onclick: () => openForm(task) }, "Edit"),
    can("move", task) &&
      h(
        "button",
        { "data-key": "move", onclick: () => openMove(task) },
        task.recurrence ? "Move this one" : "Move",
      ),
    verb("pause", "Pause"),
    verb("cancel", "Cancel", "button.danger"),
  );
}

function when(task) {
  const { recurrence } = task;
  return part(
    "When",
    h(
      "dl",
      {},
      pair(recurrence ? "This occurrence" : "Due", time(task.due)),
      task.queued && task.queued !== task.due && pair("Looked at", time(task.queued)),
      recurrence && pair("Recurs", recurrence.words, " ", h("code", {}, recurrence.schedule.expression)),
      recurrence &&
        pair(
          "Missed ones",
          { once: "made up for once", all: "made up for, each", skip: "skipped" }[recurrence.missed],
        ),
      recurrence?.max_runs && pair("Ends", `after ${recurrence.max_runs} runs; ${recurrence.runs} are over`),
      recurrence?.schedule.end && pair("Until", time(recurrence.schedule.end)),
      task.spread > 0 && pair("Spread", `up to ${lateness(task.spread * 1000)}`),
      task.expires_after && pair("Expires", `when ${lateness(task.expires_after * 1000)} late`),
    ),
    recurrence?.upcoming.length > 0 &&
      h(
        "details",
        { open: true },
        h("summary", {}, "Then"),
        h("ol.times", {}, ...recurrence.upcoming.map((due) => h("li", {}, time(due)))),
      ),
  );
}

function payload(task) {
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
  return part("Payload", h("pre", { tabindex: "0", "aria-label": "Payload" }, text), copy);
}

function failure({ failure: why }) {
  if (!why) return null;
  return part(
    "Last failure",
    h("p.why", {}, h("strong", {}, why.type), ` ${why.message}`),
    why.traceback &&
      h(
        "details",
        {},
        h("summary", {}, "Traceback"),
        h("pre", { tabindex: "0", "aria-label": "Traceback" }, why.traceback),
      ),
  );
}

const table = (names, rows) =>
  h(
    "table.plain",
    {},
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );

function failures(task) {
  const isShownAbove = task.failure && task.failures.length === 1;
  if (!task.failures.length || isShownAbove) return null;
  const rows = [...task.failures]
    .reverse()
    .map((one) =>
      h(
        "tr",
        {},
        h(
          "td",
          {},
          String(one.attempt),
          task.recurrence && h("small", {}, "of ", time(one.due, { words: false, inside: true })),
        ),
        h("td", {}, one.started_at ? time(one.started_at, { words: false }) : "not known"),
        h(
          "td",
          {},
          h("strong", {}, one.type),
          ` ${one.message}`,
          one.started_at &&
            one.finished_at &&
            h("small", {}, `after ${lateness(new Date(one.finished_at) - new Date(one.started_at))}`),
        ),
      ),
    );
  return part("Failed attempts", table(["Attempt", "Started", "What came of it"], rows));
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
  return part("What has been", table(["Due", "Result", "Late", "Attempts"], rows));
}

function details(task) {
  return part(
    "Details",
    h(
      "dl",
      {},
      pair("Added", time(task.created_at)),
      task.started_at && pair("Last started", time(task.started_at)),
      task.finished_at && pair("Finished", time(task.finished_at)),
      pair("Attempts", String(task.attempt)),
      task.lateness_ms !== null && pair("Started late by", lateness(task.lateness_ms)),
      task.run && pair("Run", h("code", {}, task.run)),
      task.expires_at && pair("Forgotten", time(task.expires_at)),
      pair("Lane and revision", `${task.lane}, ${task.rev}`),
    ),
  );
}

function show(task) {
  open.task = task;
  const { heading, body } = open.panel;
  heading.textContent = task.id;
  refill(
    body,
    h("p.lead", {}, badge(task.status), " ", h("span", {}, task.action)),
    buttons(task),
    failure(task),
    failures(task),
    when(task),
    payload(task),
    occurrences(task),
    details(task),
  );
}

async function refresh() {
  if (!open) return;
  const { id } = open;
  try {
    const task = await getTask(id);
    if (open?.id === id && open.task?.rev !== task.rev) show(task);
  } catch (error) {
    if (open?.id !== id) return;
    refill(
      open.panel.body,
      h(
        "p",
        {},
        error.status === 404
          ? "There is no such task; finished tasks are forgotten after a while."
          : error.message,
      ),
    );
  }
}

export function openTask(id) {
  if (open?.id === id) return;
  open?.panel.dialog.close();
  const panel = openDialog(id, {
    kind: "panel",
    onclose: () => {
      if (open?.panel === panel) {
        open = null;
        tell("opened", null);
        note({ task: "" });
      }
    },
  });
  panel.body.append(h("p.quiet", {}, "Loading…"));
  open = { id, panel, task: null };
  note({ task: id });
  tell("opened", id);
  refresh();
}

export const refreshTask = refresh;

function openAsked() {
  const id = asked().get("task");
  if (id) openTask(id);
}

export function startTask() {
  on("open", openTask);
  addEventListener("hashchange", openAsked);
  openAsked();
}
