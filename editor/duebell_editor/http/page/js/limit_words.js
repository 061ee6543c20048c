// The limit of an action in words.

import { number } from "./counts.js";
import { time } from "./time.js";

export function limitWords(atMost, perSecond) {
  const parts = [
    atMost !== null && `${atMost.toLocaleString("en")} at a time`,
    perSecond !== null && `${perSecond} a second`,
  ];
  return parts.filter(Boolean).join(", ") || "no limit";
}

// How many tasks wait for the limit; of a paused action it is counted.
export function waitingOf({ paused, waiting }) {
  if (!waiting) return "";
  const tasks = waiting === 1 ? "1 task waits" : `${number(waiting)} tasks wait`;
  return paused ? tasks : `about ${tasks}`;
}

// Since when and by whom the limit was set; nothing if it is as declared.
export const setWords = ({ since, changed_by: by }) =>
  since ? [" since ", time(since, { words: false, inside: true }), by ? ` by ${by}` : ""] : [];

// Why tasks of an action wait.
export function waitingWords(limit) {
  const { action, paused, at_most: atMost, per_second: perSecond } = limit;
  const what = paused ? ["paused", ...setWords(limit)] : [limitWords(atMost, perSecond)];
  const waiting = waitingOf(limit);
  return [`${action}: `, ...what, waiting && `; ${waiting}`];
}
