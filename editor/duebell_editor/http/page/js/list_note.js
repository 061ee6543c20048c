// What is said below the list: how many there are, what is under way, and what to do when there is none.

import { tasks } from "./counts.js";
import { h } from "./dom.js";
import { isReadOnly } from "./read_only.js";
import { ANY_FINISHED, clearFilters, filters, isById, isHistory, isLatestFirst, setFilters, tell } from "./state.js";

const isNarrow = () =>
  Boolean(filters.action || filters.error || filters.prefix || filters.text || filters.when);

const lookInside = () => setFilters({ status: "", prefix: "", text: filters.prefix });

function nothing() {
  if (isById()) {
    return [
      h("p", {}, `No task's id starts with ${filters.prefix}.`),
      h("button", { "data-key": "inside", onclick: lookInside }, "Look inside ids and payloads"),
      h("button", { "data-key": "clear", onclick: clearFilters }, "Clear the filters"),
    ];
  }
  if (isNarrow()) {
    const lookBack = () => setFilters({ status: ANY_FINISHED });
    return [
      h("p", {}, isHistory() ? "No finished task fits these filters." : "No task fits these filters."),
      Boolean(filters.action || filters.prefix || filters.text) &&
        !isHistory() &&
        h("button", { "data-key": "back", onclick: lookBack }, "Look among finished ones"),
      h("button", { "data-key": "clear", onclick: clearFilters }, "Clear the filters"),
    ];
  }
  if (filters.status) return [h("p", {}, `No task is ${filters.status}.`)];
  if (isReadOnly) return [h("p.big", {}, "The queue is empty.")];
  return [
    h("p.big", {}, "The queue is empty."),
    h(
      "p",
      {},
      "Add a task here, with ",
      h("code", {}, "duebell add"),
      ", or from your service. It runs when it is due, and nothing runs before.",
    ),
    h("button.primary", { "data-key": "add", onclick: () => tell("add") }, "Add a task"),
  ];
}

// The button stays while it is at work, so that the focus does.
function next(found, { isAsking, onmore }) {
  const name = found.isShort ? "Look further" : "Show more";
  return h(
    "button",
    { "data-key": "more", "aria-disabled": String(isAsking), onclick: onmore },
    isAsking ? "Looking further…" : name,
  );
}

// Of what was found so far, and of what came of asking: { isAsking, trouble, onmore, onagain }.
export function note(found, asked) {
  const { isAsking, trouble, onagain } = asked;
  const count = tasks(found.tasks.length);
  if (trouble) {
    const what = found.requests ? `${count} so far. What comes then` : "The tasks";
    return [
      h("p", {}, `${what} cannot be shown: ${trouble}`),
      h("button", { "data-key": "more", onclick: onagain }, "Try again"),
    ];
  }
  if (isAsking && !found.requests) return [h("p.quiet", {}, "Loading…")];
  if (!found.cursor) {
    if (!found.tasks.length) return nothing();
    if (isById()) return [h("p.quiet", {}, `${count}, in order of their ids.`)];
    return [h("p.quiet", {}, isLatestFirst() ? `${count}, the latest first.` : `${count}, all there are here.`)];
  }
  const said = found.tasks.length ? `${count} so far` : "None found yet";
  const why = found.isShort ? ": the queue is long, and a part of it was looked at." : ".";
  return [h("p.quiet", {}, said, why), next(found, asked)];
}
