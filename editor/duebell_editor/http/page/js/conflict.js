// What someone else, or a run, has changed in a task while it is being edited: theirs and ours, side by side.

import { h, refill } from "./dom.js";
import { changedIn, counting, valuesOf } from "./request.js";
import { row } from "./task_fields.js";
import { full } from "./time.js";

function worded(name, value) {
  if (value === null) return "none";
  const { kind } = row(name);
  if (kind === "json") return h("pre", {}, value);
  return kind === "time" ? full(new Date(value)) : String(value);
}

// Of each field that they changed: [name, theirs, ours if we changed it too].
export function differences(form, before, theirs) {
  const ours = valuesOf(form);
  const changed = changedIn(form, before);
  return counting(form)
    .filter((name) => name !== "id" && theirs[name] !== before[name] && theirs[name] !== ours[name])
    .map((name) => [name, theirs[name], changed.includes(name) ? ours[name] : undefined]);
}

const heads = ["", "Theirs", "Yours"];
const line = ([name, theirs, ours]) =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, row(name).title),
    h("td", {}, worded(name, theirs)),
    h("td", {}, ours === undefined ? h("small", {}, "not changed by you") : worded(name, ours)),
  );

export function clash(take) {
  const box = h("div.clash", { hidden: true, role: "group", "aria-label": "Changed meanwhile" });
  const button = (kind, name, which) =>
    h(kind, { type: "button", "data-key": which, onclick: () => take(which) }, name);
  const table = (rows) =>
    h(
      "div.rows",
      { tabindex: "0", role: "group", "aria-label": "What was changed" },
      h(
        "table.plain",
        {},
        h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...rows.map(line)),
      ),
    );
  return {
    box,
    hide: () => (box.hidden = true),
    focus: () => box.querySelector("p").focus(),
    // The status is given when nothing can be written any more.
    show(rows, status) {
      const text = status
        ? `This task is ${status} now, and cannot be changed any more. What you wrote is not saved.`
        : "This task was changed while you had it open. Nothing of yours is saved yet.";
      const old = box.querySelector("p");
      const isSaid = !box.hidden && old?.textContent === text;
      refill(
        box,
        isSaid ? old : h("p", { tabindex: "-1", role: "alert" }, text),
        rows.length > 0 && table(rows),
        !status && h("p.quiet", {}, "Keep mine saves only what you changed yourself."),
        !status &&
          h(
            "div.actions",
            {},
            button("button", "Take theirs", "theirs"),
            button("button.primary", "Keep mine", "ours"),
          ),
      );
      box.hidden = false;
    },
  };
}
