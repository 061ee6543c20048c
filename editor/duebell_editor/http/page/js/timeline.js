// What is coming and what has been, as bars. Only the stretch in view is ever asked for.

import { get } from "./api.js";
import { byId, h, press, refill } from "./dom.js";
import { drawBars } from "./chart.js";
import { nextDue } from "./heart.js";
import { on, setFilters, stretch, tell } from "./state.js";
import { ZONE, lateness, near, nearby } from "./time.js";
import { BETWEEN } from "./when.js";

const ZOOMS = {
  hour: { step: "minute", count: 60 },
  day: { step: "hour", count: 24 },
  month: { step: "day", count: 30 },
  year: { step: "month", count: 12 },
};
const FINER = { year: "month", month: "day", day: "hour" };

const view = { direction: "coming", zoom: "day", start: null };
let latest = 0;
let seen = null; // the buckets that are shown, and whether these are all

function shifted(date, times) {
  const { step, count } = ZOOMS[view.zoom];
  const moved = new Date(date);
  if (step === "minute") moved.setMinutes(moved.getMinutes() + times * count);
  else if (step === "hour") moved.setHours(moved.getHours() + times * count);
  else if (step === "day") moved.setDate(moved.getDate() + times * count);
  else moved.setMonth(moved.getMonth() + times * count, 1);
  return moved;
}

// The first bucket: of what comes, the one we are in; of what has been, so that the last is the one we are in.
function start() {
  if (view.start) return view.start;
  const now = new Date();
  if (view.direction === "coming") return now;
  const { step } = ZOOMS[view.zoom];
  const begin = shifted(now, -1);
  if (step === "minute") begin.setMinutes(begin.getMinutes() + 1);
  else if (step === "hour") begin.setHours(begin.getHours() + 1);
  else if (step === "day") begin.setDate(begin.getDate() + 1);
  else begin.setMonth(begin.getMonth() + 1, 1);
  return begin;
}

const isPicked = (start) => Date.parse(stretch().after) === Date.parse(start);

function pick(bucket) {
  const before = new Date(new Date(bucket.end) - 1).toISOString();
  const wanted = { when: BETWEEN, after: bucket.start, before };
  if (view.direction === "coming") setFilters(wanted);
  else tell("show", { ...wanted, status: bucket.failed && !bucket.done ? "failed" : "done" });
  sayPicked(bucket);
}

function sayPicked(bucket) {
  const finer = FINER[view.zoom];
  const zoomIn =
    finer &&
    h(
      "button.small",
      { "data-key": "finer", onclick: () => go({ zoom: finer, start: new Date(bucket.start) }) },
      `Zoom in to this ${ZOOMS[view.zoom].step}`,
    );
  refill(
    byId("chart-note"),
    `The list below shows ${nearby(new Date(bucket.start))} to ${nearby(new Date(bucket.end))}. `,
    zoomIn,
  );
}

function say(buckets, isAll) {
  const note = byId("chart-note");
  const picked = buckets.find((bucket) => isPicked(bucket.start));
  if (picked) {
    sayPicked(picked);
    return;
  }
  const total = buckets.reduce(
    (sum, bucket) => sum + (bucket.count ?? bucket.done + bucket.failed + bucket.skipped),
    0,
  );
  const span = `${near(new Date(buckets[0].start))} – ${near(new Date(buckets.at(-1).end))}`;
  if (view.direction === "past") {
    const worst = Math.max(...buckets.map((bucket) => bucket.lateness_max_ms ?? -1));
    const sum = (name) => buckets.reduce((counted, bucket) => counted + bucket[name], 0).toLocaleString("en");
    note.textContent = total
      ? `${span}: ${sum("done")} done, ${sum("failed")} failed, ${sum("skipped")} skipped${worst < 0 ? "" : `; started ${lateness(worst)} late at most`}.${isAll ? "" : " There is more history than was looked at."}`
      : `${span}: nothing ended.`;
    return;
  }
  const more = buckets.some((bucket) => !bucket.is_all);
  note.textContent = total
    ? `${span}: ${more ? "at least " : ""}${total.toLocaleString("en")} ${total === 1 ? "task" : "tasks"}.`
    : `${span}: nothing is due.`;
  const next = nextDue();
  if (!total && next) {
    note.append(
      ` The next task is due ${nearby(next)}. `,
      h("button.small", { onclick: () => go({ start: next }) }, "Go there"),
    );
  }
}

async function refresh() {
  const mine = (latest += 1);
  const { step, count } = ZOOMS[view.zoom];
  const isPast = view.direction === "past";
  byId("chart").setAttribute("aria-busy", "true");
  try {
    const found = await get(isPast ? "history" : "timeline", {
      start: start().toISOString(),
      step,
      count,
      timezone: ZONE,
    });
    if (mine !== latest) return;
    drawBars(byId("chart"), found.buckets, { step, pick, isPicked });
    seen = [found.buckets, found.is_all];
    say(...seen);
  } catch (error) {
    if (mine === latest && !seen) byId("chart-note").textContent = `It cannot be shown: ${error.message}`;
    throw error;
  } finally {
    if (mine === latest) byId("chart").setAttribute("aria-busy", "false");
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

function go(changes) {
  Object.assign(view, changes);
  showButtons();
  byId("chart-note").textContent = view.direction === "past" ? "Reading history…" : "Counting…";
  refresh().catch((error) => {
    byId("chart-note").textContent = `It cannot be shown: ${error.message}`;
  });
}

export const refreshTimeline = () => (view.direction === "coming" ? refresh() : Promise.resolve());

export function startTimeline() {
  byId("timeline").addEventListener("click", ({ target }) => {
    const { direction, zoom, shift } = target.closest("button")?.dataset ?? {};
    if (direction) go({ direction, start: null });
    if (zoom) go({ zoom });
    if (shift) go({ start: Number(shift) ? shifted(start(), Number(shift)) : null });
  });
  on("filters", () => {
    for (const bar of byId("chart").querySelectorAll("button")) press(bar, isPicked(bar.dataset.key));
    if (seen) say(...seen);
  });
}
