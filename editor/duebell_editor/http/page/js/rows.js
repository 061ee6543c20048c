// The rows of the table.

import { byId, refill } from "./dom.js";

// Draws a row for each task. A row whose state is the same stays as it is.
export function drawRows(tasks, stateOf, row) {
  const body = byId("list").tBodies[0];
  const there = new Map([...body.rows].map((one) => [one.dataset.id, one]));
  const rows = tasks.map((task) => {
    const state = String(stateOf(task));
    const old = there.get(task.id);
    if (old?.dataset.state === state) return old;
    const made = row(task);
    Object.assign(made.dataset, { id: task.id, state });
    return made;
  });
  refill(body, rows);
  byId("list").hidden = !rows.length;
}
