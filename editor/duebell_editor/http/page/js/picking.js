// The rows of a table that are picked, for a change to all of them at once.

import { showPicked, startBulk } from "./bulk.js";
import { byId, h } from "./dom.js";

let shown; // the table: its tasks, and the ids of those that are picked

const boxes = () => byId("list").querySelectorAll("tbody .pick input");

function toggle(id, isPicked) {
  if (isPicked) shown.picked.add(id);
  else shown.picked.delete(id);
  drawPicked();
}

// The first cell of a row. The box alone is small to hit, so a click beside it counts too.
export function pickCell(id) {
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Select ${id}`,
    "data-key": `pick ${id}`,
    checked: shown.picked.has(id),
    onchange: () => toggle(id, box.checked),
  });
  return h("td.pick", { onclick: ({ target }) => target !== box && box.click() }, box);
}

export function drawPicked() {
  const all = byId("pick-all");
  const ids = new Set(shown.tasks.map((task) => task.id));
  for (const id of shown.picked) if (!ids.has(id)) shown.picked.delete(id);
  all.checked = shown.picked.size > 0 && shown.picked.size === shown.tasks.length;
  all.indeterminate = shown.picked.size > 0 && !all.checked;
  showPicked();
}

export function unpick() {
  shown.picked.clear();
  for (const box of boxes()) box.checked = false;
  drawPicked();
}

// `where` is the filter of what is shown and what follows it; without one, only rows can be picked.
export function startPicking(list, where = null) {
  shown = list;
  startBulk(list, unpick, where);
  const all = byId("pick-all");
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    shown.picked = new Set(all.checked ? shown.tasks.map((task) => task.id) : []);
    drawPicked();
  });
  all.closest("th").addEventListener("click", ({ target }) => target.tagName === "TH" && all.click());
}
