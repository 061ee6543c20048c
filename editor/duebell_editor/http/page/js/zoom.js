// How much of time the timeline shows at once, in which steps, and how it moves along.

const ZOOMS = {
  hour: { step: "minute", count: 60 },
  day: { step: "hour", count: 24 },
  month: { step: "day", count: 30 },
  year: { step: "month", count: 12 },
};
export const FINER = { year: "month", month: "day", day: "hour" };

const HOUR = 3600000;
const DAY = 24 * HOUR;

export const stepOf = ({ zoom }) => ZOOMS[zoom].step;

const startOfDay = (date, days = 0) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);
const startOfMonth = (date, months = 0) => new Date(date.getFullYear(), date.getMonth() + months, 1);

// How many steps: where one month or day was zoomed into, as many as that one has.
export function countOf({ zoom, start, isWhole }) {
  if (isWhole && zoom === "month")
    return Math.round((startOfMonth(start, 1) - startOfMonth(start)) / DAY);
  if (isWhole && zoom === "day") return Math.round((startOfDay(start, 1) - startOfDay(start)) / HOUR);
  return ZOOMS[zoom].count;
}

// So many steps later.
function stepped(date, step, count) {
  const moved = new Date(date);
  if (step === "minute") moved.setMinutes(moved.getMinutes() + count);
  else if (step === "hour") moved.setHours(moved.getHours() + count);
  else if (step === "day") moved.setDate(moved.getDate() + count);
  else moved.setMonth(moved.getMonth() + count, 1);
  return moved;
}

// The first bucket: of what comes, the one we are in; of what has been, so that the last is the one we are in.
export function startOf(view, now) {
  if (view.start) return view.start;
  return view.direction === "coming" ? now : stepped(now, stepOf(view), 1 - countOf(view));
}

// Where a shift by all that is in view begins.
export function shifted(view, times, now) {
  const from = startOf(view, now);
  if (view.isWhole && view.zoom === "month") return startOfMonth(from, times);
  if (view.isWhole && view.zoom === "day") return startOfDay(from, times);
  return stepped(from, stepOf(view), times * countOf(view));
}

// Pairs of minutes begin with an even one, so that a task stays in its own; the past ends with ours.
export function evenMinute(date, isPast) {
  const pair = 120000;
  return new Date((isPast ? Math.ceil(date / pair) : Math.floor(date / pair)) * pair);
}

// Two buckets as one, where there is no room for each: what is known of both.
function joined(one, two) {
  const sum = (name) => one[name] + two[name];
  if ("count" in one)
    return { start: one.start, end: two.end, count: sum("count"), is_estimate: one.is_estimate || two.is_estimate };
  const latest = Math.max(one.lateness_max_ms ?? -1, two.lateness_max_ms ?? -1);
  return {
    start: one.start,
    end: two.end,
    ...{ done: sum("done"), failed: sum("failed"), skipped: sum("skipped") },
    lateness_median_ms: null,
    lateness_max_ms: latest < 0 ? null : latest,
  };
}

export const inPairs = (buckets) =>
  buckets.flatMap((one, at) => (at % 2 ? [] : buckets[at + 1] ? [joined(one, buckets[at + 1])] : [one]));
