// How much of time the timeline shows at once, in which steps, and how it moves along.

// `count` steps back and as many ahead; `group`: so many are one bar where there is little room.
const ZOOMS = {
  hour: { step: "minute", count: 30, group: 2, words: "half an hour back and ahead" },
  day: { step: "hour", count: 24, group: 2, words: "24 hours back and ahead" },
  month: { step: "day", count: 30, group: 2, words: "30 days back and ahead" },
  year: { step: "month", count: 12, group: 1, words: "12 months back and ahead" },
};
export const FINER = { year: "month", month: "day", day: "hour" };

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LENGTH = { minute: MINUTE, hour: HOUR };

export const stepOf = ({ zoom }) => ZOOMS[zoom].step;
export const groupOf = ({ zoom }) => ZOOMS[zoom].group;
export const wordsOf = (zoom) => ZOOMS[zoom].words;

const startOfDay = (date, days = 0) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);
const startOfMonth = (date, months = 0) => new Date(date.getFullYear(), date.getMonth() + months, 1);

// The number of steps: where one month or day was zoomed into, as many as that one has.
export function countOf({ zoom, start, isWhole }) {
  if (isWhole && zoom === "month")
    return Math.round((startOfMonth(start, 1) - startOfMonth(start)) / DAY);
  if (isWhole && zoom === "day") return Math.round((startOfDay(start, 1) - startOfDay(start)) / HOUR);
  if (isWhole && zoom === "hour") return 60;
  return 2 * ZOOMS[zoom].count;
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

// The first bucket; without a start of its own, now is in the middle.
export const startOf = (view, now) => view.start ?? stepped(now, stepOf(view), -ZOOMS[view.zoom].count);

// The same, so that a group of minutes or hours holds the same ones, by the clock, whenever it is drawn.
export function evenStart(view, now) {
  const length = (LENGTH[stepOf(view)] ?? 1) * groupOf(view);
  const start = startOf(view, now);
  const offset = start.getTimezoneOffset() * MINUTE;
  return new Date(Math.floor((start - offset) / length) * length + offset);
}

// The start of what comes before or behind what is in view.
export function shifted(view, times, now) {
  const from = startOf(view, now);
  if (view.isWhole && view.zoom === "month") return startOfMonth(from, times);
  if (view.isWhole && view.zoom === "day") return startOfDay(from, times);
  return stepped(from, stepOf(view), times * countOf(view));
}
