// Tiles with the counts of failed, overdue, running tasks and those due tonight: red when something is wrong,
// each a link to its list.

import { h } from "./dom.js";
import { showOnly } from "./state.js";
import { counted, failedIn } from "./status.js";
import { clock } from "./time.js";

const plural = (count, word) => `${counted(count)} ${word}${count === 1 ? "" : "s"}`;

function tile(key, name, count, about, filters, kind = "") {
  const shown = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // to be opened elsewhere
    event.preventDefault();
    showOnly(filters);
  };
  return h(
    `a.tile${count > 0 && kind ? `.${kind}` : ""}`,
    { id: `tile-${key}`, "data-key": `tile ${key}`, href: `#${new URLSearchParams(filters)}`, onclick: shown },
    h("strong", {}, counted(count)),
    " ",
    h("span", {}, name),
    " ",
    h("small", {}, about),
  );
}

function failedWords({ failed, failing }) {
  if (failed === null) return "the table cannot tell";
  if (failing) return `${plural(failed, "task")}, ${counted(failing)} recurring`;
  return failed ? "and kept" : "none kept";
}

export const tiles = (status) =>
  h(
    "div.tiles",
    {},
    tile("failed", "failed", failedIn(status), failedWords(status), { status: "failed" }, "bad"),
    tile("overdue", "overdue", status.overdue, "should have started", { when: "overdue" }, "bad"),
    tile(
      "running",
      "running",
      status.running,
      status.lanes_held ? `on ${status.lanes_held} of ${status.lanes} lanes` : "no run at work",
      { status: "running" },
      "busy",
    ),
    tile(
      "tonight",
      "due tonight",
      status.due_tonight,
      status.tonight_ends ? `until ${clock(new Date(status.tonight_ends))}` : "",
      { when: "tonight" },
    ),
  );
