// What changes elsewhere: the server tells, for as long as the page is looked at.

import { fetchApi } from "./api.js";
import { debounce } from "./dom.js";
import { filters, isHistory, on, stretch, tell } from "./state.js";
import { ZONE } from "./time.js";
import { BETWEEN } from "./time_ranges.js";

// The server tells no more pages what changes: this one asks instead, from time to time.
const BUSY = 503;

let connection;
let watched = ""; // the stretch of time that it tells of
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
