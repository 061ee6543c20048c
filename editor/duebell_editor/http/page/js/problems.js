// Problems of the scheduler, in the page's own words and the viewer's time, with the button that helps.

import { ask, get } from "./api.js";
import { several } from "./counts.js";
import { byId, h, reword } from "./dom.js";
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
const when = (problem) => (problem.at ? nearby(new Date(problem.at)) : "a while ago");
const deployOrAllow =
  "Whoever operates it has to deploy the scheduler, or to give this server the permissions of an editor.";
const lookAgain = "Look again in some minutes; if it does not get better, the worker's log says why.";

// These come of a worker that cannot start, and nothing that is pressed here helps.
const FOLLOWS = ["overdue", "owing", "not_armed", "lease_expired"];
const isFollowing = ({ kind, mendable }) =>
  FOLLOWS.includes(kind) && !mendable && problems().some((one) => one.kind === "worker");

// Of each kind: [what is wrong, what to do]. The rest of what the API says is for programs and the command line.
const WORDS = {
  table: (problem) => [inLocalTime(problem.what), deployOrAllow],
  rule: (problem) => [inLocalTime(problem.what), deployOrAllow],
  disabled: () => [`The ${bell()} is disabled, so nothing runs.`, "Someone has to enable it in EventBridge."],
  no_target: () => [
    `The ${bell()} has no target, so it wakes nobody.`,
    "Deploying the scheduler once more gives it its worker.",
  ],
  rule_elsewhere: () => [
    `Something or someone else has changed the ${bell()}.`,
    `Press “${setIt()}” to point it at the next task.`,
  ],
  not_armed: (problem) => [
    problem.at
      ? `The ${bell()} should have rung ${when(problem)}, and no run came of it.`
      : `The ${bell()} may not ring for the next task.`,
    `Press “${setIt()}” to point it at the next task.`,
  ],
  overdue: (problem) => [
    `Tasks are overdue, the first since ${when(problem)}, and no run is at work on them.`,
    `Press “${setIt()}” to wake the worker in the next minute or two. ${lookAgain}`,
  ],
  owing: (problem) => [
    inLocalTime(problem.what),
    problem.mendable
      ? `Press “${setIt()}” to wake the worker in the next minute or two. ${lookAgain}`
      : "Runs try again each minute or two, and nothing is lost. Whoever operates it removes the cause.",
  ],
  lease_expired: (problem) => [
    `A run died, and no other has taken over since ${when(problem)}.`,
    `Press “${setIt()}” to wake the worker in the next minute or two. ${lookAgain}`,
  ],
  held_too_long: () => [
    `A process with a wrong clock holds the ${bell()} for hours to come.`,
    `Press “${setIt()}” to take it back.`,
  ],
  lane_fills: (problem) => [
    inLocalTime(problem.what),
    "The queue needs more lanes, or less history: whoever operates it can give it both.",
  ],
  lane_rests: (problem) => [inLocalTime(problem.what), "The worker's log says why."],
  relane: () => [
    "Giving the queue more lanes was interrupted. Tasks run.",
    "Whoever began it has to do it once more.",
  ],
  delivery: (problem) => [
    inLocalTime(problem.what),
    "Its tasks will fail. Whoever operates it makes the target, or deploys the delivery with another one.",
  ],
  intake: (problem) => [
    inLocalTime(problem.what),
    "What others send is not taken. Deploying the scheduler once more with its intake makes it anew.",
  ],
  intake_idle: (problem) => [
    inLocalTime(problem.what),
    "What others send waits. Whoever operates it enables the mapping, or deploys the scheduler once more.",
  ],
  intake_dead_letters: (problem) => [
    inLocalTime(problem.what),
    "Whoever operates it finds them in the dead-letter queue, each with its reason.",
  ],
  past_index: () => [
    "The table was made by an older version: it cannot tell what failed or ended.",
    "Deploying the scheduler once more adds what it lacks.",
  ],
  worker: (problem) => [
    inLocalTime(problem.what),
    [
      "It has to be corrected and deployed again; ",
      h("a", { href: "actions" }, "Actions"),
      " shows where. Tasks wait meanwhile.",
    ],
  ],
  lanes: (problem) => [
    inLocalTime(problem.what),
    "Whoever operates it has to delete the arming record: it is made anew.",
  ],
  unknown_actions: (problem) => [
    inLocalTime(problem.what),
    "They will fail, unless a worker is deployed that has it, or the tasks get another action or are cancelled.",
  ],
  tzdata: (problem) => [inLocalTime(problem.what), "Deploying the worker once more gives both the same."],
};

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z/g;

// The API's own words, with times by the viewer's clock, and without the quotes of code.
function inLocalTime(text) {
  const words = text.replace(INSTANT, (iso) => nearby(new Date(iso))).replace(/[`]/g, "");
  return `${words[0].toUpperCase()}${words.slice(1)}.`;
}

// A server that was updated since the page was loaded may tell of a kind that the page does not know.
function wordsOf(problem) {
  const [what, advice = ""] = WORDS[problem.kind]?.(problem) ?? [inLocalTime(problem.what)];
  return [what, isFollowing(problem) ? "It follows from the worker's problem." : advice];
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

function finding(problem) {
  const [what, advice] = wordsOf(problem);
  return h(
    "li",
    { "data-kind": problem.kind },
    h("strong", {}, what),
    " ",
    h("span", {}, advice),
  );
}

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
  const { length } = problems();
  const known = `The ${bell()}, what is due first, and the runs at work`;
  const badge = length
    ? h("span.badge.failed", {}, several(length, "problem"))
    : h("span.badge.done", { title: known }, found ? "Healthy" : "Armed");
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
    toast(hasProblems() ? "The doctor found something: see above" : "The doctor found nothing wrong");
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
