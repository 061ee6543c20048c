// A forecast of the queue, as it is and with changes. It changes nothing.

import { ask } from "./api.js";
import { busy, openDialog } from "./dialog.js";
import { byId, h, number, refill, several } from "./dom.js";
import { field } from "./field.js";
import { lateness, time } from "./time.js";

const DAY = 86_400;

// The rows of the table: a name, and what a forecast says.
const ROWS = [
  ["Starts", (one) => number(one.starts)],
  ["Late", (one) => number(one.late)],
  ["Not started", (one) => number(one.waiting)],
  ["Expired", (one) => number(one.expired)],
  ["Half start within", (one) => lateness(one.lateness_p50_ms)],
  ["99 % start within", (one) => lateness(one.lateness_p99_ms)],
  ["The latest is late by", (one) => lateness(one.lateness_max_ms)],
  ["At a time", (one) => number(one.at_once)],
  ["Most due in a minute", (one) => [number(one.peak), one.peak_at && h("small", {}, time(one.peak_at, { words: false }))]],
  ["Rings, runs", (one) => `${number(one.rings)}, ${number(one.runs)}`],
  ["Cost", (one) => `$${one.dollars.toFixed(4)}`],
];

function result({ today, changed, flatten }) {
  const both = [today, changed].filter(Boolean);
  const header = h("thead", {}, h("tr", {}, ...["", "As it is", "With the changes"].slice(0, both.length + 1).map((name) => (name ? h("th", { scope: "col" }, name) : h("td")))));
  const actions = [...new Set(both.flatMap((one) => one.actions.map(({ action }) => action)))];
  const row = (name, tell) => h("tr", {}, h("th", { scope: "row" }, name), ...both.map((one) => h("td", {}, ...[tell(one)].flat())));
  const ofAction = (name) => (forecast) => {
    const one = forecast.actions.find(({ action }) => action === name);
    if (!one) return "none";
    const from = one.measured ? `${lateness(one.duration_ms)} each, measured` : "1 s each, assumed";
    return [several(one.starts, "start"), h("small", {}, `${from}; late by ${lateness(one.lateness_max_ms)} at most`)];
  };
  return [
    h("table.plain.forecast", {}, header, h("tbody", {}, ...ROWS.map(([name, tell]) => row(name, tell)), ...actions.map((name) => row(name, ofAction(name))))),
    flatten.length > 0 && h("p", {}, "These commands make the change:"),
    flatten.length > 0 && h("pre", { tabindex: "0", "aria-label": "Commands" }, flatten.map(({ command }) => command).join("\n")),
  ];
}

function open() {
  const { body } = openDialog("Simulate", { kind: "panel", back: "simulate" });
  const until = h("select", { name: "until" }, ...[["1 hour", DAY / 24], ["12 hours", DAY / 2], ["A day", DAY], ["A week", 7 * DAY]].map(([words, seconds]) => h("option", { value: seconds, selected: seconds === DAY }, words)));
  const action = h("input", { name: "action", list: "actions", autocomplete: "off", spellcheck: "false" });
  const atMost = h("input", { name: "at_most", type: "number", min: "0", max: "10000" });
  const precision = h("select", { name: "precision" }, ...["", "minute", "second"].map((one) => h("option", { value: one }, one || "as it is")));
  const flatten = h("select", { name: "flatten" }, h("option", { value: "" }, "as it is"), h("option", { value: "yes" }, "spread, so that it halves"));
  const answer = h("div", { role: "status" });
  const send = h("div.actions", {}, h("button.primary", { "data-key": "simulate-now" }, "Simulate"));
  const form = h(
    "form",
    { novalidate: true },
    field("How far", until),
    field("Limit this action", action),
    field("Attempts at a time", atMost, { hint: "0 pauses the action; empty: it keeps its limit" }),
    field("Precision", precision),
    field("The peak of recurring tasks", flatten),
    send,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const limits = action.value && atMost.value ? { [action.value]: { at_most: Number(atMost.value) } } : {};
    const given = { in: Number(until.value), limits, flatten: Boolean(flatten.value), precision: precision.value || null };
    busy(send, () =>
      ask("POST", "simulate", { body: JSON.stringify(given) }).then(
        (found) => refill(answer, ...result(found)),
        (error) => refill(answer, h("p.wrong", {}, error.message)),
      ),
    );
  });
  body.append(h("p.quiet", {}, "It plays a copy of the queue, and changes nothing. Nothing fails in it."), form, answer);
}

export function startSimulation() {
  byId("simulate").addEventListener("click", open);
}
