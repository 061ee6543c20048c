// The part of the program that all pages share: it shows the environment, reads the queue again when something
// changed, says when it cannot, and opens tasks and the form for a new one.

import { onTokenWanted } from "./api.js";
import { atMostEvery, byId, content, debounce } from "./dom.js";
import { showEnvironment } from "./environment.js";
import { openForm } from "./form.js";
import { startShortcuts } from "./shortcuts.js";
import { on } from "./state.js";
import { follow } from "./stream.js";
import { startTask } from "./task.js";
import { tickRelative } from "./time.js";
import { askForToken } from "./token.js";

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

// `all` looks at everything, `changedElsewhere` at what may have changed when the server says so.
export function startFrame(all, changedElsewhere) {
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
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address's fragment says what is looked at
    content().focus();
  });
  startShortcuts();
  setInterval(tickRelative, 1000);
  // A change between the first read and the start of the stream would go unseen, so all is read again when the
  // stream is ready. A proxy may hold the stream back: then it is read again after a while.
  const late = setTimeout(changedElsewhere, PATIENCE_MS);
  on("stream-ready", () => {
    clearTimeout(late);
    changedElsewhere();
  });
  follow();
  startTask();
}
