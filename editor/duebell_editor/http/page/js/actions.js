// The page of the worker's actions and their limits.

import { ask, get } from "./api.js";
import { busy, openDialog } from "./dialog.js";
import { byId, h, isReadOnly, refill, reword, several } from "./dom.js";
import { blame, field, forgive } from "./field.js";
import { openForm } from "./form.js";
import { refresh, seldom, startFrame } from "./frame.js";
import { fieldsOf } from "./payload_form.js";
import { tell } from "./state.js";
import { closedWords, limitWords as words, refreshStatus, setWords, waitingOf } from "./status.js";
import { refreshTask } from "./task.js";
import { time } from "./time.js";
import { toast } from "./toast.js";

// The limits of an action, over all runs together: what they are, and a dialog to set them.


// A line on a card; nothing where there is no limit.
function limitLine(limit) {
  if (!limit) return null;
  const { at_most: atMost, per_second: perSecond, closed, paused, since } = limit;
  const waiting = waitingOf(limit);
  const declared = words(limit.declared_at_most, limit.declared_per_second, limit.declared_closed);
  return h(
    "p",
    { class: paused ? "paused" : undefined },
    paused ? h("strong", {}, "Paused") : `Limits: ${words(atMost, perSecond, closed)}`,
    ...closedWords(limit),
    ...setWords(limit),
    since && `. Its code declares: ${declared}.`,
    waiting && `${since ? " " : "; "}${waiting}${since ? "." : ""}`,
  );
}

// The value that is written; null where nothing is, and undefined where it should be a number and is none.
function read(input) {
  const text = input.value.trim();
  if (!text || input.name === "closed") return text || null;
  return Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function openLimit(action, limit) {
  const { dialog, body } = openDialog(`Limits of ${action}`, { kind: "form" });
  const given = (name) => (limit?.since && limit[name] !== limit[`declared_${name}`] ? limit[name] : null);
  const input = (name, inputmode = "decimal") =>
    h("input", { name, inputmode, autocomplete: "off", value: String(given(name) ?? "") });
  const inputs = { at_most: input("at_most"), per_second: input("per_second"), closed: input("closed", "text") };
  const wrong = h("p.wrong", { role: "alert" });

  async function set(limits) {
    wrong.textContent = "";
    try {
      const now = await ask("PATCH", `limits/${encodeURIComponent(action)}`, { body: limits });
      dialog.close();
      toast(now.paused ? `${action} is paused` : `${action}: ${words(now.at_most, now.per_second, now.closed)}`);
      tell("changed", null);
    } catch (error) {
      wrong.textContent = error.message;
    }
  }

  function send() {
    const limits = {};
    for (const [name, one] of Object.entries(inputs)) {
      forgive(one);
      if (one.value === one.defaultValue) continue; // somebody else may have set another limit
      limits[name] = read(one);
      if (limits[name] === undefined) {
        blame(one, "Give a number, or nothing.");
        one.focus();
        return undefined;
      }
    }
    return Object.keys(limits).length ? set(limits) : dialog.close();
  }

  const button = (text, limits) =>
    h("button", { type: "button", onclick: () => busy(foot, () => set(limits)) }, text);
  const foot = h(
    "div.foot",
    {},
    wrong,
    h(
      "div.actions",
      {},
      limit?.since && button("As declared", { at_most: null, per_second: null, closed: null }),
      !limit?.paused && button("Pause", { at_most: 0 }),
      h("button.primary", {}, "Set"),
    ),
  );
  body.append(
    h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          busy(foot, send);
        },
      },
      field("At a time, at most", inputs.at_most),
      field("Started a second, at most", inputs.per_second),
      field("Closed hours", inputs.closed, { hint: "Such as 22:00-06:00 Europe/Berlin; sat, sun. Or never." }),
      h("p.quiet", {}, "Over all runs together. 0 pauses the action. An empty field is as its code declares."),
      foot,
    ),
  );
}

// The page of the worker's actions: what each takes, and a form to add a task for it.


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
  const { name, attempts, timeout, stoppable, keeps_result: keeps, recurring, kind, to } = action;
  const add = () => openForm(null, { action: name });
  return h(
    "li",
    {},
    h(
      "div.bar",
      {},
      h("h3", {}, name),
      h("span.quiet", {}, several(attempts, "attempt"), timeout && ` of ${timeout} s at most`, stoppable && ", stoppable", keeps && ", keeps results"),
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
    return h("p.quiet", {}, "No worker has started in this queue yet: deploy it, or run it once.");
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
export function startActions() {
  startFrame(
    () => refresh(refreshStatus, refreshWorker, refreshTask),
    () => refresh(seldomWorker, refreshTask),
  );
  refresh(refreshStatus, refreshWorker);
}
