// The heart of the system: the rule, when it rings next, and whether all is well.

import { ask, get } from "./api.js";
import { byId, h, refill, withCode } from "./dom.js";
import { on, tell } from "./state.js";
import { countdown, lateness, time } from "./time.js";
import { complain, toast } from "./toast.js";

let status = null;
let thorough = null; // what the doctor found, until the next look

const worst = () => thorough ?? status;

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

function ringing() {
  const [title, text] = headline();
  if (title) return h("div.ringing", {}, h("p.big", {}, title), h("p.quiet", {}, text));
  const rings = new Date(status.rings_at);
  const early = status.expression.includes(","); // it most often rings in the minute before as well
  return h(
    "div.ringing",
    {},
    h("p.label", {}, early ? "Rings within" : "Rings in"),
    h("p.big", { id: "countdown", role: "timer", "aria-live": "off" }, countdown(rings - Date.now())),
    h(
      "p",
      {},
      "The rule rings ",
      time(status.rings_at, { words: false, inside: true }),
      early ? ", or a minute before, and wakes the worker." : " and wakes the worker.",
    ),
  );
}

function fact(name, ...value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
}

function facts() {
  const last = status.last_run;
  const shown = [
    fact("Next task due", status.next_due ? time(status.next_due) : "nothing waits"),
    last &&
      fact(
        "Last run",
        time(last.finished_at),
        h(
          "small",
          {},
          ` ${last.done} done, ${last.failed} failed`,
          last.lateness_max_ms === null ? "" : `, ${lateness(last.lateness_max_ms)} late at most`,
        ),
      ),
    fact("Worker", status.running ? `at work on ${status.running} of ${status.lanes} lanes` : "asleep"),
    fact(
      "Rule",
      h("span", {}, status.rule),
      " ",
      h("code", { title: "as EventBridge has it, in UTC" }, status.expression || "unknown"),
    ),
  ];
  return h("dl", {}, ...shown.filter(Boolean));
}

function health() {
  const { problems } = worst();
  const state = problems.length
    ? h("span.badge.failed", {}, problems.length === 1 ? "1 problem" : `${problems.length} problems`)
    : h("span.badge.done", {}, thorough ? "Healthy, looked at thoroughly" : "Healthy");
  return h(
    "div.health",
    {},
    state,
    h("button.small", { "data-key": "doctor", onclick: look }, "Ask the doctor"),
    problems.length > 0 && h("ul.problems", {}, ...problems.map(finding)),
  );
}

function finding(problem) {
  return h(
    "li",
    {},
    h("strong", {}, problem.what),
    h("span", {}, ...withCode(problem.way_out)),
    problem.kind === "failed_tasks" &&
      h("button.small", { onclick: () => tell("show", { status: "failed" }) }, "Show them"),
    problem.mendable && h("button.small.primary", { "data-key": "mend", onclick: mend }, "Mend it"),
  );
}

async function look() {
  try {
    thorough = await get("doctor");
    show(thorough);
    toast(
      thorough.problems.length ? "The doctor found something: see above" : "The doctor found nothing wrong",
    );
  } catch (error) {
    complain(error);
  }
}

async function mend() {
  try {
    thorough = null;
    show(await ask("POST", "doctor"));
    toast(status.healthy ? "Mended" : "Done what can be done from here");
  } catch (error) {
    complain(error);
  }
}

function show(news) {
  status = news;
  const section = byId("heart");
  section.setAttribute("aria-busy", "false");
  section.classList.toggle("ill", worst().problems.length > 0);
  section.classList.toggle("busy", status.running > 0);
  document.title = status.healthy ? "duebell" : "⚠ duebell";
  refill(section, h("h2.unseen", { id: "heart-heading" }, "The rule"), ringing(), facts(), health());
}

function tick() {
  const shown = byId("countdown");
  if (!shown || !status?.rings_at) return;
  const left = new Date(status.rings_at) - Date.now();
  const words = left > 0 ? countdown(left) : "any moment";
  if (shown.textContent !== words) shown.textContent = words;
}

export const nextDue = () => (status?.next_due ? new Date(status.next_due) : null);

export async function refreshHeart() {
  try {
    const news = await get("status");
    thorough = null;
    show(news);
  } catch (error) {
    if (status) throw error;
    refill(
      byId("heart"),
      h("h2.unseen", { id: "heart-heading" }, "The rule"),
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

export function startHeart() {
  on("stream-status", (news) => {
    if (JSON.stringify(news) !== JSON.stringify(status)) {
      thorough = null;
      show(news);
    }
  });
  setInterval(tick, 1000);
}
