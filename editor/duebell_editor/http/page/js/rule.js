// The top of the page: problems, the state of the rule, and the next tasks.

import { ask, get } from "./api.js";
import { byId, h, isReadOnly, number, refill, reword, several, withCode } from "./dom.js";
import { LETTERS, openLetters } from "./letters.js";
import { constants, on, showOnly, tell } from "./state.js";
import { bell, counted, current, failedIn, refreshStatus, waitingWords } from "./status.js";
import { clock, lateness, nearby, time } from "./time.js";
import { complain, toast } from "./toast.js";

// Counts of failed, overdue, running tasks and those due tonight: red when something is wrong, each a link to its list.

// The most actions that are told of.
const LIMITED = 5;

// A link to a list, which this page shows without a reload.
function listLink(tag, properties, filters, ...children) {
  const shown = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // to be opened elsewhere
    event.preventDefault();
    showOnly(filters);
  };
  return h(tag, { ...properties, href: `#${new URLSearchParams(filters)}`, onclick: shown }, ...children);
}

const tile = (key, name, count, about, filters, kind = "", words = counted(count)) =>
  listLink(
    `a.tile${count > 0 && kind ? `.${kind}` : ""}`,
    { id: `tile-${key}`, "data-key": `tile ${key}` },
    filters,
    h("strong", {}, words),
    " ",
    h("span", {}, name),
    about && " ",
    about && h("small", {}, about),
  );

const tiles = (status) =>
  h(
    "div.tiles",
    {},
    tile("overdue", "overdue", status.overdue, "", { status: "overdue" }, "bad"),
    tile("failed", "failed", failedIn(status), "", { status: "failed" }, "bad"),
    tile("running", "running", status.running, "", { status: "running" }),
    tile(
      "tonight",
      "due tonight",
      status.due_tonight,
      status.tonight_ends ? `until ${clock(new Date(status.tonight_ends))}` : "",
      { when: "tonight" },
      "",
      `${status.due_tonight_is_estimate ? "about " : ""}${number(status.due_tonight)}`,
    ),
  );

// Shows the problems, the most severe first: in the API's words and order, with times by the viewer's
// clock, and the button that helps.


const FAILURES = ["failed_tasks", "failing_tasks"]; // the groups below tell what to do

let found = null; // problems that only the doctor finds, and when: they stay until the next look
let work = null; // what is under way: "look" or "mend"

// The problems of kinds that are not known yet.
function without(findings, known) {
  const kinds = known.map(({ kind }) => kind);
  return findings.filter(({ kind }) => !kinds.includes(kind));
}

const isWarning = ({ kind }) => constants.warnings.includes(kind);
const rank = ({ kind }) => constants.problems.indexOf(kind);

const told = () => current()?.problems ?? [];
const problems = () =>
  [...told(), ...without(found?.problems ?? [], told())].sort((one, other) => rank(one) - rank(other));

const hasProblems = () => problems().length > 0;

const setIt = () => `Set the ${bell()}`;

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z/g;

