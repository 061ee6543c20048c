// The timeline: what is due, and what ended, by time.

import { get } from "./api.js";
import { barsOf, drawBars, ended, grouped, joined, pickedWords, stripWords, total } from "./chart.js";
import { byId, debounce, h, press, reword } from "./dom.js";
import { ANY_FINISHED, BETWEEN, filters, isHistory, on, setFilters, stretch, tell } from "./state.js";
import { nextDue } from "./status.js";
import { ZONE, nearby } from "./time.js";

// How much of time the timeline shows at once, in which steps, and how it moves along.

// `count` steps back and as many ahead; `group`: so many are one bar where there is little room.
const ZOOMS = {
  hour: { step: "minute", count: 30, group: 2, words: "half an hour back and ahead" },
  day: { step: "hour", count: 24, group: 2, words: "24 hours back and ahead" },
  month: { step: "day", count: 30, group: 2, words: "30 days back and ahead" },
};
const FINER = { month: "day", day: "hour" };

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const LENGTH = { minute: MINUTE, hour: HOUR };

const stepOf = ({ zoom }) => ZOOMS[zoom].step;
const groupOf = ({ zoom }) => ZOOMS[zoom].group;
const wordsOf = (zoom) => ZOOMS[zoom].words;

const startOfDay = (date, days = 0) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);

// The number of steps. A day that was zoomed into has 23 to 25 hours, an hour 60 minutes.
function countOf({ zoom, start, isWhole }) {
  if (isWhole && zoom === "day") return Math.round((startOfDay(start, 1) - startOfDay(start)) / HOUR);
  if (isWhole && zoom === "hour") return 60;
  return 2 * ZOOMS[zoom].count;
}

// So many steps later.
function stepped(date, step, count) {
  if (LENGTH[step]) return new Date(date.getTime() + count * LENGTH[step]); // elapsed time, as the server counts
  const moved = new Date(date);
  moved.setDate(moved.getDate() + count);
  return moved;
}

// The start of the first bucket. If the view has no start, now is in the middle.
const startOf = (view, now) => view.start ?? stepped(now, stepOf(view), -ZOOMS[view.zoom].count);

// The same, rounded down by the clock to a whole group: a group always has the same minutes or hours.
function evenStart(view, now) {
  const length = (LENGTH[stepOf(view)] ?? 1) * groupOf(view);
  const start = startOf(view, now);
  const offset = start.getTimezoneOffset() * MINUTE;
  return new Date(Math.floor((start - offset) / length) * length + offset);
}

// The start of the view that comes `times` views later; earlier if it is negative.
function shifted(view, times, now) {
  const from = startOf(view, now);
  if (view.isWhole && view.zoom === "day") return startOfDay(from, times);
  return stepped(from, stepOf(view), times * countOf(view));
}

// The timeline: past and future as bars, with now in the middle. Only the stretch in view is asked for.


const NOW = { start: null, isWhole: false };

const view = { zoom: "day", ...NOW };
let looks = 0; // the number of views chosen so far: answers for earlier views are dropped
let coming = null; // the server's buckets of what is to run in this view
let history = null; // its answer about what ended in this view: { buckets, is_all }
let seen = null; // the bars that are shown

const isNarrow = matchMedia("(max-width: 40rem)");
const groupSize = () => (isNarrow.matches ? groupOf(view) : 1);

const lastOf = (end) => new Date(new Date(end) - 1).toISOString(); // what ends there is not included

function isListed({ start, end }) {
  const { after, before } = stretch();
  return Date.parse(after) === Date.parse(start) && Date.parse(before) === Date.parse(lastOf(end));
}

// Of a bar that has both what ended and what waits, what waits is listed: it can still be changed.
function pick(bucket) {
  const wanted = { when: BETWEEN, after: bucket.start, before: lastOf(bucket.end) };
  const isOver = ended(bucket) && ended(bucket) === total(bucket);
  if (isOver) tell("show", { ...wanted, status: ANY_FINISHED });
  else setFilters({ ...wanted, status: isHistory() ? "" : filters.status });
}

