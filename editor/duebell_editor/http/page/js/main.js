// Puts the page together: a first look at everything, then whatever changes.

import { onTokenWanted } from "./api.js";
import { byId, debounce } from "./dom.js";
import { startFilters } from "./filters.js";
import { openForm } from "./form.js";
import { refreshHeart, startHeart } from "./heart.js";
import { refreshList, startList } from "./list.js";
import { isHistory, on, takeAsked } from "./state.js";
import { follow } from "./stream.js";
import { refreshTask, startTask } from "./task.js";
import { tickRelative } from "./time.js";
import { refreshTimeline, startTimeline } from "./timeline.js";
import { askForToken } from "./token.js";

const HISTORY_EVERY_MS = 15000;
const PATIENCE_MS = 1500;

function showAlert(text) {
  if (byId("alert").textContent !== text) byId("alert").textContent = text;
  byId("alert").hidden = text === "";
}

async function refresh(...parts) {
  const results = await Promise.allSettled(parts.map((part) => part()));
  const failed = results.find(({ status }) => status === "rejected");
  showAlert(failed ? `What is shown may be out of date. ${failed.reason.message}` : "");
}

const all = () => refresh(refreshHeart, refreshTimeline, refreshList, refreshTask);

// History is read through for every look at it, so not as often as the queue.
let historyAt = 0;
function changedElsewhere() {
  if (isHistory() && Date.now() - historyAt < HISTORY_EVERY_MS) return refresh(refreshTimeline, refreshTask);
  historyAt = Date.now();
  return refresh(refreshTimeline, refreshList, refreshTask);
}

onTokenWanted(askForToken);
on("filters", () => {
  historyAt = Date.now();
});
startFilters();
takeAsked();
addEventListener("hashchange", takeAsked);
startHeart();
startTimeline();
startList();
on("refresh", all);
on("changed", all);
on("stream-changed", debounce(200, changedElsewhere));
on("stream-problem", ({ detail }) => showAlert(`What is shown may be out of date. ${detail}`));
on("connected", () => {
  if (byId("alert").textContent.startsWith("The connection")) showAlert("");
});
on("disconnected", (why) => showAlert(`The connection is lost, and is tried again. ${why}`));
on("add", () => openForm());
byId("add").addEventListener("click", () => openForm());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address's fragment says what is looked at
  byId("tasks").focus();
});
setInterval(tickRelative, 1000);
// What is fetched before the stream is ready could be outdated unseen. Where it does not get ready, a proxy
// may hold it back: then that has to do.
const late = setTimeout(changedElsewhere, PATIENCE_MS);
on("stream-ready", () => {
  clearTimeout(late);
  changedElsewhere();
});
follow();
startTask();
refresh(refreshHeart);
