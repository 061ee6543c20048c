// Puts the page together: a first look at everything, then whatever changes.

import { refresh, seldom, startFrame } from "./frame.js";
import { startFilters } from "./filters.js";
import { refreshRule, startRule } from "./rule.js";
import { isCostly, refreshList, startList } from "./list.js";
import { on, takeAsked } from "./state.js";
import { refreshTask } from "./task.js";
import { refreshComing, refreshHistory, startTimeline } from "./timeline.js";

const seldomHistory = seldom(refreshHistory);
const seldomList = seldom(refreshList);

const timeline = () => Promise.all([refreshComing(), seldomHistory()]);
const list = () => (isCostly() ? seldomList() : refreshList());

const all = () => refresh(refreshRule, timeline, refreshList, refreshTask);
const changedElsewhere = () => refresh(timeline, list, refreshTask);

on("filters", seldomList.rest); // it is being read just then
on("looked-back", seldomHistory.rest);
startFilters();
takeAsked();
addEventListener("hashchange", takeAsked);
startRule();
startTimeline();
startList();
startFrame(all, changedElsewhere);
refresh(refreshRule);
