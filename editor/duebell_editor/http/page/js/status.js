// The scheduler's status as it was told last, for the parts of the page that show some of it.

import { get } from "./api.js";
import { on, tell } from "./state.js";
import { ZONE } from "./time.js";
import { setRingMissed } from "./time_ranges.js";

let status = null;

export const MOST_COUNTED = 1000;

export const current = () => status;
export const nextDue = () => (status?.next_due ? new Date(status.next_due) : null);

// A count as it is said: the server counts no further than a thousand.
export function counted(count) {
  if (count === null || count === undefined) return "?";
  return count >= MOST_COUNTED ? `${MOST_COUNTED.toLocaleString("en")}+` : count.toLocaleString("en");
}

// What failed: tasks, and recurring ones whose last occurrence did. Null where the table cannot tell.
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
