// The list of tasks: its pages, filters, tabs and notes.

import { get } from "./api.js";
import { byId, debounce, h, isReadOnly, press, refill, reword, tasks } from "./dom.js";
import { NOTHING, PAGE, REQUESTS, readOn } from "./reading.js";
import { drawPicked, drawRows, row, startPicking, stateOf, unpick } from "./rows.js";
import { ANY, ANY_FINISHED, BETWEEN, SEARCHES, choices, clearFilters, filters, isById, isHistory, isLatestFirst, isTime, limits, on, searchFor, searched, setFilters, tell, where } from "./state.js";
import { counted, current, failedIn } from "./status.js";
import { toLocalInput } from "./time.js";

// What is said below the list: how many there are, what is under way, and what to do when there is none.


const isNarrow = () =>
  Boolean(filters.action || filters.error || searched() || filters.when);

const lookInside = () => setFilters({ status: "", ...searchFor("text", filters.prefix) });

function nothing() {
  if (isById()) {
    return [
      h("p", {}, `No task's id starts with ${filters.prefix}.`),
      h("button", { "data-key": "inside", onclick: lookInside }, "Look inside ids and payloads"),
      h("button", { "data-key": "clear", onclick: clearFilters }, "Clear the filters"),
    ];
  }
  if (isNarrow()) {
    const lookBack = () => setFilters({ status: ANY_FINISHED });
    return [
      h("p", {}, isHistory() ? "No finished task fits these filters." : "No task fits these filters."),
      Boolean(filters.action || searched()) &&
        !isHistory() &&
        h("button", { "data-key": "back", onclick: lookBack }, "Look among finished ones"),
      h("button", { "data-key": "clear", onclick: clearFilters }, "Clear the filters"),
    ];
  }
  if (filters.status) return [h("p", {}, `No task is ${filters.status}.`)];
  if (isReadOnly) return [h("p.big", {}, "The queue is empty.")];
  return [
    h("p.big", {}, "The queue is empty."),
    h(
      "p",
      {},
      "Add a task here, with ",
      h("code", {}, "duebell add"),
      ", or from your service. It runs when it is due, and nothing runs before.",
    ),
    h("button.primary", { "data-key": "add", onclick: () => tell("add") }, "Add a task"),
  ];
}

// The button stays while it is at work, so that the focus does.
function next(found, { isAsking, onmore }) {
  const name = found.isShort ? "Look further" : "Show more";
  return h(
    "button",
    { "data-key": "more", "aria-disabled": String(isAsking), onclick: onmore },
    isAsking ? "Looking further…" : name,
  );
}

// Of what was found so far, and of what came of asking: { isAsking, trouble, onmore, onagain }.
export function note(found, asked) {
  const { isAsking, trouble, onagain } = asked;
  const count = tasks(found.tasks.length);
  if (trouble) {
    const what = found.requests ? `${count} so far. The next ones` : "The tasks";
    return [
      h("p", {}, `${what} cannot be shown: ${trouble}`),
      h("button", { "data-key": "more", onclick: onagain }, "Try again"),
    ];
  }
  if (isAsking && !found.requests) return [h("p.quiet", {}, "Loading…")];
  if (!found.cursor) {
    if (!found.tasks.length) return nothing();
    if (isById()) return [h("p.quiet", {}, `${count}, in order of their ids.`)];
    return [h("p.quiet", {}, isLatestFirst() ? `${count}, the latest first.` : `${count}, the whole list.`)];
  }
  const said = found.tasks.length ? `${count} so far` : "None found yet";
  const why = found.isShort ? ": the queue is long, and a part of it was searched." : ".";
  return [h("p.quiet", {}, said, why), next(found, asked)];
}

// The form above the list: which of the tasks to show.


const MILLISECOND = 1;

const local = (iso, shift = 0) => iso && toLocalInput(new Date(Date.parse(iso) + shift)).slice(0, 16);
const iso = (text, shift = 0) => (isTime(text) ? new Date(new Date(text).getTime() + shift).toISOString() : "");

// The last moment is included for the API; people say the one behind it.
const UNTIL = { from: (text) => iso(text, -MILLISECOND), to: (instant) => local(instant, MILLISECOND) };

function read() {
  const { action, by, search, when, after, before } = byId("filters").elements;
  // An input shows no seconds and no offset: a filter that it shows already stays.
  const between = {
    after: after.value === local(filters.after) ? filters.after : iso(after.value),
    before: before.value === UNTIL.to(filters.before) ? filters.before : UNTIL.from(before.value),
  };
  const isNew = by.value === "prefix" && search.value.trim() && search.value.trim() !== filters.prefix;
  setFilters({
    ...(isNew && !action.value.trim() && !when.value && !filters.error && { status: ANY, order: "" }),
    action: action.value.trim(),
    ...searchFor(by.value, search.value.trim()),
    when: when.value,
    ...(when.value === BETWEEN && between),
  });
}