// The API's own words, with times by the viewer's clock.
function inLocalTime(text) {
  const words = text
    .replace(INSTANT, (iso) => nearby(new Date(iso)))
    .replace(/\bat (today|tomorrow|yesterday) at\b/g, "$1 at");
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

const finding = (problem, place) => {
  const { kind, what, way_out: wayOut } = problem;
  const isFailure = FAILURES.includes(kind);
  return h(
    `li${isWarning(problem) ? ".warning" : ""}`,
    { "data-kind": kind },
    h("strong", {}, ...withCode(inLocalTime(what))),
    " ",
    !isFailure && h("span", {}, ...withCode(inLocalTime(wayOut))),
    isFailure && listLink("a", { "data-key": `show ${kind}` }, { status: "failed" }, "Show them"),
    kind === "worker" && [" ", h("a", { href: "actions" }, "Actions")],
    kind === "action_paused" && [" ", h("a", { href: "actions" }, "Change limits")],
    LETTERS.includes(kind) && [
      " ",
      h("button.link", { "data-key": `letters ${kind} ${place}`, onclick: openLetters }, "Show the messages"),
    ],
  );
};

function drawProblems() {
  const all = problems();
  byId("problems").hidden = !all.length;
  byId("problems").classList.toggle("mild", all.every(isWarning));
  reword(
    byId("problems"),
    h(
      "div.head",
      {},
      h("h2", { id: "problems-heading" }, "Needs attention"),
      all.some(({ mendable }) => mendable) &&
        !isReadOnly &&
        button(".primary", "mend", setIt(), "Setting it…", mend),
    ),
    h("ul", {}, ...all.map(finding)),
  );
}

// The verdict, and the button for the thorough check.
const health = () =>
  h(
    "div.health",
    {},
    found && h("span.quiet", {}, `Everything checked at ${clock(found.at)}.`),
    button("", "look", "Check everything", "Checking…", look),
  );

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
    await refreshStatus();
    const before = told();
    const news = await get("doctor");
    await refreshStatus(); // problems of the status before or after the check are shown by the status
    found = { problems: without(news.problems, [...before, ...told()]), at: new Date() };
    toast(current().healthy && !hasProblems() ? "Nothing is wrong" : "Something is wrong");
  });

const mend = () =>
  working("mend", async () => {
    await ask("POST", "doctor");
    found = null;
    await refreshStatus();
    toast(hasProblems() ? "The rest must be done elsewhere" : `The ${bell()} is set`);
  });

export function startProblems() {
  on("status", drawProblems);
  on("health", drawProblems);
}

// The state of the bell, a rule or a schedule, in one line.


let status = null;
let heard = new Date(); // when the server answered last
let isLost = false; // whether the connection is lost
let shape = ""; // the name of the state in the line that is shown

const LATE = 120000; // a rule rings somewhere in its minute, and its run begins some seconds later

const passed = () => (isLost ? heard : new Date()) - new Date(status.rings_at);

// Whether the rule also rings in the minute before: its expression then has both minutes.
function isEarly() {
  const minutes = status.expression.replace("cron(", "").split(" ", 1)[0].split(",").map(Number);
  return minutes.includes(new Date(status.rings_at).getUTCMinutes() - 1);
}

// A ring is never put off: that would race with whoever adds a task.
const isForNothing = () =>
  !status.next_due || new Date(status.next_due) - new Date(status.rings_at) > 300000;

const rings = () => [
  `The ${bell()} rings `,
  time(status.rings_at, { inside: true }),
  isEarly() ? ", or a minute before." : ".",
];

// The name of the bell's state, then its words. If the name changes, the line is drawn again.
function state() {
  if (!status.enabled)
    return ["off", `The ${bell()} ${status.expression ? "is disabled" : "does not exist"}. Nothing runs until that is repaired.`];
  const isComing = status.rings_at && passed() <= 0;
  if (status.lanes_held)
    return ["running", `A run is at work on ${status.lanes_held} of ${status.lanes} lanes. `, ...(isComing ? rings() : [])];
  if (!status.rings_at)
    return status.next_due
      ? ["unset", `The ${bell()} is not set, although a task waits.`]
      : ["empty", `The queue is empty, and the ${bell()} is parked. It costs nothing now.`];
  if (passed() > LATE)
    return ["missed", `The ${bell()} should have rung `, time(status.rings_at, { inside: true }), ", and no run has started since."];
  if (!isComing) return ["now", `The ${bell()} rings any moment.`];
  return ["set", ...rings(), isForNothing() && " Its task was moved or cancelled: it is set anew when it rings."];
}

function line() {
  const [name, ...words] = state();
  shape = name;
  return h(
    "p.state",
    { id: "state" },
    isLost && h("span.label", {}, `As of ${clock(heard)}: `),
    !isIll() && !isLost && h("strong", {}, "Healthy. "),
    h(["off", "unset", "missed"].includes(name) ? "span.wrong" : "span", {}, ...words.filter(Boolean)),
  );
}

