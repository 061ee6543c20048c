// Rows of tasks, and picking several of them for a change.

import { ask } from "./api.js";
import { busy, confirm } from "./dialog.js";
import { byId, h, progress, refill, tasks } from "./dom.js";
import { SEARCHES, filters, isHistory, limits, tell } from "./state.js";
import { lateness, time } from "./time.js";
import { complain, toast } from "./toast.js";

// The rows of the table.


// Draws a row for each task. A row whose state is the same stays as it is.
export function drawRows(tasks, stateOf, row) {
  const body = byId("list").tBodies[0];
  const there = new Map([...body.rows].map((one) => [one.dataset.id, one]));
  const rows = tasks.map((task) => {
    const state = String(stateOf(task));
    const old = there.get(task.id);
    if (old?.dataset.state === state) return old;
    const made = row(task);
    Object.assign(made.dataset, { id: task.id, state });
    return made;
  });
  refill(body, rows);
  byId("list").hidden = !rows.length;
}

// One change to many tasks: counted first, confirmed, carried out part by part, and undone where it can be.


const VERBS = {
  run_now: { name: "Run now", done: "run" },
  pause: { name: "Pause", done: "paused", undo: "resume" },
  resume: { name: "Resume", done: "resumed", undo: "pause" },
  retry: { name: "Retry", done: "retried" },
  cancel: {
    name: "Cancel",
    done: "cancelled",
    danger: true,
    after: " They stay as history, and this cannot be undone.",
  },
};

const MOST = limits("BulkChange", "ids").maxItems;
const AT_ONCE = 100; // so that what is done so far can be said

let where; // the filter of the list; without one, only what is ticked can be changed
let everything = false; // all that the filters let through, not only what is ticked

// The ids of those picked that it can be done to.
const chosen = (verb) =>
  shown.tasks.filter(({ id, can }) => shown.picked.has(id) && can.includes(verb)).map(({ id }) => id);

function showPicked() {
  const { picked, cursor } = shown;
  byId("bulk").hidden = !picked.size;
  if (!picked.size) {
    everything = false;
    return;
  }
  const isWhole = where && picked.size === shown.tasks.length && cursor;
  if (!isWhole) everything = false;
  refill(
    byId("bulk"),
    h(
      "span",
      { "aria-live": "polite" },
      everything ? "All that fit the filters" : `${tasks(picked.size)} selected`,
    ),
    isWhole &&
      !everything &&
      h(
        "button.small",
        {
          "data-key": "bulk all",
          onclick: () => {
            everything = true;
            showPicked();
          },
        },
        "Select all that fit the filters",
      ),
    Object.keys(VERBS)
      .filter((verb) => chosen(verb).length)
      .map((verb) =>
        h(
          `button.small${VERBS[verb].danger ? ".danger" : ""}`,
          { "data-key": `bulk ${verb}`, onclick: () => busy(byId("bulk"), () => run(verb)) },
          VERBS[verb].name,
        ),
      ),
    h("button.small.plain", { "data-key": "bulk none", onclick: unpick }, "Clear"),
  );
}

const run = (verb) =>
  everything ? changeFound(verb, where(), filterWords()) : changeNamed(verb, chosen(verb));

export const changeFound = (verb, filter, words = "") => change(verb, { where: filter, limit: MOST }, words);

export const changeNamed = (verb, ids) =>
  change(verb, { ids: ids.slice(0, MOST) }, "", { isMore: ids.length > MOST });

// The very tasks that were counted are changed, a part of them at a time.
async function change(verb, asked, words, { isMore = false } = {}) {
  try {
    const found = await ask("POST", "bulk", { body: { do: verb, ...asked, dry_run: true } });
    if (!found.found) {
      toast(`None of them can be ${VERBS[verb].done}`);
    } else if (await isMeant(verb, found, words, isMore || !found.is_all)) {
      report(VERBS[verb], await inParts(verb, found.ids));
      unpick();
    }
  } catch (error) {
    complain(error);
  }
  tell("refresh");
}

function isMeant(verb, { found }, words, isMore) {
  const { name, danger, done, after = "" } = VERBS[verb];
  const text = isMore
    ? `The first ${tasks(found)}${words} will be ${done}. There are more: do it again for those.`
    : `${tasks(found)}${words} will be ${done}.`;
  const what = `${name} ${tasks(found)}`;
  return confirm(`${what}?`, text + after, what, { danger });
}

