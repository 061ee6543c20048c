// One recurring task on the page of schedules.

import { getTask } from "./api.js";
import { busy, onlySingleClicks } from "./busy.js";
import { h } from "./dom.js";
import { openForm } from "./form.js";
import { pickCell } from "./picking.js";
import { isReadOnly } from "./read_only.js";
import { badge, shortly } from "./row.js";
import { tell } from "./state.js";
import { ZONE, inZone, lateness, near, time } from "./time.js";
import { complain } from "./toast.js";
import { doTo } from "./verbs.js";

const RESULTS = ["done", "failed", "skipped"];

// A time by the viewer's clock, and by the schedule's if that is another.
function both(iso, { timezone, expression }) {
  const isOther = timezone !== ZONE && !expression.startsWith("rate");
  const there = isOther && inZone(new Date(iso), timezone);
  return [time(iso), there && h("small.there", {}, `${there} ${timezone}`)];
}

function next({ status, queued, due, attempt, recurrence }) {
  const { schedule, next_due: after } = recurrence;
  if (status === "paused") return [badge("paused")];
  if (status === "running") return [badge("running"), after && h("small.there", {}, "then ", time(after))];
  if (!attempt) return both(due, schedule);
  return [...both(queued, schedule), h("small.there", {}, `attempt ${attempt + 1} of `, time(due, { words: false }))];
}

function last({ occurrences, recurrence: { schedule } }) {
  const one = occurrences.at(-1);
  if (!one) return [h("span.quiet", {}, "never ran")];
  return [...both(one.started_at ?? one.finished_at, schedule), h("small.there", {}, badge(one.result))];
}

function words(one) {
  const late = one.lateness_ms === null ? "" : `, ${lateness(one.lateness_ms)} late`;
  return `${near(new Date(one.due))}: ${one.result}${late}${one.failure ? `\n${one.failure}` : ""}`;
}

const ofResult = (occurrences, result) => occurrences.filter((one) => one.result === result).length;

// The oldest first; the marks differ in form as well as in colour.
function strip(occurrences) {
  if (!occurrences.length) return h("span.quiet", {}, "–");
  const counts = RESULTS.map((result) => [result, ofResult(occurrences, result)])
    .filter(([, count]) => count)
    .map(([result, count]) => `${count} ${result}`);
  const label = `The last ${occurrences.length}: ${counts.join(", ")}`;
  return h(
    "span.strip",
    { role: "img", "aria-label": label },
    ...occurrences.map((one) => h(`span.mark.${one.result}`, { title: words(one) })),
  );
}

function trouble({ recurrence: { consecutive_failures: failures }, failed_with: why }) {
  if (!failures) return null;
  const said = failures === 1 ? "failed the last time" : `${failures} failures in a row`;
  return h("small.why", {}, h("strong", {}, said), why && `: ${why}`);
}

async function edit(id) {
  try {
    openForm(await getTask(id));
  } catch (error) {
    complain(error);
  }
}

function buttons(task) {
  const group = onlySingleClicks(h("div.actions"));
  const button = (key, name, work, kind = "button.small") =>
    h(kind, { "data-key": `${key} ${task.id}`, "aria-label": `${name} ${task.id}`, onclick: () => busy(group, work) }, name);
  const can = (verb) => task.can.includes(verb);
  const verb = (key, name, does, kind) => can(does) && button(key, name, () => doTo(task, does), kind);
  group.append(
    ...[
      verb("hold", "Pause", "pause"),
      verb("hold", "Resume", "resume", "button.small.primary"),
      verb("run", "Run now", "run_now"),
      can("update") && button("edit", "Edit", () => edit(task.id)),
    ].filter(Boolean),
  );
  return group;
}

export function row(task) {
  const { schedule, words: said } = task.recurrence;
  const open = h(
    "button.link",
    { "data-key": `open ${task.id}`, onclick: () => tell("open", task.id) },
    task.id,
  );
  return h(
    "tr",
    {},
    pickCell(task.id),
    h("td.name", {}, open, h("small.there", {}, task.action), trouble(task)),
    h("td.words", { title: said }, shortly(said), " ", h("code", {}, schedule.expression)),
    h("td.next", {}, ...next(task).filter(Boolean)),
    h("td.last", {}, ...last(task).filter(Boolean)),
    h("td.twenty", {}, strip(task.occurrences)),
    h("td.buttons", {}, !isReadOnly && buttons(task)),
  );
}
