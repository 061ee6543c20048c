// The rule: when it rings next, and whether all is well.

import { get } from "./api.js";
import { byId, h, refill } from "./dom.js";
import { showEnvironment } from "./environment.js";
import { health, isIll } from "./health.js";
import { on, tell } from "./state.js";
import { clock, countdown, lateness, time } from "./time.js";

let status = null;
let heard = new Date(); // when the server was heard of last
let isLost = false; // whether the connection is

function headline() {
  if (!status.enabled) return ["The rule is disabled", "Nothing runs until someone enables it again."];
  if (status.running)
    return ["Running now", `A run is at work on ${status.running} of ${status.lanes} lanes.`];
  if (!status.rings_at) {
    return status.next_due
      ? ["Not set to ring", "A task waits, and the rule is not set for it."]
      : ["Nothing to ring for", "The queue is empty, and the rule is parked. It costs nothing now."];
  }
  return [null, null];
}

const isEarly = () => status.expression.includes(","); // it most often rings in the minute before as well

function left() {
  const milliseconds = new Date(status.rings_at) - (isLost ? heard : new Date());
  return milliseconds > 0 ? countdown(milliseconds) : "any moment";
}

const ringing = () =>
  h(
    "p",
    {},
    "The rule rings ",
    time(status.rings_at, { words: false, inside: true }),
    isEarly() ? ", or a minute before, and wakes the worker." : " and wakes the worker.",
    isForNothing() && " What it was set for was moved or cancelled: it is set anew then.",
  );

// A ring is never put off: that would race with whoever adds a task.
const isForNothing = () =>
  !status.running && (!status.next_due || new Date(status.next_due) - new Date(status.rings_at) > 300000);

function lead() {
  const [title, text] = headline();
  const asOf = isLost ? `As of ${clock(heard)}` : "";
  if (title) {
    const isSet = status.enabled && new Date(status.rings_at) > heard;
    return h(
      "div.ringing",
      {},
      asOf && h("p.label", {}, asOf),
      h("p.big", {}, title),
      h("p", {}, text),
      isSet && ringing(),
    );
  }
  const rings = isEarly() ? "Rings within" : "Rings in";
  return h(
    "div.ringing",
    {},
    h("p.label", {}, asOf ? `${asOf}: ${rings.toLowerCase()}` : rings),
    h("p.big", { id: "countdown", role: "timer", "aria-live": "off" }, left()),
    ringing(),
  );
}

const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value));

// The rule rings after a task is due, unless the worker comes before and waits.
const STARTS = { minute: "starts up to two minutes later", second: "starts to the second" };

function outcome(run) {
  const rare = ["retried", "expired"].filter((name) => run[name]).map((name) => `${run[name]} ${name}`);
  const late = run.lateness_max_ms === null ? [] : [`${lateness(run.lateness_max_ms)} late at most`];
  return [`${run.done} done`, `${run.failed} failed`, ...rare, ...late].join(", ");
}

const WEEK = 7 * 24 * 3600 * 1000;
const isRecent = (ring) => ring && new Date(ring.came_at) > new Date() - WEEK;

function facts() {
  const last = status.last_run;
  const shown = [
    fact(
      "Next task due",
      status.next_due ? time(status.next_due) : "nothing waits",
      status.next_due && h("small", {}, STARTS[status.precision]),
    ),
    last && fact("Last run", time(last.finished_at), h("small", {}, outcome(last))),
    isRecent(status.late_ring) &&
      fact(
        "Late ring",
        time(status.late_ring.minute),
        h("small", {}, "lost; its echo came at ", time(status.late_ring.came_at)),
      ),
    fact(
      "Rule",
      status.rule,
      h(
        "small",
        {},
        h("code", { title: "as EventBridge has it" }, status.expression || "unknown"),
        status.expression && " UTC",
      ),
    ),
  ];
  return h("dl", {}, ...shown.filter(Boolean));
}

function draw() {
  const shown = [lead(), facts(), health(status)];
  const section = byId("rule");
  section.setAttribute("aria-busy", "false");
  section.classList.toggle("ill", isIll());
  section.classList.toggle("busy", status.running > 0);
  section.classList.toggle("lost", isLost);
  document.title = isIll() ? "⚠ duebell" : "duebell";
  refill(section, h("h2.unseen", { id: "rule-heading" }, "The rule"), ...shown);
}

function show(news) {
  status = news;
  showEnvironment(status);
  draw();
}

function tick() {
  const shown = byId("countdown");
  if (!shown || !status?.rings_at || isLost) return;
  const words = left();
  if (shown.textContent !== words) shown.textContent = words;
}

function connection(lost) {
  if (!lost) heard = new Date();
  if (isLost === lost) return;
  isLost = lost;
  if (status) draw();
}

export const nextDue = () => (status?.next_due ? new Date(status.next_due) : null);

export async function refreshRule() {
  try {
    show(await get("status"));
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
  on("stream-status", (news) => {
    if (JSON.stringify(news) !== JSON.stringify(status)) show(news);
  });
  on("status", show);
  on("health", () => status && draw());
  on("connected", () => connection(false));
  on("disconnected", () => connection(true));
  setInterval(tick, 1000);
}
