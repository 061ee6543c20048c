// One task in full: what it shall do, when, and what has become of it.

import { asked, note } from "./address.js";
import { getTask } from "./api.js";
import { busy, markBusy, onlySingleClicks } from "./busy.js";
import { h, refill } from "./dom.js";
import { openDialog } from "./dialog.js";
import { topDialog } from "./focus.js";
import { isReadOnly } from "./read_only.js";
import { badge } from "./row.js";
import { on, tell } from "./state.js";
import { buttons } from "./task_buttons.js";
import { details, failure, failures, occurrences, payload, when } from "./task_parts.js";
import { doTo } from "./verbs.js";

let latest = 0; // the last that was asked for
let open = null; // { id, panel, task, actions }

function show(task) {
  open.task = task;
  const { heading, body, dialog } = open.panel;
  const { actions } = open;
  const hadFocus = body.contains(document.activeElement);
  heading.textContent = task.id;
  refill(actions, buttons(task, act));
  markBusy(actions);
  refill(
    body,
    h("p.lead", {}, badge(task.status), " ", h("span", {}, task.action)),
    !isReadOnly && actions,
    failure(task),
    failures(task),
    when(task),
    payload(task),
    occurrences(task),
    details(task),
  );
  if (hadFocus && !dialog.contains(document.activeElement)) heading.focus({ preventScroll: true });
  tell("task", task);
}

// Until the task is seen as it is then, so that nothing is done to what is not there any more.
function act(verb) {
  const { task, actions } = open;
  return busy(actions, async () => {
    await doTo(task, verb);
    await refresh();
  });
}

function unread(error) {
  if (error.status === 404)
    return [h("p", {}, "There is no such task. The history of finished tasks is deleted after a while.")];
  return [
    h("p", { role: "alert" }, `The task cannot be shown: ${error.message}`),
    h("button.primary", { "data-key": "again", onclick: refresh }, "Try again"),
  ];
}

async function refresh() {
  if (!open) return;
  const { id } = open;
  const mine = (latest += 1);
  try {
    const task = await getTask(id);
    if (mine === latest && open?.id === id && open.task?.rev !== task.rev) show(task);
  } catch (error) {
    if (open?.id !== id) return;
    open.task = null; // whatever it is then, it is shown when it is read
    refill(open.panel.body, ...unread(error));
  }
}

function openTask(id) {
  if (open?.id === id && open.panel.dialog === topDialog()) return;
  open?.panel.dialog.close();
  const panel = openDialog(id, {
    kind: "panel",
    back: `open ${id}`,
    onclose: () => {
      if (open?.panel === panel) {
        open = null;
        tell("opened", null);
        note({ task: "" });
      }
    },
  });
  panel.body.append(h("p.quiet", {}, "Loading…"));
  open = { id, panel, task: null, actions: onlySingleClicks(h("div.actions")) };
  note({ task: id });
  tell("opened", id);
  refresh();
}

export const refreshTask = refresh;

function openAsked() {
  const id = asked().get("task");
  if (id) openTask(id);
}

export function startTask() {
  on("open", openTask);
  // Moved, edited or undone from here: its buttons wait until that is seen.
  on("changed", (id) => {
    if (open?.id === id) busy(open.actions, refresh);
  });
  addEventListener("hashchange", openAsked);
  openAsked();
}
