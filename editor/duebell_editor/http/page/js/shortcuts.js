// Keys for those who look at the list all day: they do nothing where text is written, or in a dialog.

import { byId, h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { topDialog } from "./focus.js";
import { isReadOnly } from "./read_only.js";
import { isText } from "./undo_key.js";

const search = () => document.querySelector('main input[type="search"]');
const items = () => [...document.querySelectorAll("#list tbody tr, #list > li")];
const itemWithFocus = () => document.activeElement?.closest("#list tbody tr, #list > li");
const picks = () => (isReadOnly ? null : byId("pick-all"));

function step(by) {
  const all = items();
  const at = all.indexOf(itemWithFocus());
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.querySelector("button, a").focus();
  next?.scrollIntoView({ block: "nearest" });
}

const tick = () => itemWithFocus()?.querySelector(".pick input").click();

// [key, what it does, the call, whether the page has what it is for]
const KEYS = [
  ["/", "Search", () => search().focus(), search],
  ["j", "To the next in the list", () => step(1), () => true],
  ["k", "To the one before", () => step(-1), () => true],
  ["x", "Select the task, or not", tick, picks],
  ["?", "These shortcuts", () => openHelp(), () => true],
];
const OTHERS = [
  ["Enter", "Open it"],
  ["Esc", "Close what is open"],
];

function openHelp() {
  const { body } = openDialog("Keyboard shortcuts");
  const line = ([key, words]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, words));
  const here = KEYS.filter(([, , , isHere]) => isHere());
  body.append(h("dl.keys", {}, ...[...here.slice(0, -1), ...OTHERS, here.at(-1)].map(line)));
}

export function startShortcuts() {
  byId("shortcuts").addEventListener("click", openHelp);
  document.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const found = KEYS.find(([key, , , isHere]) => key === event.key && isHere());
    if (!found || !isPlain || topDialog() || isText(document.activeElement)) return;
    event.preventDefault();
    found[2]();
  });
}
