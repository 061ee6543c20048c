// What all pages have: keys, the scheduler's name, the connection.

import { onTokenWanted } from "./api.js";
import { openChanges } from "./changes.js";
import { askForToken, openDialog } from "./dialog.js";
import { atMostEvery, byId, content, debounce, h, isReadOnly, showEnvironment, topDialog } from "./dom.js";
import { openForm } from "./form.js";
import { on } from "./state.js";
import { follow } from "./status.js";
import { startTask } from "./task.js";
import { startTimes, tickTimes } from "./time.js";
import { isText } from "./toast.js";

// Keys for those who look at the list all day: they do nothing where text is written, or in a dialog.


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

function startShortcuts() {
  byId("shortcuts").addEventListener("click", openHelp);
  document.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const found = KEYS.find(([key, , , isHere]) => key === event.key && isHere());
    if (!found || !isPlain || topDialog() || isText(document.activeElement)) return;
    event.preventDefault();
    found[2]();
  });
}

// The part of the program that all pages share: it shows the environment, reads the queue again when something
// changed, says when it cannot, and opens tasks and the form for a new one.


const COSTLY_EVERY_MS = 15000;
const PATIENCE_MS = 1500;

function showAlert(text) {
  if (byId("alert").textContent !== text) byId("alert").textContent = text;
  byId("alert").hidden = text === "";
}

export async function refresh(...parts) {
  const results = await Promise.allSettled(parts.map((part) => part()));
  const failed = results.find(({ status }) => status === "rejected");
  showAlert(failed ? `What is shown may be out of date. ${failed.reason.message}` : "");
}

// Reads costly parts, such as history or a long queue, less often than the rest.
export const seldom = (part) => atMostEvery(COSTLY_EVERY_MS, part, () => refresh(part));

onTokenWanted(askForToken);

// Starts what all pages share. `all` reads everything, `changedElsewhere` what may have changed when the stream reports
// a change. The stream begins after `first`, the first read; the page can be used before.
export function startFrame(all, changedElsewhere, first = Promise.resolve()) {
  on("status", showEnvironment);
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
  byId("changes").addEventListener("click", openChanges);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address's fragment says what is looked at
    content().focus();
  });
  startShortcuts();
  startTimes();
  setInterval(tickTimes, 1000);
  // A change between the first read and the start of the stream would go unseen, so all is read again when the
  // stream is ready. A proxy may hold the stream back: then it is read again after a while.
  const late = setTimeout(changedElsewhere, PATIENCE_MS);
  on("stream-ready", () => {
    clearTimeout(late);
    changedElsewhere();
  });
  startTask();
  first.then(follow);
}
