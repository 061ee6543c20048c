// What is being looked at, and word of changes to it.

import { asked, note } from "./address.js";
import { bounds, choices } from "./time_ranges.js";

const bus = new EventTarget();

const NONE = { status: "", action: "", prefix: "", when: "", after: "", before: "" };
const FINISHED = ["done", "failed", "expired", "cancelled"];

export const filters = { ...NONE };

export const on = (event, call) => bus.addEventListener(event, ({ detail }) => call(detail));
export const tell = (event, detail) => bus.dispatchEvent(new CustomEvent(event, { detail }));

export const ANY_FINISHED = "finished"; // each of them in one list
export const isHistory = () => [ANY_FINISHED, ...FINISHED].includes(filters.status);
export const stretch = () => bounds(filters, isHistory());

function take(changes) {
  Object.assign(filters, changes);
  if (!choices(isHistory()).some(([value]) => value === filters.when)) filters.when = "";
  if (filters.when !== "between") Object.assign(filters, { after: "", before: "" });
}

export function setFilters(changes) {
  take(changes);
  note(filters);
  tell("filters");
}

export const clearFilters = () => setFilters(NONE);

// The filters that the address asks for.
export function takeAsked() {
  const query = asked();
  take(Object.fromEntries(Object.keys(NONE).map((name) => [name, query.get(name) ?? ""])));
  tell("filters");
}

// What a list or a bulk action is asked for with.
export function where() {
  const { action, prefix } = filters;
  const status = filters.status === ANY_FINISHED ? FINISHED : [filters.status].filter(Boolean);
  const given = { status, action, prefix, ...stretch() };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value.length));
}