const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value));

// The rule rings after a task is due, unless the worker comes before and waits.
const STARTS = { minute: "starts up to two minutes later", second: "starts to the second" };

function outcome(run) {
  const rare = ["retried", "snoozed", "expired"].filter((name) => run[name]).map((name) => `${run[name]} ${name}`);
  const late = run.lateness_max_ms === null ? [] : [`${lateness(run.lateness_max_ms)} late at most`];
  return [`${run.done} done`, `${run.failed} failed`, ...rare, ...late].join(", ");
}

const WEEK = 7 * 24 * 3600 * 1000;
const isRecent = (ring) => ring && new Date(ring.came_at) > new Date() - WEEK;

const name = () =>
  h(
    "details.name",
    {},
    h("summary", { "data-key": "name" }, status.rule),
    h("small", {}, h("code", {}, status.expression || "unknown"), status.expression && " UTC"),
  );

// The limited actions: the first of them, each in a line. The problems name paused ones for which tasks wait.
function limited(limits) {
  const lines = limits.slice(0, LIMITED).map((limit) => h("small", {}, ...waitingWords(limit)));
  const more = limits.length - LIMITED;
  return [...lines, h("small", {}, h("a", { href: "actions" }, more > 0 ? `and ${more} more` : "Change limits"))];
}

function facts() {
  const last = status.last_run;
  const limits = status.limited.filter(({ paused, waiting }) => !(paused && waiting));
  const shown = [
    fact(
      "Next task due",
      status.next_due ? time(status.next_due) : "nothing waits",
      status.next_due && status.armed && h("small", {}, STARTS[status.precision]),
    ),
    last && fact("Last run", time(last.finished_at), h("small", {}, outcome(last))),
    status.follow_ups_owed > 0 &&
      fact(
        "Follow-ups owed",
        several(status.follow_ups_owed, "task"),
        h(
          "small",
          {},
          `${status.follow_ups_owed === 1 ? "has" : "have"} ended; the next run adds what follows`,
        ),
      ),
    limits.length > 0 && fact("Limits", ...limited(limits)),
    fact(`${bell()[0].toUpperCase()}${bell().slice(1)}`, name()),
    isRecent(status.late_ring) &&
      fact(
        "Late ring",
        time(status.late_ring.minute),
        h("small", {}, "lost; its echo came at ", time(status.late_ring.came_at)),
      ),
  ];
  return h("dl", {}, ...shown.filter(Boolean));
}

// By the verdict that the status, the command line and the API give; the thorough check may find more.
const isIll = () => hasProblems() || !current()?.healthy;

function draw() {
  const section = byId("rule");
  section.setAttribute("aria-busy", "false");
  section.classList.toggle("ill", isIll());
  section.classList.toggle("lost", isLost);
  document.title = isIll() ? "⚠ duebell" : "duebell";
  const heading = h("h2.unseen", { id: "rule-heading" }, "What runs next");
  refill(section, heading, line(), h("div.top", {}, tiles(status), health()), facts());
}

function show() {
  status = current();
  draw();
}

function tick() {
  if (status && !isLost && state()[0] !== shape) draw(); // its time has come, or has passed
}

function connection(lost) {
  if (!lost) heard = new Date();
  if (isLost === lost) return;
  isLost = lost;
  if (status) draw();
}

export async function refreshRule() {
  try {
    await refreshStatus();
  } catch (error) {
    if (status) throw error;
    refill(
      byId("rule"),
      h("h2.unseen", { id: "rule-heading" }, "The rule"),
      h(
        "div.unknown",
        {},
        h("p", {}, `The status cannot be read: ${error.message}`),
        h("button", { onclick: () => tell("refresh") }, "Try again"),
      ),
    );
    throw error;
  }
}

export function startRule() {
  on("status", show);
  on("health", () => status && draw());
  on("connected", () => connection(false));
  on("disconnected", () => connection(true));
  setInterval(tick, 1000);
}
