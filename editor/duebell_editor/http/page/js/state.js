// What is being looked at, and word of changes to it.

import { asked, note } from "./address.js";
import { bounds, choices } from "./time_ranges.js";

const bus = new EventTarget();

// `order` is "reverse" for the other order in time than a status has by itself.
const NONE = {
  status: "",
  action: "",
  error: "",
  prefix: "",
  text: "",
  when: "",
  after: "",
  before: "",
  order: "",
};
const FINISHED = ["done", "failed", "expired", "cancelled"];
const FAILED = ["failed", "failing"]; // recurring tasks that fail are among the failed ones

export const filters = { ...NONE };

export const on = (event, call) => bus.addEventListener(event, ({ detail }) => call(detail));
export const tell = (event, detail) => bus.dispatchEvent(new CustomEvent(event, { detail }));

export const ANY = "any"; // found by the beginning of an id, whatever the status, in order of ids
export const ANY_FINISHED = "finished"; // each of them in one list
export const isHistory = () => [ANY_FINISHED, ...FINISHED].includes(filters.status);
export const isById = () => filters.status === ANY;
export const isLatestFirst = () => isHistory() !== (filters.order === "reverse");
export const stretch = () => bounds(filters, isHistory());

function take(changes) {
  Object.assign(filters, changes);
  const { prefix, ...others } = filters;
  const isOnlyId = prefix && !Object.entries(others).some(([name, value]) => name !== "status" && value);
  if (filters.status === ANY && !isOnlyId) filters.status = "";
  if (!choices(isHistory()).some(([value]) => value === filters.when)) filters.when = "";
  if (filters.when !== "between") Object.assign(filters, { after: "", before: "" });
}

export function setFilters(changes) {
  take(changes);
  note(filters);
  tell("filters");
}

export const clearFilters = () => setFilters(NONE);

// Only these filters, and the list in sight.
export const showOnly = (changes) => tell("show", { ...NONE, ...changes });

// The filters that the address asks for.
export function takeAsked() {
  const query = asked();
  take(Object.fromEntries(Object.keys(NONE).map((name) => [name, query.get(name) ?? ""])));
  tell("filters");
}

const EVERY = ["scheduled", "running", "paused", "reserved", ...FINISHED];
const STATUSES = { "": [], [ANY]: EVERY, [ANY_FINISHED]: FINISHED, failed: FAILED };

// What a list or a bulk action is asked for with.
export function where() {
  const { action, error, prefix, text } = filters;
  const status = STATUSES[filters.status] ?? [filters.status];
  const given = { status, action, error, prefix, text, ...stretch() };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value.length));
}