// Resolves to the result, also if it was stopped or the server went away in between.
async function inParts(verb, ids) {
  const done = { changed: [], failures: [], isStopped: false, error: null };
  const shownProgress = progress(`${VERBS[verb].name} ${tasks(ids.length)}`, ids.length);
  try {
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      if (shownProgress.isStopped()) {
        done.isStopped = true;
        break;
      }
      const part = await ask("POST", "bulk", { body: { do: verb, ids: ids.slice(at, at + AT_ONCE) } });
      done.changed.push(...part.changed);
      done.failures.push(...part.failures);
      shownProgress.show(Math.min(at + AT_ONCE, ids.length));
    }
  } catch (error) {
    done.error = error;
  } finally {
    shownProgress.close();
  }
  return done;
}

function filterWords() {
  const said = [
    filters.action && `with the action ${filters.action}`,
    filters.error && `with the error ${filters.error}`,
    ...SEARCHES.map(([name, title]) => filters[name] && `where the ${title.toLowerCase()} ${filters[name]}`),
    filters.when && "in the stretch of time chosen",
  ];
  const given = said.filter(Boolean);
  return given.length ? ` ${given.join(", ")}` : "";
}

async function takeBack(verb, ids) {
  try {
    const undone = await inParts(verb, ids);
    report({ done: VERBS[verb].done }, undone);
  } catch (error) {
    complain(error);
  }
  tell("refresh");
}

function report({ undo: back, done }, { changed, failures, isStopped, error }) {
  const undo = back && changed.length ? () => takeBack(back, changed) : undefined;
  const stopped = isStopped ? ", then stopped" : "";
  if (changed.length) toast(`${tasks(changed.length)} ${done}${stopped}`, { undo });
  if (failures.length) toast(`${tasks(failures.length)} failed: ${failures[0].detail}`, { bad: true });
  if (error) toast(`It was interrupted, and more may be ${done}: ${error.message}`, { bad: true });
}

// The rows of a table that are picked, for a change to all of them at once.


let shown; // the table: its tasks, and the ids of those that are picked

const boxes = () => byId("list").querySelectorAll("tbody .pick input");

function toggle(id, isPicked) {
  if (isPicked) shown.picked.add(id);
  else shown.picked.delete(id);
  drawPicked();
}

// The first cell of a row. The box alone is small to hit, so a click beside it counts too.
export function pickCell(id) {
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Select ${id}`,
    "data-key": `pick ${id}`,
    checked: shown.picked.has(id),
    onchange: () => toggle(id, box.checked),
  });
  return h("td.pick", { onclick: ({ target }) => target !== box && box.click() }, box);
}

export function drawPicked() {
  const all = byId("pick-all");
  const ids = new Set(shown.tasks.map((task) => task.id));
  for (const id of shown.picked) if (!ids.has(id)) shown.picked.delete(id);
  all.checked = shown.picked.size > 0 && shown.picked.size === shown.tasks.length;
  all.indeterminate = shown.picked.size > 0 && !all.checked;
  showPicked();
}

export function unpick() {
  shown.picked.clear();
  for (const box of boxes()) box.checked = false;
  drawPicked();
}

// `filter` is that of what is shown and what follows it; without one, only rows can be picked.
export function startPicking(list, filter = null) {
  shown = list;
  where = filter;
  const all = byId("pick-all");
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    shown.picked = new Set(all.checked ? shown.tasks.map((task) => task.id) : []);
    drawPicked();
  });
  all.closest("th").addEventListener("click", ({ target }) => target.tagName === "TH" && all.click());
}

// One task in the list.


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

// Whether a run looks at the task at another time than its due date: for a retry, or if that had passed at the add.
const isLater = ({ queued, due }) => queued && Math.abs(new Date(queued) - new Date(due)) > 1000;

// Why it failed last; else what it is given.
function more(task) {
  if (task.failed_with) return h("td.more.why", { title: task.failed_with }, task.failed_with);
  if (["{}", "null"].includes(task.payload_start)) return h("td.more");
  return h("td.more", { title: task.payload_start }, h("code", {}, task.payload_start));
}

// Among what failed, a recurring task stands with its last occurrence.
const isAsFailing = (task) => isHistory() && task.failing_at !== null && task.finished_at === null;

// A text that differs when the task's row must be drawn again.
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
