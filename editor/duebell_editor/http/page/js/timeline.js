// What is coming and what has been, as bars. Only the stretch in view is ever asked for.

import { get } from "./api.js";
import { byId, h, press, refill, reword } from "./dom.js";
import { drawBars } from "./chart.js";
import { nextDue } from "./status.js";
import { ANY_FINISHED, filters, isHistory, on, setFilters, stretch, tell } from "./state.js";
import { ZONE, nearby } from "./time.js";
import { comingWords, pastWords, pickedWords, total } from "./timeline_words.js";
import { BETWEEN } from "./time_ranges.js";
import { FINER, countOf, evenMinute, inPairs, shifted, startOf, stepOf } from "./zoom.js";

const NOW = { start: null, isWhole: false };

const view = { direction: "coming", zoom: "day", ...NOW };
let latest = 0;
let seen = null; // the buckets that are shown, and whether these are all
let stretchOfBar = null; // that the list was narrowed to

export const isPast = () => view.direction === "past";

const isNarrow = matchMedia("(max-width: 40rem)");

const lastOf = (end) => new Date(new Date(end) - 1).toISOString(); // what ends there is not included

function isListed({ start, end }) {
  const { after, before } = stretch();
  return Date.parse(after) === Date.parse(start) && Date.parse(before) === Date.parse(lastOf(end));
}

function pick(bucket) {
  const wanted = { when: BETWEEN, after: bucket.start, before: lastOf(bucket.end) };
  if (isPast()) tell("show", { ...wanted, status: ANY_FINISHED });
  else setFilters({ ...wanted, status: isHistory() ? "" : filters.status });
}

function zoomIn(bucket) {
  const finer = FINER[view.zoom];
  if (!finer) return null;
  const go = () => look({ zoom: finer, start: new Date(bucket.start), isWhole: true });
  return h(
    "button.small",
    { "data-key": "finer", onclick: () => leaveTo(go) },
    `Zoom in to this ${stepOf(view)}`,
  );
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

function say(buckets, isAll) {
  const note = byId("chart-note");
  const whole = { start: buckets[0].start, end: buckets.at(-1).end };
  const picked = buckets.find(isListed);
  if (picked ?? isListed(whole)) stretchOfBar = stretch();
  if (picked) {
    reword(note, pickedWords(picked, isPast()), zoomIn(picked));
    return;
  }
  const words = isPast() ? pastWords(buckets, isAll) : comingWords(buckets);
  const next = !isPast() && !total(buckets) && nextDue();
  reword(
    note,
    words,
    isListed(whole) && "The list below shows the same. ",
    next && `The next task is due ${nearby(next)}. `,
    next && h("button.small", { "data-key": "next", onclick: goToNext }, "Go there"),
  );
}

const complain = (error) => reword(byId("chart-note"), `It cannot be shown: ${error.message}`);

async function refresh() {
  const mine = (latest += 1);
  const chart = byId("chart");
  const step = stepOf(view);
  chart.setAttribute("aria-busy", String(!seen)); // dims what was asked for before
  try {
    const isPaired = step === "minute" && isNarrow.matches;
    const from = startOf(view, new Date());
    const found = await get(isPast() ? "history" : "timeline", {
      start: (isPaired ? evenMinute(from, isPast()) : from).toISOString(),
      step,
      count: countOf(view),
      timezone: ZONE,
    });
    if (mine !== latest) return;
    seen = [isPaired ? inPairs(found.buckets) : found.buckets, found.is_all];
    drawBars(chart, seen[0], { step, pick, isListed });
    say(...seen);
  } catch (error) {
    if (mine === latest && !seen) complain(error);
    throw error;
  } finally {
    if (mine === latest) chart.setAttribute("aria-busy", "false");
  }
}

function showButtons() {
  for (const [name, value] of [
    ["direction", view.direction],
    ["zoom", view.zoom],
  ]) {
    for (const button of document.querySelectorAll(`[data-${name}]`))
      press(button, button.dataset[name] === value);
  }
}

function look(changes) {
  Object.assign(view, changes);
  seen = null;
  showButtons();
  byId("chart-note").textContent = isPast() ? "Reading history…" : "Counting…";
  if (isPast()) tell("looked-back");
  refresh().catch(() => {}); // it is said below the bars
}

// A stretch that came from a bar, and a status, that say nothing of the other direction.
function turn(direction) {
  if (direction === view.direction) return;
  const isOfBar = filters.when === BETWEEN && JSON.stringify(stretch()) === JSON.stringify(stretchOfBar);
  const isOdd = direction === "past" ? !isHistory() : isHistory();
  const dropped = {
    ...(isOfBar ? { when: "", after: "", before: "" } : {}),
    ...(isOdd && filters.status ? { status: "" } : {}),
  };
  seen = null;
  stretchOfBar = null;
  if (Object.keys(dropped).length) setFilters(dropped);
}

export const refreshTimeline = refresh;

export function startTimeline() {
  byId("timeline").addEventListener("click", ({ target }) => {
    const { direction, zoom, shift } = target.closest("button")?.dataset ?? {};
    if (direction) {
      turn(direction);
      look({ ...NOW, direction });
    }
    if (zoom) look({ zoom, isWhole: false });
    if (shift) look(Number(shift) ? { start: shifted(view, Number(shift), new Date()) } : NOW);
  });
  on("filters", () => {
    if (!seen) return;
    for (const [at, bar] of [...byId("chart").children].entries()) press(bar, isListed(seen[0][at]));
    say(...seen);
  });
}
