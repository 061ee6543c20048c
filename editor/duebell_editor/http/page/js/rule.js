// The rule, the tiles, and what is wrong with the scheduler.

import { ask, get } from "./api.js";
import { byId, h, isReadOnly, number, refill, reword, several, withCode } from "./dom.js";
import { on, showOnly, tell } from "./state.js";
import { bell, counted, current, failedIn, refreshStatus, waitingWords } from "./status.js";
import { clock, countdown, lateness, nearby, time } from "./time.js";
import { complain, toast } from "./toast.js";

// Tiles with the counts of failed, overdue, running tasks and those due tonight: red when something is wrong,
// each a link to its list.


const plural = (count, word) => `${counted(count)} ${word}${count === 1 ? "" : "s"}`;

function tile(key, name, count, about, filters, kind = "", words = counted(count)) {
  const shown = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // to be opened elsewhere
    event.preventDefault();
    showOnly(filters);
  };
  return h(
    `a.tile${count > 0 && kind ? `.${kind}` : ""}`,
    { id: `tile-${key}`, "data-key": `tile ${key}`, href: `#${new URLSearchParams(filters)}`, onclick: shown },
    h("strong", {}, words),
    " ",
    h("span", {}, name),
    " ",
    h("small", {}, about),
  );
}

function failedWords({ failed, failing }) {
  if (failed === null) return "the table cannot tell";
  if (failing) return `${plural(failed, "task")}, ${counted(failing)} recurring`;
  return failed ? "and kept" : "none kept";
}

