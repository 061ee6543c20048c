// The scheduler's status as it was told last, for the parts of the page that show some of it.

import { get } from "./api.js";
import { number } from "./counts.js";
import { constants } from "./limits.js";
import { on, tell } from "./state.js";
import { ZONE } from "./time.js";
import { setRingMissed } from "./time_ranges.js";

let status = null;

export const current = () => status;
// What wakes the worker, by its name: the rule, or the schedule.
export const bell = () => status?.bell ?? "rule";
export const nextDue = () => (status?.next_due ? new Date(status.next_due) : null);

// A count in words: the server counts to a limit.
export function counted(count) {
  if (count === null || count === undefined) return "?";
  return count >= constants.most_counted ? `${number(constants.most_counted)}+` : number(count);
}

// The number of failed tasks and of recurring ones whose last occurrence failed; null if the table cannot tell.
export const failedIn = ({ failed, failing }) => (failed === null ? null : failed + (failing ?? 0));

function take(news) {
  if (JSON.stringify(news) === JSON.stringify(status)) return;
  status = news;
  setRingMissed(news.problems.some(({ kind, at }) => kind === "not_armed" && at));
  tell("status", status);
}

export async function refreshStatus() {
  take(await get("status", { timezone: ZONE }));
}

on("stream-status", take);
