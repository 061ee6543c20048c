// The timeline in words: what is in view, below the bars.

import { lateness, near, nearby } from "./time.js";

const number = (count) => count.toLocaleString("en");
const span = (buckets) => `${near(new Date(buckets[0].start))} – ${near(new Date(buckets.at(-1).end))}`;

export const total = (buckets) =>
  buckets.reduce((sum, one) => sum + (one.count ?? one.done + one.failed + one.skipped), 0);

export function comingWords(buckets) {
  const count = total(buckets);
  if (!count) return `${span(buckets)}: nothing is due. `;
  const roughly = buckets.some((bucket) => bucket.is_estimate) ? "about " : "";
  const tasks = count === 1 ? "task" : "tasks";
  return `${span(buckets)}: ${roughly}${number(count)} ${tasks}. A recurring task counts once, at its next time. `;
}

export function pastWords(buckets, isAll) {
  if (!total(buckets)) return `${span(buckets)}: nothing ended. `;
  const sum = (name) => number(buckets.reduce((counted, bucket) => counted + bucket[name], 0));
  const worst = Math.max(...buckets.map((bucket) => bucket.lateness_max_ms ?? -1));
  const late = worst < 0 ? "" : `; started ${lateness(worst)} late at most`;
  const ended = `${sum("done")} done, ${sum("failed")} failed, ${sum("skipped")} skipped`;
  const more = isAll ? "" : "There is more history than was looked at. ";
  return `${span(buckets)}: ${ended}${late}. ${more}`;
}

export function pickedWords(bucket, isPast) {
  const shown = `The list below shows ${nearby(new Date(bucket.start))} to ${nearby(new Date(bucket.end))}. `;
  return isPast
    ? `${shown}Occurrences of recurring tasks count here; they are listed with their task. `
    : shown;
}
