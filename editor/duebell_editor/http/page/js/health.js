// Whether all is well: what the rule and the queue's heads show by themselves, and what the doctor found.

import { ask, get } from "./api.js";
import { h, withCode } from "./dom.js";
import { isReadOnly } from "./read_only.js";
import { tell } from "./state.js";
import { clock } from "./time.js";
import { complain, toast } from "./toast.js";

const DEEP = ["failed_tasks", "failing_tasks", "lanes", "tzdata"]; // what only a thorough look finds
const isDeep = ({ kind }) => DEEP.includes(kind);

let status = null;
let found = null; // what only the doctor finds, and when: it stays until the next look
let work = null; // what is under way: "look" or "mend"

const problems = () => [...status.problems.filter((one) => !isDeep(one)), ...(found?.problems ?? [])];

export const isIll = () => problems().length > 0;

function state() {
  const { length } = problems();
  if (length) return h("span.badge.failed", {}, length === 1 ? "1 problem" : `${length} problems`);
  if (found) return h("span.badge.done", {}, "Healthy");
  const known = "The rule, what is due first, and the runs at work.";
  return h("span.badge.done", { title: known }, "Rule in order");
}

const MOST_COUNTED = 1000;

const showFailed = () => tell("show", { status: "failed" });

// How many failed and how many are overdue: seen at first sight, for that is what one looks for here.
function counts() {
  const { failed, overdue } = status;
  const many = (count) => (count === MOST_COUNTED ? "1,000 or more" : String(count));
  return [
    failed > 0 &&
      h("button.small.failed", { "data-key": "failed", onclick: showFailed }, `${many(failed)} failed`),
    failed === 0 && h("span.quiet", { id: "none-failed" }, "No failed tasks."),
    overdue > 0 && h("span.badge.failed", { id: "overdue" }, `${many(overdue)} overdue`),
  ];
}

// It stays where it is while at work, with the focus; a second press does nothing.
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

const finding = (problem) =>
  h(
    "li",
    {},
    h("strong", {}, problem.what),
    h("span", {}, ...withCode(problem.way_out)),
    problem.kind === "failed_tasks" &&
      h("button.small", { "data-key": "show failed", onclick: showFailed }, "Show them"),
    problem.mendable && !isReadOnly && button(".primary", "mend", "Mend it", "Mending…", mend),
  );

export function health(news) {
  status = news;
  return h(
    "div.health",
    {},
    state(),
    ...counts(),
    button("", "look", "Ask the doctor", "Looking…", look),
    found && h("span.quiet", {}, `The doctor looked at ${clock(found.at)}.`),
    isIll() && h("ul.problems", {}, ...problems().map(finding)),
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
    found = { problems: news.problems.filter(isDeep), at: new Date() };
    tell("status", news);
    toast(isIll() ? "The doctor found something: see above" : "The doctor found nothing wrong");
  });

const mend = () =>
  working("mend", async () => {
    const news = await ask("POST", "doctor");
    found = null;
    tell("status", news);
    toast(news.healthy ? "Mended" : "Done what can be done from here");
  });
