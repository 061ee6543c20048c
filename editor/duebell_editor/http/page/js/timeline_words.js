// The timeline in words: one bar, and all that is in view.

import { ended, sum, total } from "./buckets.js";
import { number } from "./counts.js";
import { clock, lateness, near, nearby } from "./time.js";

const NAMES = { done: "done", failed: "failed", skipped: "skipped", late: "late", waiting: "to run" };
const MINUTE = 60000;

const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const month = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });

// 5 done, 1 failed, 24 to run: what there is of it.
function counts(bucket) {
  const about = bucket.isEstimate ? "about " : "";
  const said = Object.entries(NAMES)
    .filter(([kind]) => bucket[kind])
    .map(([kind, name]) => `${about}${number(bucket[kind])} ${name}`);
  const paused = bucket.paused ? [`of them ${about}${number(bucket.paused)} of paused actions`] : [];
  return [...said, ...paused].join(", ");
}

function late({ lateness_median_ms: half, lateness_max_ms: most }) {
  if (most === null) return "";
  if (half === null || half === most) return `, started ${lateness(most)} late at most`;
  return `, half of them started within ${lateness(half)} of their time, all within ${lateness(most)}`;
}

function when(bucket, step) {
  const [from, to] = [new Date(bucket.start), new Date(bucket.end)];
  if (step === "month") return month.format(from);
  if (step === "day") {
    const last = new Date(to - 1);
    return day.format(from) === day.format(last) ? day.format(from) : `${day.format(from)} to ${day.format(last)}`;
  }
  return to - from > (step === "minute" ? MINUTE : 60 * MINUTE) ? `${near(from)} to ${clock(to)}` : near(from);
}

export const barWords = (bucket, step) =>
  `${when(bucket, step)}: ${total(bucket) ? counts(bucket) : "nothing"}${late(bucket)}`;

export function stripWords(buckets, isAll) {
  const all = sum(buckets);
  const span = `${near(new Date(all.start))} – ${near(new Date(all.end))}`;
  const more = isAll ? "" : "There is more history than was looked at. ";
  return `${span}: ${total(all) ? counts(all) : "nothing"}${late(all)}. ${more}`;
}

export function pickedWords(bucket, isHistory) {
  const from = `The list below shows ${nearby(new Date(bucket.start))} to ${nearby(new Date(bucket.end))}. `;
  if (isHistory)
    return ended(bucket)
      ? `${from}Occurrences of recurring tasks count here; they are listed with their task. `
      : from;
  const { occurrences } = bucket;
  if (!occurrences) return from;
  const many = occurrences === 1 ? "One later time of a recurring task counts" : `${number(occurrences)} later times of recurring tasks count`;
  return `${from}${many} here; such a task is listed at its next time. `;
}