function put(input, value) {
  if (input !== document.activeElement && input.value !== value) input.value = value;
}

function showFilters() {
  const { elements } = byId("filters");
  const given = choices(isHistory());
  const names = JSON.stringify(given);
  if (elements.when.dataset.names !== names) {
    elements.when.replaceChildren(...given.map(([value, name]) => h("option", { value }, name)));
    elements.when.dataset.names = names;
  }
  if (searched()) elements.by.value = searched();
  suggestTags();
  elements.when.value = filters.when;
  put(elements.action, filters.action);
  put(elements.search, filters[searched()] ?? "");
  put(elements.after, local(filters.after));
  put(elements.before, UNTIL.to(filters.before));
  byId("between").hidden = filters.when !== BETWEEN;
  byId("of-error").hidden = !filters.error;
  byId("of-error").textContent = `${filters.error} ×`;
  byId("of-error").setAttribute("aria-label", `${filters.error} ×: show other errors, too`);
}

function suggestTags() {
  const { by, search } = byId("filters").elements;
  if (by.value === "tag") search.setAttribute("list", "tags");
  else search.removeAttribute("list");
}

export function startFilters() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    read();
  });
  form.addEventListener("change", ({ target }) => {
    suggestTags();
    if (target.name) read();
  });
  form.elements.action.addEventListener("focus", () => suggestAll().catch(() => {}), { once: true }); // those seen remain
  form.addEventListener(
    "input",
    debounce(300, ({ target }) => {
      if (["action", "search"].includes(target.name)) read();
    }),
  );
  byId("of-error").addEventListener("click", () => setFilters({ error: "" }));
  form.elements.by.replaceChildren(...SEARCHES.map(([value, title]) => h("option", { value }, title)));
  form.elements.search.maxLength = limits("Filters", "prefix").maxLength;
  on("filters", showFilters);
  showFilters();
}

// The list by status, with how many there are of each.


// [status, name, how many]; the past's counts come with a request of their own.
const TABS = [
  ["", "In the queue", (status) => status?.queued],
  ["running", "Running", (status) => status?.running],
  ["paused", "Paused", (_, past) => past?.paused],
  ["failed", "Failed", (status) => status && failedIn(status)],
  ["done", "Done", (_, past) => past?.done],
  ["expired", "Expired", (_, past) => past?.expired],
  ["cancelled", "Cancelled", (_, past) => past?.cancelled],
  [ANY_FINISHED, "All ended", () => undefined],
];

let past = null;

function tab([status, name, count]) {
  const found = count(current(), past);
  const made = h(
    "button",
    { type: "button", "data-status": status, "data-key": `tab ${status}`, onclick: () => pick(status) },
    name,
    found !== undefined && found !== null && " ",
    found !== undefined &&
      found !== null &&
      h(`span.count${["overdue", "failed"].includes(status) && found ? ".bad" : ""}`, {}, counted(found)),
  );
  press(made, filters.status === status);
  return made;
}

const pick = (status) => setFilters({ status, ...(status === "failed" ? {} : { error: "" }) });

// Tabs that are shown only while they are picked: by a search, or by the count of overdue tasks.
const PICKED = [
  [ANY, "Any status", () => undefined],
  ["overdue", "Overdue", (status) => status?.overdue],
];

const drawTabs = () =>
  refill(byId("tabs"), [...PICKED.filter(([status]) => status === filters.status), ...TABS].map(tab));

export async function refreshCounts() {
  past = await get("counts");
  drawTabs();
}

export function startTabs() {
  on("status", drawTabs);
  on("filters", () => {
    drawTabs();
    const picked = byId("tabs").querySelector('[aria-pressed="true"]');
    if (picked) byId("tabs").scrollLeft = picked.offsetLeft - picked.offsetWidth / 2;
  });
  drawTabs();
}

// The tasks that the filters let through, a page at a time.


const shown = { ...NOTHING, picked: new Set() };

let latest = 0; // the number of the last request: answers to earlier ones are dropped
let isAsking = false; // the viewer waits for rows
let isReading = false; // the shown rows are read again, because something changed
let isMissed = false; // a change was not read: the rows are read again when the viewer's request ends
let isThere = false; // the shown rows fit the filters
let trouble = "";
const [actions, tags] = [new Set(), new Set()]; // all that were seen

