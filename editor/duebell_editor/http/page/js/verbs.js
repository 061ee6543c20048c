// What is done to one task, and how it is taken back.

import { ask, getTask, taskPath } from "./api.js";
import { busy, confirm, openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { blame, field, forgive } from "./field.js";
import { outOfTime, toAddAgain } from "./kinds.js";
import { tell } from "./state.js";
import { ZONE, full, moment, near, nearby, relative } from "./time.js";
import { complain, toast } from "./toast.js";

// Whether a move to its due date restores the task: it has not been tried, and is not late.
const canMoveBack = (task) => !task.attempt && new Date(task.due) > new Date();

const post = (id, verb, rev, body) => ask("POST", taskPath(id, verb), { rev, body });

// Each applies its verb. Returns [the text to say, a function that undoes it, if it can be undone]; [] if the viewer
// does not confirm.
const VERBS = {
  async run_now(task) {
    const now = await post(task.id, "run_now", task.rev);
    return [
      `${task.id} runs in the next minute or two`,
      !task.recurrence && canMoveBack(task) && (() => post(task.id, "move", now.rev, { due: task.due })),
    ];
  },
  async pause(task) {
    const now = await post(task.id, "pause", task.rev);
    // Resumed, a task that waits for its next attempt would run at once.
    return [`${task.id} is paused`, !task.attempt && (() => post(task.id, "resume", now.rev))];
  },
  async resume(task) {
    const now = await post(task.id, "resume", task.rev);
    return [`${task.id} is back in the queue`, () => post(task.id, "pause", now.rev)];
  },
  async retry(task) {
    await post(task.id, "retry", task.rev);
    return [`${task.id} is tried again`];
  },
  async cancel(task) {
    // An add restores neither attempts, nor what a batch knows of its tasks.
    const isAgainPossible =
      ["scheduled", "paused"].includes(task.status) && !task.recurrence && !task.attempt && !task.batch && !task.members;
    if (
      !isAgainPossible &&
      !(await confirm(`Cancel ${task.id}?`, whatIsLost(task), "Cancel the task", { danger: true }))
    )
      return [];
    const now = await ask("DELETE", taskPath(task.id), { rev: task.rev });
    return [`${task.id} is cancelled`, isAgainPossible && (() => addAgain(task, now.rev))];
  },
};

function whatIsLost(task) {
  if (task.recurrence)
    return "It will not run again. Its schedule ends here; what has been stays as history.";
  if (task.status === "running")
    return "The outcome of what runs now no longer counts. A stoppable action is told to stop.";
  return "It will not be tried again, and stays as history.";
}

// A cancelled task is added again as it was, if nobody has put another in its place.
async function addAgain(task, rev) {
  const now = await ask("POST", "tasks", { body: toAddAgain(task), rev });
  return task.status === "paused" ? post(task.id, "pause", now.rev) : now;
}

export async function doTo(task, verb) {
  try {
    const [said, undo] = await VERBS[verb](task);
    if (said) toast(said, { about: task.id, undo: undo ? () => undone(task, undo) : undefined });
  } catch (error) {
    complain(
      error.status === 412 ? { message: `${task.id} was changed meanwhile; this is how it is now` } : error,
    );
  }
  tell("changed", task.id);
}

export async function undone(task, undo) {
  try {
    await undo();
    toast("Undone", { about: task.id });
  } catch (error) {
    complain(
      error.status === 412 ? { message: `This cannot be undone: ${task.id} was changed since` } : error,
    );
  }
  tell("changed", task.id);
}

async function move(task, due) {
  const now = await post(task.id, "move", task.rev, { due });
  toast(`${task.id} is now due ${nearby(new Date(due))}`, {
    about: task.id,
    undo: canMoveBack(task) ? () => undone(task, () => post(task.id, "move", now.rev, { due: task.due })) : undefined,
  });
  tell("changed", task.id);
}

export async function edited(task, now, back) {
  toast(`${task.id} is changed`, {
    about: task.id,
    undo: () => undone(task, () => ask("PATCH", taskPath(task.id), { rev: now.rev, body: back })),
  });
  tell("changed", task.id);
}

// Another time for a task: this occurrence only, if it recurs.


export function openMove(task) {
  let now = task;
  const { dialog, body } = openDialog(`Move ${task.id}`, { kind: "form" });
  const due = moment("due", task.due);
  const words = h("p.quiet", { "aria-live": "polite" });
  const wrong = h("p.wrong", { role: "alert" });
  const foot = h(
    "div.foot",
    {},
    wrong,
    h(
      "div.actions",
      {},
      h("button", { type: "button", onclick: () => dialog.close() }, "Don't move"),
      h("button.primary", {}, "Move"),
    ),
  );
  const form = h(
    "form",
    { novalidate: true },
    field(`Due (${ZONE})`, due.input, { note: due.note }),
    words,
    task.recurrence && h("p.quiet", {}, "Only this occurrence is moved; the schedule goes on as it was."),
    foot,
  );

  function say() {
    forgive(due.input);
    const iso = due.read();
    const date = new Date(iso);
    words.textContent = iso
      ? `${near(date)}, ${relative(date)}${date < Date.now() ? ": it runs at once" : ""}`
      : "";
  }

  function complain(reason) {
    blame(due.input, reason);
    due.input.focus();
  }

  async function send() {
    wrong.textContent = "";
    const iso = due.read();
    const reason = iso ? outOfTime(iso) : "Give a day and a time.";
    if (reason) return complain(reason);
    try {
      await move(now, iso);
      dialog.close();
    } catch (error) {
      if (error.status === 412) await sayChanged();
      else if (error.document?.field === "due") complain(`The time ${error.document.reason}`);
      else wrong.textContent = error.message;
    }
    return undefined;
  }

  async function sayChanged() {
    try {
      now = await getTask(task.id);
      wrong.textContent =
        "The task was changed meanwhile, and is not moved. " +
        `It is ${now.status}, due ${full(new Date(now.due))}. ` +
        (now.can.includes("move") ? "Press Move again to move it all the same." : "It cannot be moved any more.");
    } catch (error) {
      wrong.textContent = error.message;
    }
    tell("changed", task.id);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(foot, send);
  });
  form.addEventListener("input", say);
  body.append(form);
  say();
  due.input.focus();
}
