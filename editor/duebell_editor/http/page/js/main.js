// The page of the tasks: a first look at everything, then whatever changes.

import { refreshFailures, startFailures } from "./failures.js";
import { refresh, seldom, startFrame } from "./frame.js";
import { isCostly, refreshCounts, refreshList, startFilters, startList, startTabs } from "./list.js";
import { refreshRule, startProblems, startRule } from "./rule.js";
import { on, readAddress } from "./state.js";
import { startSimulation } from "./simulate.js";
import { refreshTask } from "./task.js";
import { startViews } from "./views.js";
import { refreshComing, refreshHistory, startTimeline } from "./timeline.js";

const seldomHistory = seldom(refreshHistory);
const seldomList = seldom(refreshList);

const timeline = () => Promise.all([refreshComing(), seldomHistory()]);
const list = () => (isCostly() ? seldomList() : refreshList());

const seldomCounts = seldom(refreshCounts);
const seldomFailures = seldom(refreshFailures);

const all = () =>
  refresh(refreshRule, timeline, refreshList, refreshTask, seldomCounts, refreshFailures);
const changedElsewhere = () => refresh(timeline, list, refreshTask, seldomCounts, seldomFailures);

export async function startTasks() {
  on("filters", seldomList.rest); // it is being read just then
  on("looked-back", seldomHistory.rest);
  startFilters();
  startViews();
  startTabs();
  startFailures();
  readAddress();
  addEventListener("hashchange", readAddress);
  startRule();
  startProblems();
  startTimeline();
  startSimulation();
  startList();
  // The rows come first: nothing else is requested before they are there.
  const rows = refresh(refreshList);
  startFrame(all, changedElsewhere, rows);
  await rows;
  refresh(refreshRule);
}
