// The page of the worker's actions: what each takes, and a form to add a task for it.

import { limitLine, openLimit } from "./action_limits.js";
import { get } from "./api.js";
import { several } from "./counts.js";
import { byId, h, refill, reword } from "./dom.js";
import { openForm } from "./form.js";
import { refresh, seldom, startFrame } from "./frame.js";
import { isReadOnly } from "./read_only.js";
import { fieldsOf } from "./schema.js";
import { refreshStatus } from "./status.js";
import { refreshTask } from "./task.js";
import { time } from "./time.js";

const NAMES = { choice: "one of", text: "text", "date-time": "date and time", integer: "whole number", json: "JSON" };

function typeOf({ kind, values, isNullable }) {
  const name = NAMES[kind] ?? kind;
  const choices = kind === "choice" ? ` ${values.map((value) => JSON.stringify(value)).join(", ")}` : "";
  return `${name}${choices}${isNullable ? " or nothing" : ""}`;
}

function payload({ schema, to }) {
  if (to) return h("p.quiet", {}, "Takes any payload.");
  if (schema === null) return h("p.quiet", {}, "Takes no payload.");
  const fields = fieldsOf(schema);
  return [
    fields?.length > 0 &&
      h(
        "dl",
        {},
        ...fields.map((one) =>
          h(
            "div",
            {},
            h("dt", {}, h("code", {}, one.name), !one.isRequired && " optional"),
            h("dd", {}, typeOf(one)),
          ),
        ),
      ),
    h(
      "details",
      {},
      h("summary", {}, "JSON Schema of the payload"),
      h("pre", { tabindex: "0", "aria-label": "JSON Schema" }, JSON.stringify(schema, null, 2)),
    ),
  ];
}

const schedule = (id) => h("a", { href: `schedules#task=${encodeURIComponent(id)}` }, id);

function card(action, limit) {
  const { name, attempts, recurring, kind, to } = action;
  const add = () => openForm(null, { action: name });
  return h(
    "li",
    {},
    h(
      "div.bar",
      {},
      h("h3", {}, name),
      h("span.quiet", {}, several(attempts, "attempt")),
      h("a", { href: `./#action=${encodeURIComponent(name)}` }, "Its tasks"),
      !isReadOnly &&
        h(
          "button.small",
          {
            "data-key": `limit ${name}`,
            "aria-label": `Limits of ${name}`,
            onclick: () => openLimit(name, limit),
          },
          "Limits",
        ),
      !isReadOnly &&
        h("button.small", { "data-key": `add ${name}`, "aria-label": `Add a task for ${name}`, onclick: add }, "Add a task"),
    ),
    limitLine(limit),
    to && h("p", {}, `Sends to the ${kind === "https" ? "address" : kind} `, h("code", {}, to)),
    payload(action),
    recurring.length > 0 &&
      h("p", {}, "Recurring by its code: ", ...recurring.flatMap((id, at) => [at ? ", " : "", schedule(id)])),
  );
}

function trouble({ type, message, traceback }) {
  return h(
    "div.ill",
    { role: "alert" },
    h("p", {}, h("strong", {}, "The worker could not start: "), `${type}: ${message}`),
    traceback && h("pre", { tabindex: "0", "aria-label": "Traceback" }, traceback),
    h("p.quiet", {}, "No task runs until it is deployed without this error. The actions below are those it had before."),
  );
}

function said(worker) {
  if (!worker)
    return h("p.quiet", {}, "No worker has made itself known. It does when it starts: deploy it, or run it once.");
  const { version, duebell, python, tzdata, started_at: startedAt, actions } = worker;
  const releases = `Version ${version}, with duebell ${duebell}, Python ${python}, time zones ${tzdata}, started `;
  return [
    worker.error && trouble(worker.error),
    h("p.quiet", {}, releases, time(startedAt, { words: false, inside: true }), "."),
    !actions.length && !worker.error && h("p", {}, "It has no action."),
  ].filter(Boolean);
}

async function refreshWorker() {
  const [{ worker }, { limits }] = await Promise.all([get("worker"), get("limits")]);
  const limitOf = Object.fromEntries(limits.map((one) => [one.action, one]));
  reword(byId("worker"), said(worker));
  const now = JSON.stringify([worker?.actions ?? [], limits]);
  if (byId("list").dataset.shown !== now) {
    byId("list").dataset.shown = now; // an opened schema stays open
    refill(byId("list"), (worker?.actions ?? []).map((one) => card(one, limitOf[one.name])));
  }
  byId("content").setAttribute("aria-busy", "false");
}

const seldomWorker = seldom(refreshWorker);
startFrame(
  () => refresh(refreshStatus, refreshWorker, refreshTask),
  () => refresh(seldomWorker, refreshTask),
);
refresh(refreshStatus, refreshWorker);
