// Reading the list. The server reads a long queue in parts: if a filter finds little in it, pages are short,
// and have a cursor to go on with.

import { get } from "./api.js";
import { filters, isById, isLatestFirst, limits, readAddress, where } from "./state.js";

export const PAGE = 50;
export const REQUESTS = 5; // in a row; more of them only when asked for

const MOST = limits("Filters", "limit").maximum; // that the server gives at a time

// The rows that were read; `isShort` if reading ended before there were enough.
export const NOTHING = { tasks: [], cursor: null, requests: 0, isShort: false };

const ask = (limit, cursor) =>
  isById()
    ? get("find", { prefix: filters.prefix, limit, cursor, brief: true })
    : get("tasks", { ...where(), limit, cursor, brief: true, latest_first: isLatestFirst() || null });

// The first rows are requested before the other modules are set up: this module is imported first.
let first = null;
if (document.documentElement.dataset.page === "index") {
  readAddress();
  first = ask(PAGE);
}

function takeFirst() {
  const taken = first;
  first = null;
  return taken;
}

// Adds rows. A task that moved between two pages stands where it was seen last.
function joined(tasks, more) {
  const ids = new Set(more.map((task) => task.id));
  return [...tasks.filter((task) => !ids.has(task.id)), ...more];
}

// Yields the rows after each request, until `count` more are found, the list ends, or `most` requests are made.
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