function zoomIn(bucket) {
  const finer = FINER[view.zoom];
  if (!finer || groupSize() > 1) return null;
  const go = () => look({ zoom: finer, start: new Date(bucket.start), isWhole: true });
  return h(
    "button.small",
    { "data-key": "finer", onclick: () => leaveTo(go) },
    `Zoom in to this ${stepOf(view)}`,
  );
}

// The other half of a bar whose tasks have partly ended.
function others(bucket) {
  if (!ended(bucket) || ended(bucket) === total(bucket)) return null;
  const [name, status] = isHistory() ? ["Show what waits", ""] : ["Show what ended", ANY_FINISHED];
  return h("button.small", { "data-key": "others", onclick: () => setFilters({ status }) }, name);
}

// The button that was pressed goes away: the focus goes on to what it changed.
function leaveTo(go) {
  byId("chart").focus();
  go();
}

function goToNext() {
  const next = nextDue();
  if (next) leaveTo(() => look({ ...NOW, start: next }));
}

function say() {
  const note = byId("chart-note");
  const whole = { start: seen[0].start, end: seen.at(-1).end };
  const picked = seen.find(isListed);
  if (picked) {
    reword(note, pickedWords(picked, isHistory()), others(picked), " ", zoomIn(picked));
    return;
  }
  const next = !seen.some(total) && nextDue();
  reword(
    note,
    stripWords(seen, history?.is_all ?? true),
    isListed(whole) && "The list below shows the same. ",
    next && `The next task is due ${nearby(next)}. `,
    next && h("button.small", { "data-key": "next", onclick: goToNext }, "Go there"),
  );
}

function draw() {
  if (!coming) return;
  seen = grouped(joined(coming, history?.buckets), groupSize());
  drawBars(byId("chart"), seen, { step: stepOf(view), pick, isListed });
  say();
}

async function ask(path) {
  const now = new Date();
  const from = groupSize() > 1 ? evenStart(view, now) : startOf(view, now);
  return get(path, { start: from.toISOString(), step: stepOf(view), count: countOf(view), timezone: ZONE });
}

const complain = (error) => reword(byId("chart-note"), `It cannot be shown: ${error.message}`);

async function refresh(path, take) {
  const mine = looks;
  const chart = byId("chart");
  chart.setAttribute("aria-busy", String(!seen)); // dims what was asked for before
  try {
    const found = await ask(path);
    if (mine !== looks) return;
    take(found);
    draw();
  } catch (error) {
    if (mine === looks && !seen) complain(error);
    throw error;
  } finally {
    if (mine === looks) chart.setAttribute("aria-busy", "false");
  }
}

export async function refreshComing() {
  await refresh("timeline", ({ buckets }) => (coming = buckets));
  const isOld = history && history.buckets[0].start !== coming?.[0].start; // time has gone on by a step
  if (isOld) await refreshHistory();
}

export async function refreshHistory() {
  if (startOf(view, new Date()) < new Date()) await refresh("history", (found) => (history = found));
}

function showButtons() {
  for (const button of document.querySelectorAll("[data-zoom]"))
    press(button, button.dataset.zoom === view.zoom);
}

function look(changes) {
  Object.assign(view, changes);
  looks += 1;
  seen = coming = history = null;
  showButtons();
  byId("chart-note").textContent = "Counting…";
  tell("looked-back");
  for (const part of [refreshComing, refreshHistory]) part().catch(() => {}); // it is said below the bars
}

export function startTimeline() {
  for (const button of document.querySelectorAll("[data-zoom]")) button.title = wordsOf(button.dataset.zoom);
  byId("timeline").addEventListener("click", ({ target }) => {
    const { zoom, shift } = target.closest("button")?.dataset ?? {};
    if (zoom) look({ zoom, isWhole: false });
    if (shift) look(Number(shift) ? { start: shifted(view, Number(shift), new Date()) } : NOW);
  });
  addEventListener("resize", debounce(200, draw));
  on("filters", () => {
    if (!seen) return;
    for (const [at, bar] of barsOf(byId("chart")).entries()) press(bar, isListed(seen[at]));
    say();
  });
}
