// The tasks that the filters let through, a page at a time.

import { get } from "./api.js";
import { byId, h, refill } from "./dom.js";
import { clearFilters, filters, isHistory, on, setFilters, tell, where } from "./state.js";
import { showPicked } from "./bulk.js";
import { row } from "./row.js";

const PAGE = 50;

export const shown = { tasks: [], cursor: null, picked: new Set() };
let pages = 1;
let latest = 0;

function empty() {
  const filtered = filters.action || filters.prefix || filters.when;
  if (shown.cursor)
    return [h("p", {}, "Not found yet: the queue is long, and only a part of it was looked at.")];
  if (filtered)
    return [h("p", {}, "No task fits these filters."), h("button", { onclick: clearFilters }, "Clear the filters")];
  if (filters.status) return [h("p", {}, `No task is ${filters.status}.`)];
  return [
    h("p.big", {}, "The queue is empty."),
    h(
      "p",
      {},
      "Add a task here, with ",
      h("code", {}, "duebell add"),
      ", or from your service. It runs when it is due, and nothing runs before.",
    ),
    h("button.primary", { onclick: () => tell("add") }, "Add a task"),
  ];
}

function note() {
  if (!shown.tasks.length) return empty();
  const count = `${shown.tasks.length.toLocaleString("en")} ${shown.tasks.length === 1 ? "task" : "tasks"}`;
  if (!shown.cursor)
    return [h("p.quiet", {}, isHistory() ? `${count}, the latest first.` : `${count}, all there are here.`)];
  return [
    h("p.quiet", {}, `${count} so far.`),
    h("button", { "data-key": "more", onclick: more }, "Show more"),
  ];
}

function draw() {
  const body = byId("list").tBodies[0];
  const there = new Map([...body.rows].map((one) => [one.dataset.id, one]));
  const rows = shown.tasks.map((task) => {
    const old = there.get(task.id);
    return old?.dataset.rev === String(task.rev) ? old : row(task, shown.picked, togglePick);
  });
  refill(body, rows);
  byId("list").hidden = !rows.length;
  refill(byId("list-note"), note());
  const actions = [...new Set(shown.tasks.map((task) => task.action))].sort();
  byId("actions").replaceChildren(...actions.map((action) => h("option", { value: action })));
  drawPicked();
}

function drawPicked() {
  const all = byId("pick-all");
  all.checked = shown.picked.size > 0 && shown.picked.size === shown.tasks.length;
  all.indeterminate = shown.picked.size > 0 && !all.checked;
  showPicked(shown);
}

function togglePick(id, picked) {
  if (picked) shown.picked.add(id);
  else shown.picked.delete(id);
  drawPicked();
}

export function unpick() {
  shown.picked.clear();
  for (const box of byId("list").querySelectorAll("tbody .pick input")) box.checked = false;
  drawPicked();
}

const load = (limit, cursor) =>
  get("tasks", { ...where(), limit, cursor, brief: true, latest_first: isHistory() || null });

export async function refreshList() {
  const mine = (latest += 1);
  byId("tasks").setAttribute("aria-busy", "true");
  try {
    const page = await load(Math.min(1000, pages * PAGE));
    if (mine !== latest) return;
    Object.assign(shown, page);
    const ids = new Set(page.tasks.map((task) => task.id));
    for (const id of shown.picked) if (!ids.has(id)) shown.picked.delete(id);
    draw();
  } catch (error) {
    if (mine !== latest) return;
    if (!shown.tasks.length)
      refill(
        byId("list-note"),
        h("p", {}, `The tasks cannot be shown: ${error.message}`),
        h("button", { onclick: () => tell("refresh") }, "Try again"),
      );
    throw error;
  } finally {
    if (mine === latest) byId("tasks").setAttribute("aria-busy", "false");
  }
}

async function more() {
  const mine = (latest += 1);
  const page = await load(PAGE, shown.cursor);
  if (mine !== latest) return;
  pages += 1;
  Object.assign(shown, { tasks: [...shown.tasks, ...page.tasks], cursor: page.cursor });
  draw();
}

export function startList() {
  byId("pick-all").addEventListener("change", ({ target }) => {
    for (const box of byId("list").querySelectorAll("tbody .pick input")) box.checked = target.checked;
    for (const task of shown.tasks)
      if (target.checked) shown.picked.add(task.id);
      else shown.picked.delete(task.id);
    drawPicked();
  });
  let asked = JSON.stringify(filters);
  on("filters", () => {
    if (asked === JSON.stringify(filters)) return;
    asked = JSON.stringify(filters);
    pages = 1;
    shown.picked.clear();
    refreshList().catch(() => {});
  });
  on("show", (changes) => {
    setFilters(changes);
    byId("tasks").scrollIntoView();
  });
}
