// The tasks that the filters let through, a page at a time.

import { byId, h, reword } from "./dom.js";
import { note } from "./list_note.js";
import { NOTHING, PAGE, REQUESTS, readOn } from "./pages.js";
import { drawPicked, startPicking, unpick } from "./picking.js";
import { row, stateOf } from "./row.js";
import { drawRows } from "./rows.js";
import { filters, isById, isHistory, isLatestFirst, on, setFilters, where } from "./state.js";

const shown = { ...NOTHING, picked: new Set() };

let latest = 0; // the last that was asked for: what comes of those before is not shown
let isAsking = false; // someone waits for it
let isReading = false; // again, because something changed
let isMissed = false; // something changed meanwhile
let isThere = false; // what is shown is what the filters ask for
let trouble = "";
const actions = new Set(); // all that were seen

function drawNote() {
  reword(
    byId("list-note"),
    note(isThere ? shown : NOTHING, { isAsking, trouble, onmore: more, onagain: again }),
  );
  byId("list").setAttribute("aria-busy", String(isAsking && !isThere)); // dims what did not fit
  byId("tasks").setAttribute("aria-busy", String(isAsking || isReading));
}

function suggestActions(tasks) {
  const known = actions.size;
  for (const { action } of tasks) actions.add(action);
  if (actions.size === known) return;
  byId("actions").replaceChildren(...[...actions].sort().map((action) => h("option", { value: action })));
}

function draw() {
  drawRows(shown.tasks, stateOf, row);
  drawOrder();
  suggestActions(shown.tasks);
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
