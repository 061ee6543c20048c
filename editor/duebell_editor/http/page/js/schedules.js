// The page of recurring tasks: each with its schedule, its next and last times, and what can be done with it.

import { asked, note } from "./address.js";
import { get } from "./api.js";
import { number, several } from "./counts.js";
import { byId, debounce, h, reword } from "./dom.js";
import { refresh, seldom, startFrame } from "./frame.js";
import { limits } from "./limits.js";
import { drawRows } from "./rows.js";
import { drawPicked, startPicking } from "./picking.js";
import { row } from "./schedule_row.js";
import { on, tell } from "./state.js";
import { refreshStatus } from "./status.js";
import { refreshTask } from "./task.js";

const PAGE = 100;
const MOST = limits("Filters", "limit").maximum; // that the server gives at a time

// The index of recurring tasks may be a second behind: then a task that was just added is not in it yet.
const INDEX_MS = 1500;

const shown = { tasks: [], cursor: null, picked: new Set() };
let latest = 0; // the last that was asked for

function sayNone() {
  if (byId("search").elements.prefix.value) return h("p", {}, "No recurring task has such an id.");
  return [
    h("p.big", {}, "Nothing recurs."),
    h(
      "p",
      {},
      "Add a task with a schedule here, with ",
      h("code", {}, 'duebell add report --schedule "0 9 * * MON-FRI"'),
      ", or from your service.",
    ),
    h("button.primary", { "data-key": "add", onclick: () => tell("add") }, "Add a task"),
  ];
}

function say() {
  const { tasks, cursor } = shown;
  const failing = tasks.filter(({ recurrence }) => recurrence.consecutive_failures).length;
  const paused = tasks.filter(({ status }) => status === "paused").length;
  const said = [
    `${several(tasks.length, "recurring task")}${cursor ? " so far" : ""}`,
    failing && `${number(failing)} failed the last time`,
    paused && `${number(paused)} paused`,
  ];
  reword(
    byId("list-note"),
    tasks.length ? h("p.quiet", {}, `${said.filter(Boolean).join(", ")}.`) : sayNone(),
    cursor && h("button", { "data-key": "more", onclick: more }, "Show more"),
  );
}

function draw() {
  drawRows(shown.tasks, ({ rev }) => rev, row);
  byId("schedules").setAttribute("aria-busy", "false");
  say();
  drawPicked();
}

// As many as are shown already, in as few requests as they take.
async function read(wanted) {
  const mine = (latest += 1);
  const { value: prefix } = byId("search").elements.prefix;
  let [tasks, cursor] = [[], null];
  do {
    const limit = Math.min(MOST, wanted - tasks.length);
    const page = await get("schedules", { prefix, limit, cursor });
    if (mine !== latest) return;
    tasks = [...tasks, ...page.tasks];
    cursor = page.cursor;
  } while (cursor && tasks.length < wanted);
  Object.assign(shown, { tasks, cursor });
  draw();
}

const refreshSchedules = () => read(Math.max(PAGE, shown.tasks.length));
const more = () => refresh(() => read(shown.tasks.length + PAGE));

const search = debounce(300, () => {
  note({ prefix: byId("search").elements.prefix.value });
  refresh(refreshSchedules);
});

function takeAsked() {
  byId("search").elements.prefix.value = asked().get("prefix") ?? "";
}

const seldomSchedules = seldom(refreshSchedules);
byId("search").addEventListener("submit", (event) => event.preventDefault());
byId("search").addEventListener("input", search);
addEventListener("hashchange", () => {
  takeAsked();
  refresh(refreshSchedules);
});
takeAsked();
startPicking(shown);
for (const event of ["changed", "refresh"])
  on(event, () => setTimeout(() => refresh(refreshSchedules), INDEX_MS));
startFrame(
  () => refresh(refreshStatus, refreshSchedules, refreshTask),
  () => refresh(seldomSchedules, refreshTask),
);
refresh(refreshStatus, refreshSchedules);
