// What the viewer chose, kept in the address; events between the parts of the page.

import { byId } from "./dom.js";

// Limits that the server writes into the page: the schemas of its API, and what it counts by.


const schemas = JSON.parse(byId("schemas").textContent);

// most_counted, overdue_ms, morning, failures: see app.py.
export const { constants } = schemas;

export const propertiesOf = (name) => Object.entries(schemas[name].properties);

// The limits of a field, such as `minimum`, whether or not null can be given instead.
export function limits(name, field) {
  const given = schemas[name].properties[field];
  if (given.$ref) return schemas[name].$defs[given.$ref.split("/").at(-1)];
  return given.anyOf?.find(({ type }) => type !== "null") ?? given;
}

// Stretches of time that the list can be narrowed to, from where the viewer is in time.


const HOUR = 3600000;

const day = (now, days) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days);
const later = (now, hours) => new Date(now.getTime() + hours * HOUR);

// Before this, tasks are overdue, not due tonight: some minutes ago, or now if the ring for them brought no run.
let isRingMissed = false;
export function setRingMissed(is) {
  isRingMissed = is;
}
const late = (now) => (isRingMissed ? now : new Date(now - constants.overdue_ms));

// The end of the night, as the server counts it for the viewer's zone.
function morning(now) {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate(), constants.morning);
  return today > now ? today : new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, constants.morning);
}

// [name, first moment, moment behind the last]; null for no bound.
const COMING = {
  tonight: [`Tonight, until 0${constants.morning}:00`, late, morning],
  hour: ["Next hour", (now) => now, (now) => later(now, 1)],
  today: ["Today", (now) => day(now, 0), (now) => day(now, 1)],
  tomorrow: ["Tomorrow", (now) => day(now, 1), (now) => day(now, 2)],
  week: ["Next 7 days", (now) => now, (now) => later(now, 7 * 24)],
};
const PAST = {
  hour: ["Last hour", (now) => later(now, -1), (now) => now],
  today: ["Today", (now) => day(now, 0), (now) => day(now, 1)],
  yesterday: ["Yesterday", (now) => day(now, -1), (now) => day(now, 0)],
  week: ["Last 7 days", (now) => later(now, -7 * 24), (now) => now],
};

export const BETWEEN = "between";

const presets = (isHistory) => (isHistory ? PAST : COMING);

// What can be chosen from: [value, name].
export const choices = (isHistory) => [
  ["", "Any time"],
  ...Object.entries(presets(isHistory)).map(([value, [name]]) => [value, name]),
  [BETWEEN, "Between…"],
];

const iso = (date) => date?.toISOString() ?? "";

// The bounds of a choice, both included as the API has them; empty where there is none.
function bounds({ when, after, before }, isHistory) {
  if (when === BETWEEN) return { after, before };
  const [, first, behind] = presets(isHistory)[when] ?? ["", () => null, () => null];
  const now = new Date();
  const end = behind(now);
  return { after: iso(first(now)), before: iso(end && new Date(end - 1)) };
}

// The view in the address's fragment, for bookmarks, links and reloads. Browsers do not send the fragment.

export const addressQuery = () => new URLSearchParams(location.hash.slice(1));

export function putInAddress(changes) {
  const query = addressQuery();
  for (const [name, value] of Object.entries(changes))
    if (value) query.set(name, value);
    else query.delete(name);
  history.replaceState(null, "", query.size ? `#${query}` : location.pathname);
}

// What is being looked at, and word of changes to it.


const bus = new EventTarget();

// What people can search for: [filter, its title].
export const SEARCHES = propertiesOf("Filters")
  .filter(([, { kind }]) => kind === "search")
  .map(([name, { title }]) => [name, title]);
export const searched = () => SEARCHES.map(([name]) => name).find((name) => filters[name]) ?? "";

const NO_SEARCH = Object.fromEntries(SEARCHES.map(([name]) => [name, ""]));
export const searchFor = (name, value) => ({ ...NO_SEARCH, [name]: value });

// `order` is "reverse" for the other order in time than a status has by itself.
const NONE = {
  status: "",
  action: "",
  error: "",
  ...NO_SEARCH,
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

export const isTime = (text) => !Number.isNaN(Date.parse(text));

function take(changes) {
  Object.assign(filters, changes);
  for (const name of ["after", "before"]) if (!isTime(filters[name])) filters[name] = "";
  const { prefix, ...others } = filters;
  const isOnlyId = prefix && !Object.entries(others).some(([name, value]) => name !== "status" && value);
  if (filters.status === ANY && !isOnlyId) filters.status = "";
  if (!choices(isHistory()).some(([value]) => value === filters.when)) filters.when = "";
  if (filters.when !== BETWEEN) Object.assign(filters, { after: "", before: "" });
}

export function setFilters(changes) {
  take(changes);
  putInAddress(filters);
  tell("filters");
}

export const clearFilters = () => setFilters(NONE);

// Only these filters, and the list in sight.
export const showOnly = (changes) => tell("show", { ...NONE, ...changes });

// The filters that the address asks for.
export function readAddress() {
  const query = addressQuery();
  take(Object.fromEntries(Object.keys(NONE).map((name) => [name, query.get(name) ?? ""])));
  tell("filters");
}

const EVERY = ["scheduled", "running", "paused", "reserved", "blocked", ...FINISHED];
const STATUSES = { "": [], [ANY]: EVERY, [ANY_FINISHED]: FINISHED, failed: FAILED };

// What a list or a bulk action is asked for with.
export function where() {
  const { action, error } = filters;
  const status = STATUSES[filters.status] ?? [filters.status];
  const searches = Object.fromEntries(SEARCHES.map(([name]) => [name, filters[name]]));
  const given = { status, action, error, ...searches, ...stretch() };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value.length));
}
