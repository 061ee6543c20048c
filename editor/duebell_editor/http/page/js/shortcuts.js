// Keys for those who look at the list all day: they do nothing where text is written, or in a dialog.

import { byId, h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { topDialog } from "./focus.js";
import { isReadOnly } from "./read_only.js";
import { isText } from "./undo_key.js";

const rows = () => [...byId("list").tBodies[0].rows];
const rowWithFocus = () => document.activeElement?.closest("#list tbody tr");

function step(by) {
  const all = rows();
  const at = all.indexOf(rowWithFocus());
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.querySelector("button.link").focus();
  next?.scrollIntoView({ block: "nearest" });
}

const tick = () => rowWithFocus()?.querySelector(".pick input").click();

// [key, what it does, the call]
const KEYS = [
  ["/", "Search", () => byId("filters").elements.search.focus()],
  ["j", "To the next task", () => step(1)],
  ["k", "To the task before", () => step(-1)],
  ["x", "Select the task, or not", () => !isReadOnly && tick()],
  ["?", "These shortcuts", () => openHelp()],
];
const OTHERS = [
  ["Enter", "Open the task"],
  ["Esc", "Close what is open"],
];

function openHelp() {
  const { body } = openDialog("Keyboard shortcuts");
  const line = ([key, words]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, words));
  body.append(h("dl.keys", {}, ...[...KEYS.slice(0, 4), ...OTHERS, KEYS.at(-1)].map(line)));
}

export function startShortcuts() {
  byId("shortcuts").addEventListener("click", openHelp);
  document.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const found = KEYS.find(([key]) => key === event.key);
    if (!found || !isPlain || topDialog() || isText(document.activeElement)) return;
    event.preventDefault();
    found[2]();
  });
}
