// Problems of the scheduler in the API's words, with times by the viewer's clock, and the button that helps.

import { ask, get } from "./api.js";
import { several } from "./counts.js";
import { byId, h, reword, withCode } from "./dom.js";
import { isReadOnly } from "./read_only.js";
import { on, tell } from "./state.js";
import { bell, current, refreshStatus } from "./status.js";
import { clock, nearby } from "./time.js";
import { complain, toast } from "./toast.js";

const DEEP = ["delivery", "intake_idle", "lanes", "tzdata", "unknown_actions"]; // problems that only the doctor looks for
const ELSEWHERE = ["failed_tasks", "failing_tasks"]; // problems that a tile and the list show

let found = null; // problems that only the doctor finds, and when: they stay until the next look
let work = null; // what is under way: "look" or "mend"

const isShown = ({ kind }) => !ELSEWHERE.includes(kind) && !DEEP.includes(kind);
const problems = () => [...(current()?.problems ?? []).filter(isShown), ...(found?.problems ?? [])];

export const hasProblems = () => problems().length > 0;

const setIt = () => `Set the ${bell()}`;

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z/g;

// The API's own words, with times by the viewer's clock.
function inLocalTime(text) {
  const words = text.replace(INSTANT, (iso) => nearby(new Date(iso)));
  return `${words[0].toUpperCase()}${words.slice(1)}.`;
}

// The button keeps its place and the focus while its call is under way; a second press does nothing.
function button(kind, key, label, busy, call) {
  const isBusy = work === key;
  return h(
    `button.small${kind}`,
    {
      "data-key": key,
      "aria-busy": String(isBusy),
      "aria-disabled": String(work !== null),
      onclick: () => work === null && call(),
    },
    isBusy ? busy : label,
  );
}

const finding = ({ kind, what, way_out: wayOut }) =>
  h(
    "li",
    { "data-kind": kind },
    h("strong", {}, ...withCode(inLocalTime(what))),
    " ",
    h("span", {}, ...withCode(inLocalTime(wayOut))),
    kind === "worker" && [" ", h("a", { href: "actions" }, "Actions")],
  );

function draw() {
  const all = problems();
  byId("problems").hidden = !all.length;
  const title = several(all.length, "problem");
  reword(
    byId("problems"),
    h(
      "div.head",
      {},
      h("h2", { id: "problems-heading" }, title),
      all.some(({ mendable }) => mendable) &&
        !isReadOnly &&
        button(".primary", "mend", setIt(), "Setting it…", mend),
    ),
    h("ul", {}, ...all.map(finding)),
  );
}

// A badge with the scheduler's health, and the button that asks the doctor.
export function health() {
  const isIll = hasProblems() || !current()?.healthy;
  const verdict = isIll ? "Needs attention" : "Healthy";
  const badge = h(`span.badge.${isIll ? "failed" : "done"}`, {}, verdict);
  return h(
    "div.health",
    {},
    badge,
    button("", "look", "Ask the doctor", "Looking…", look),
    found && h("span.quiet", {}, `The doctor looked at ${clock(found.at)}.`),
  );
}

async function working(name, call) {
  work = name;
  tell("health");
  try {
    await call();
  } catch (error) {
    complain(error);
  }
  work = null;
  tell("health");
}

const look = () =>
  working("look", async () => {
    const news = await get("doctor");
    found = { problems: news.problems.filter(({ kind }) => DEEP.includes(kind)), at: new Date() };
    await refreshStatus();
    toast(current().healthy && !hasProblems() ? "The doctor found nothing wrong" : "The doctor found something");
  });

const mend = () =>
  working("mend", async () => {
    await ask("POST", "doctor");
    found = null;
    await refreshStatus();
    toast(hasProblems() ? "Done what can be done from here" : `The ${bell()} is set`);
  });

export function startProblems() {
  on("status", draw);
  on("health", draw);
}
