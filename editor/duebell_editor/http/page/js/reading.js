// Reading the list. The server looks at a long queue a part at a time: a filter that finds little in it is
// answered with short pages, or empty ones, and a cursor that goes on.

import { get } from "./api.js";
import { filters, isById, isLatestFirst, limits, takeAsked, where } from "./state.js";

export const PAGE = 50;
export const REQUESTS = 5; // in a row; more of them only when asked for

const MOST = limits("Filters", "limit").maximum; // that the server gives at a time

// What was read: `isShort` when it was left before there was enough of it.
export const NOTHING = { tasks: [], cursor: null, requests: 0, isShort: false };

const ask = (limit, cursor) =>
  isById()
    ? get("find", { prefix: filters.prefix, limit, cursor, brief: true })
    : get("tasks", { ...where(), limit, cursor, brief: true, latest_first: isLatestFirst() || null });

// The first rows are asked for before the other modules are set up: this one is imported first.
let first = null;
if (document.documentElement.dataset.page === "index") {
  takeAsked();
  first = ask(PAGE);
}

function takeFirst() {
  const taken = first;
  first = null;
  return taken;
}

// One that moved between two pages stands where it was seen last.
function joined(tasks, more) {
  const ids = new Set(more.map((task) => task.id));
  return [...tasks.filter((task) => !ids.has(task.id)), ...more];
}

// What there is after each request, until so many more are found, the list ends, or patience does.
export async function* readOn(from, count, most) {
  const before = from.requests; // it may be what is shown, and change on the way
  let { tasks, cursor } = from;
  const enough = tasks.length + count;
  for (let made = 1; made <= most; made += 1) {
    const page = await (takeFirst() ?? ask(Math.min(MOST, Math.max(PAGE, enough - tasks.length)), cursor));
    tasks = joined(tasks, page.tasks);
    cursor = page.cursor;
    const isShort = Boolean(cursor) && tasks.length < enough;
    yield { tasks, cursor, requests: before + made, isShort, isOver: !isShort || made === most };
    if (!isShort) return;
  }
}