const tiles = (status) =>
  h(
    "div.tiles",
    {},
    tile("failed", "failed", failedIn(status), failedWords(status), { status: "failed" }, "bad"),
    tile("overdue", "overdue", status.overdue, "should have started", { when: "overdue" }, "bad"),
    tile(
      "running",
      "running",
      status.running,
      status.lanes_held ? `on ${status.lanes_held} of ${status.lanes} lanes` : "no run at work",
      { status: "running" },
      "busy",
    ),
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

// Problems of the scheduler in the API's words, with times by the viewer's clock, and the button that helps.


// Problems that only the doctor looks for.
const DEEP = ["delivery", "intake_idle", "lanes", "no_permission", "tzdata", "unknown_actions"];
const ELSEWHERE = ["failed_tasks", "failing_tasks"]; // problems that a tile and the list show

let found = null; // problems that only the doctor finds, and when: they stay until the next look
let work = null; // what is under way: "look" or "mend"

const isShown = ({ kind }) => !ELSEWHERE.includes(kind) && !DEEP.includes(kind);
const problems = () => [...(current()?.problems ?? []).filter(isShown), ...(found?.problems ?? [])];

const hasProblems = () => problems().length > 0;

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

function drawProblems() {
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
function health() {
  const verdict = isIll() ? "Needs attention" : "Healthy";
  const badge = h(`span.badge.${isIll() ? "failed" : "done"}`, {}, verdict);
  return h(
    "div.health",
    {},
    badge,
    button("", "look", "Check everything", "Looking…", look),
    found && h("span.quiet", {}, `Everything was checked at ${clock(found.at)}.`),
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
    toast(current().healthy && !hasProblems() ? "Nothing is wrong" : "Something is wrong");
  });

const mend = () =>
  working("mend", async () => {
    await ask("POST", "doctor");
    found = null;
    await refreshStatus();
    toast(hasProblems() ? "Done what can be done from here" : `The ${bell()} is set`);
  });

export function startProblems() {
  on("status", drawProblems);
  on("health", drawProblems);
}

// The bell, a rule or a schedule: when it rings next, and whether all is well.


let status = null;
let heard = new Date(); // when the server was heard of last
let isLost = false; // whether the connection is
let shape = ""; // of the headline that is shown

const LATE = 120000; // a rule rings somewhere in its minute, and its run begins some seconds later

const passed = () => (isLost ? heard : new Date()) - new Date(status.rings_at);

function headline() {
  if (!status.enabled)
    return [`The ${bell()} ${status.expression ? "is disabled" : "is not there"}`, "Nothing runs until that is mended."];
  if (status.lanes_held)
    return ["Running now", `A run is at work on ${status.lanes_held} of ${status.lanes} lanes.`];
  if (!status.rings_at) {
    return status.next_due
      ? ["Not set to ring", `A task waits, and the ${bell()} is not set for it.`]
      : ["Nothing to ring for", `The queue is empty, and the ${bell()} is parked. It costs nothing now.`];
  }
  if (passed() > LATE) return [`Should have rung ${countdown(passed())} ago`, "No run came of it so far."];
  if (passed() > 0) return ["Rings any moment", null];
  return [null, null];
}

const isEarly = () => status.expression.includes(","); // it most often rings in the minute before as well

const left = () => countdown(Math.max(0, -passed()));

const ringing = (words = `The ${bell()} rings `) =>
  h(
    "p",
    {},
    words,
    time(status.rings_at, { words: false, inside: true }),
    isEarly() ? ", or a minute before." : ".",
    isForNothing() && " What it was set for was moved or cancelled: it is set anew then.",
  );

// A ring is never put off: that would race with whoever adds a task.
const isForNothing = () =>
  !status.lanes_held && (!status.next_due || new Date(status.next_due) - new Date(status.rings_at) > 300000);

function lead() {
  const [title, text] = headline();
  const asOf = isLost ? `As of ${clock(heard)}` : "";
  if (title) {
    const isSet = status.enabled && new Date(status.rings_at) > heard;
    return h(
      "div.ringing",
      {},
      asOf && h("p.label", {}, asOf),
      h("p.big", { id: "countdown" }, title),
      text && h("p", {}, text),
      isSet && ringing(),
    );
  }
  const rings = isEarly() ? "Rings within" : "Rings in";
  return h(
    "div.ringing",
    {},
    h("p.label", {}, asOf ? `${asOf}: ${rings.toLowerCase()}` : rings),
    h("p.big", { id: "countdown", role: "timer", "aria-live": "off" }, left()),
    ringing(""),
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
    "p.name",
    { title: `The ${bell()}'s name, and its expression as AWS has it` },
    `${bell()} ${status.rule} `,
    h("code", {}, status.expression || "unknown"),
    status.expression && " UTC",
  );

// The actions of which something waits, or nothing is started: the first of them, each in a line.
const LIMITED = 5;

function limited() {
  const lines = status.limited.slice(0, LIMITED).map((limit) => h("small", {}, ...waitingWords(limit)));
  const more = status.limited.length - LIMITED;
  return [...lines, h("small", {}, h("a", { href: "actions" }, more > 0 ? `and ${more} more` : "Change limits"))];
}

function facts() {
  const last = status.last_run;
  const shown = [
    fact(
      "Next task due",
      status.next_due ? time(status.next_due) : "nothing waits",
      status.next_due && h("small", {}, STARTS[status.precision]),
    ),
    last && fact("Last run", time(last.finished_at), h("small", {}, outcome(last))),
    status.owing > 0 &&
      fact(
        "Follow-ups owed",
        several(status.owing, "task"),
        h("small", {}, `${status.owing === 1 ? "has" : "have"} ended; the next run adds what follows`),
      ),
    status.limited.length > 0 && fact("Limits", ...limited()),
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
  section.classList.toggle("busy", status.lanes_held > 0);
  section.classList.toggle("lost", isLost);
  document.title = isIll() ? "⚠ duebell" : "duebell";
  shape = shapeOf(headline());
  const heading = h("h2.unseen", { id: "rule-heading" }, `The ${bell()}`);
  refill(section, heading, h("div.top", {}, lead(), h("div.known", {}, health(), name())), tiles(status), facts());
}

function show() {
  status = current();
  draw();
}

// The same for as long as only its numbers change.
const shapeOf = (words) => words.map((one) => one?.replace(/\d.*/, "") ?? "").join("|");

function tick() {
  if (!status || isLost) return;
  const [title, text] = headline();
  if (shapeOf([title, text]) !== shape) draw(); // its time has come, or has passed
  const shown = byId("countdown");
  const words = title ?? left();
  if (shown.textContent !== words) shown.textContent = words;
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
        h("p", {}, `It cannot be said how the scheduler stands: ${error.message}`),
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