function drawNote() {
  reword(
    byId("list-note"),
    note(isThere ? shown : NOTHING, { isAsking, trouble, onmore: more, onagain: again }),
  );
  byId("list").setAttribute("aria-busy", String(isAsking && !isThere)); // dims what did not fit
  byId("tasks").setAttribute("aria-busy", String(isAsking || isReading));
}

// Names for a datalist: those that were seen, and those that the worker has.
function suggest(id, seen, names) {
  const known = seen.size;
  for (const name of names) seen.add(name);
  if (seen.size > known) byId(id).replaceChildren(...[...seen].sort().map((value) => h("option", { value })));
}

async function suggestAll() {
  const { worker } = await get("worker");
  suggest("actions", actions, (worker?.actions ?? []).map(({ name }) => name));
}

function draw() {
  drawRows(shown.tasks, stateOf, row);
  drawOrder();
  suggest("actions", actions, shown.tasks.map(({ action }) => action));
  suggest("tags", tags, shown.tasks.flatMap((task) => task.tags));
  drawNote();
  drawPicked();
}

// Both indexes are sorted by time, and by nothing else.
function drawOrder() {
  const latestFirst = isLatestFirst();
  byId("list-when").disabled = isById();
  if (isById()) {
    byId("list-when").textContent = "Due or ended";
    byId("list-when").title = "In order of ids";
    byId("list-when").closest("th").ariaSort = null;
    return;
  }
  byId("list-when").textContent = `${isHistory() ? "Ended" : "Due"} ${latestFirst ? "↓" : "↑"}`;
  byId("list-when").title = `The ${latestFirst ? "latest" : "earliest"} first; press for the other order`;
  byId("list-when").closest("th").ariaSort = latestFirst ? "descending" : "ascending";
}

function show(found) {
  isThere = true;
  trouble = "";
  Object.assign(shown, found);
  draw();
}

// What someone waits for is shown as far as it is found.
async function askFor(from) {
  const mine = (latest += 1);
  isMissed = isReading && from !== NOTHING;
  isReading = false;
  isAsking = true;
  drawNote();
  try {
    for await (const found of readOn(from, PAGE, REQUESTS)) {
      if (mine !== latest) return;
      isAsking = !found.isOver;
      show(found);
    }
  } catch (error) {
    if (mine !== latest) return;
    isAsking = false;
    trouble = error.message;
    if (!isThere) Object.assign(shown, NOTHING); // what does not fit the filters misleads
    draw();
    throw error;
  }
  if (isMissed) await refreshList();
}

// Where something changed, what is shown is read once more, as far as it was before.
export async function refreshList() {
  if (isAsking) {
    isMissed = true;
    return;
  }
  if (!isThere) {
    await askFor(NOTHING);
    return;
  }
  const mine = (latest += 1);
  isReading = true;
  byId("tasks").setAttribute("aria-busy", "true");
  try {
    let found;
    const most = Math.max(REQUESTS, shown.requests);
    for await (found of readOn(NOTHING, Math.max(PAGE, shown.tasks.length), most))
      if (mine !== latest) return;
    isReading = false;
    show(found);
  } finally {
    if (mine === latest) {
      isReading = false;
      drawNote();
    }
  }
}

async function more() {
  if (isAsking) return;
  trouble = "";
  const first = shown.tasks.length;
  const isHeld = byId("list-note").contains(document.activeElement);
  await askFor(shown).catch(() => {}); // it is said below the list
  if (isHeld && document.activeElement === document.body)
    byId("list").tBodies[0].rows[first]?.querySelector("button.link").focus();
}

const goOn = () => shown.cursor && !shown.isShort && more();

function again() {
  if (isThere) return more();
  trouble = "";
  return refreshList().catch(() => {});
}

// Whether a look at it costs more than the rows that it shows.
export const isCostly = () => isThere && (isHistory() || shown.requests >= REQUESTS);

export function startList() {
  startPicking(shown, where);
  byId("list-when").addEventListener("click", () =>
    setFilters({ order: filters.order ? "" : "reverse" }),
  );
  // The next page is read when the end of this one comes into sight.
  new IntersectionObserver(
    (seen) => seen.some(({ isIntersecting }) => isIntersecting) && isThere && !trouble && goOn(),
    { rootMargin: "200px" },
  ).observe(byId("list-note"));
  let asked = JSON.stringify(filters);
  on("filters", () => {
    if (asked === JSON.stringify(filters)) return;
    asked = JSON.stringify(filters);
    isThere = false;
    trouble = "";
    unpick();
    if (byId("list-note").contains(document.activeElement)) byId("tasks").focus({ preventScroll: true });
    askFor(NOTHING).catch(() => {}); // it is said below the list
  });
  on("show", (changes) => {
    setFilters(changes);
    byId("tasks").scrollIntoView();
  });
}
