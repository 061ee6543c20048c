// Puts the page together: a first look at everything, then whatever changes.

import { onTokenWanted } from "./api.js";
import { atMostEvery, byId, debounce } from "./dom.js";
import { startFilters } from "./filters.js";
import { openForm } from "./form.js";
import { refreshRule, startRule } from "./rule.js";
import { isCostly, refreshList, startList } from "./list.js";
import { on, takeAsked } from "./state.js";
import { follow } from "./stream.js";
import { refreshTask, startTask } from "./task.js";
import { tickRelative } from "./time.js";
import { refreshComing, refreshHistory, startTimeline } from "./timeline.js";
import { askForToken } from "./token.js";

const COSTLY_EVERY_MS = 15000;
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

// What is read through for every look at it, history or a long queue, is not looked at as often as the rest.
const seldom = (part) => atMostEvery(COSTLY_EVERY_MS, part, () => refresh(part));
const seldomHistory = seldom(refreshHistory);
const seldomList = seldom(refreshList);

const timeline = () => Promise.all([refreshComing(), seldomHistory()]);
const list = () => (isCostly() ? seldomList() : refreshList());

const all = () => refresh(refreshRule, timeline, refreshList, refreshTask);
const changedElsewhere = () => refresh(timeline, list, refreshTask);

onTokenWanted(askForToken);
on("filters", seldomList.rest); // it is being read just then
on("looked-back", seldomHistory.rest);
startFilters();
takeAsked();
addEventListener("hashchange", takeAsked);
startRule();
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
refresh(refreshRule);
