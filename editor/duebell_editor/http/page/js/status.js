// The scheduler's status, the stream that keeps it up to date, and limits in words.

import { fetchApi, get } from "./api.js";
import { debounce, number } from "./dom.js";
import { BETWEEN, constants, filters, isHistory, on, setRingMissed, stretch, tell } from "./state.js";
import { ZONE, time } from "./time.js";

// The limit of an action in words.


export function limitWords(atMost, perSecond, closed) {
  const parts = [
    atMost !== null && `${atMost.toLocaleString("en")} at a time`,
    perSecond !== null && `${perSecond} a second`,
    closed !== null && (closed === "never" ? "never closed" : `closed ${closed}`),
  ];
  return parts.filter(Boolean).join(", ") || "no limit";
}

// How many tasks wait for the limit; of a paused or closed action it is counted.
export function waitingOf({ paused, closed_until: closedUntil, waiting }) {
  if (!waiting) return "";
  const tasks = waiting === 1 ? "1 task waits" : `${number(waiting)} tasks wait`;
  return paused || closedUntil ? tasks : `about ${tasks}`;
}

// Since when and by whom the limit was set; nothing if it is as declared.
export const setWords = ({ since, changed_by: by }) =>
  since ? [" since ", time(since, { words: false, inside: true }), by ? ` by ${by}` : ""] : [];

// Until when the action is closed; nothing if it is open.
export const closedWords = ({ paused, closed_until: until }) =>
  until && !paused ? [", now until ", time(until, { words: false, inside: true })] : [];

// Why tasks of an action wait.
export function waitingWords(limit) {
  const { action, paused, at_most: atMost, per_second: perSecond, closed } = limit;
  const what = paused ? ["paused", ...setWords(limit)] : [limitWords(atMost, perSecond, closed), ...closedWords(limit)];
  const waiting = waitingOf(limit);
  return [`${action}: `, ...what, waiting && `; ${waiting}`];
}

// The scheduler's status as it was told last, for the parts of the page that show some of it.


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

// The stream of changes that the server reports, while the page is visible.


// The status of a server with too many connections. No alert is shown, and each retry reads everything again.
const BUSY = 503;

let connection;
let watched = ""; // the choice of time that the stream is for: see `chosen`
let open = null; // the id of the task that is being looked at
let failures = 0;

async function listen(signal) {
  const { after, before } = stretch();
  // What is chosen by name moves on with the clock, and its end with it.
  const query = { after, before: filters.when === BETWEEN ? before : "", id: open, timezone: ZONE };
  const response = await fetchApi("GET", "changes", { query, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    failures = 0;
    tell("connected");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      if (found) tell(`stream-${found[1]}`, JSON.parse(found[2]));
    }
  }
}

const connect = debounce(0, async () => {
  connection?.abort();
  if (document.hidden) return;
  const mine = new AbortController();
  connection = mine;
  while (!mine.signal.aborted) {
    try {
      await listen(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      failures += 1;
      if (failures > 1 && error.status !== BUSY) tell("disconnected", error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(1000 * 2 ** failures, 15000)));
    if (!mine.signal.aborted && failures) tell("refresh");
  }
});

// What it tells of, as it was chosen: what a choice means moves on with the clock.
const chosen = () => JSON.stringify([isHistory(), filters.when, filters.after, filters.before]);

export function follow() {
  watched = chosen();
  on("filters", () => {
    if (watched === chosen()) return;
    watched = chosen();
    connect(); // once it is ready all is read once more: a change in between is told by neither stream
  });
  on("opened", (id) => {
    open = id;
    connect();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) tell("refresh");
    connect();
  });
  connect();
}
