// One task in the list.

import { h } from "./dom.js";
import { pickCell } from "./picking.js";
import { isHistory, tell } from "./state.js";
import { lateness, time } from "./time.js";

export const badge = (status) => h(`span.badge.${status}`, {}, status);

function state(task) {
  const late =
    task.lateness_ms !== null && task.status === "done" ? `${lateness(task.lateness_ms)} late` : null;
  const owes = task.owes_since ? "owes a follow-up" : null;
  const attempt =
    task.attempt > 1 || (task.attempt && ["scheduled", "failed"].includes(task.status))
      ? `attempt ${task.attempt}`
      : null;
  const more = owes || attempt || late;
  return [badge(task.status), " ", more && h("small", {}, more)];
}

// A schedule in words without its start, which most often only says when the task was added.
export const shortly = (words) => words.replace(/, (counted )?from \d{4}-.*/, "");

const recurs = (words) => h("small", { title: words }, `↻ ${shortly(words)}`);

// Whether it is looked at another time than it is due: retried, or added when that had passed.
const isLater = ({ queued, due }) => queued && Math.abs(new Date(queued) - new Date(due)) > 1000;

// Why it failed last; else what it is given.
function more(task) {
  if (task.failed_with) return h("td.more.why", { title: task.failed_with }, task.failed_with);
  if (["{}", "null"].includes(task.payload_start)) return h("td.more");
  return h("td.more", { title: task.payload_start }, h("code", {}, task.payload_start));
}

// Among what failed, a recurring task stands with its last occurrence.
const isAsFailing = (task) => isHistory() && task.failing_at !== null;

// The same for as long as the row is.
export const stateOf = (task) => `${task.rev}${isAsFailing(task) ? " failing" : ""}`;

export function row(task) {
  const open = h(
    "button.link",
    { "data-key": `open ${task.id}`, onclick: () => tell("open", task.id) },
    task.id,
  );
  const isFailing = isAsFailing(task);
  const when = isFailing ? task.failing_at : (task.finished_at ?? task.queued ?? task.due);
  const made = h(
    "tr",
    {},
    pickCell(task.id),
    h(
      "td.due",
      {},
      time(when),
      !isFailing && isLater(task) && h("small", {}, " due ", time(task.due, { words: false, inside: true })),
    ),
    h("td.name", { title: task.id }, open, " ", task.recurs && recurs(task.recurs)),
    h("td.what", { title: task.action }, task.action),
    h("td.state", {}, ...(isFailing ? [h("span.badge.failed", {}, "failing")] : state(task))),
    more(task),
  );
  made.addEventListener("click", (event) => {
    if (event.target.closest("button, input, a, .pick")) return;
    if (!getSelection().toString()) tell("open", task.id);
  });
  return made;
}
