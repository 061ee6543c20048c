// One task in the list.

import { h } from "./dom.js";
import { tell } from "./state.js";
import { lateness, time } from "./time.js";

export const badge = (status) => h(`span.badge.${status}`, {}, status);

function state(task) {
  const late =
    task.lateness_ms !== null && task.status === "done" ? `${lateness(task.lateness_ms)} late` : null;
  const attempt =
    task.attempt > 1 || (task.attempt && ["scheduled", "failed"].includes(task.status))
      ? `attempt ${task.attempt}`
      : null;
  return [badge(task.status), " ", (attempt || late) && h("small", {}, attempt || late)];
}

// Without its start, which says when it was added most often.
export const shortly = (words) => words.replace(/, (counted )?from \d{4}-.*/, "");

const recurs = (words) => h("small", { title: words }, `↻ ${shortly(words)}`);

// Whether it is looked at another time than it is due: retried, or added when that had passed.
const isLater = ({ queued, due }) => queued && Math.abs(new Date(queued) - new Date(due)) > 1000;

export function row(task, picked, togglePick) {
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Select ${task.id}`,
    "data-key": `pick ${task.id}`,
    checked: picked.has(task.id),
  });
  box.addEventListener("change", () => togglePick(task.id, box.checked));
  const open = h(
    "button.link",
    { "data-key": `open ${task.id}`, onclick: () => tell("open", task.id) },
    task.id,
  );
  const when = task.finished_at ?? task.queued ?? task.due;
  const made = h(
    "tr",
    { "data-id": task.id, "data-rev": String(task.rev) },
    h("td.pick", {}, box),
    h(
      "td.due",
      {},
      time(when),
      isLater(task) && h("small", {}, " due ", time(task.due, { words: false, inside: true })),
    ),
    h("td.name", {}, open, task.failed_with && h("small.why", {}, task.failed_with)),
    h("td.what", {}, task.action, " ", task.recurs && recurs(task.recurs)),
    h("td.state", {}, ...state(task)),
  );
  made.addEventListener("click", (event) => {
    if (event.target.closest("button, input, a")) return;
    if (event.target.closest(".pick")) box.click(); // the box alone is small to hit
    else if (!getSelection().toString()) tell("open", task.id);
  });
  return made;
}
