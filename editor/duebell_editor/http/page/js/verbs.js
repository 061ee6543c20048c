// What can be done to one task, and how it is undone.

import { ask, taskPath } from "./api.js";
import { confirm } from "./dialog.js";
import { toAddAgain } from "./request.js";
import { tell } from "./state.js";
import { nearby } from "./time.js";
import { complain, toast } from "./toast.js";

const post = (id, verb, rev, body) => ask("POST", taskPath(id, verb), { rev, body });

// Each returns the text to say, and how it is undone from the task as it came back.
const VERBS = {
  async run_now(task) {
    const now = await post(task.id, "run_now", task.rev);
    return [
      `${task.id} runs in the next minute or two`,
      !task.recurrence && (() => post(task.id, "move", now.rev, { due: task.due })),
    ];
  },
  async pause(task) {
    const now = await post(task.id, "pause", task.rev);
    return [`${task.id} is paused`, () => post(task.id, "resume", now.rev)];
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
    const isAgainPossible = ["scheduled", "paused"].includes(task.status) && !task.recurrence;
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
    return "What runs now is not stopped, but what comes of it no longer counts.";
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

export async function move(task, due) {
  const now = await post(task.id, "move", task.rev, { due });
  toast(`${task.id} is now due ${nearby(new Date(due))}`, {
    about: task.id,
    undo: () => undone(task, () => post(task.id, "move", now.rev, { due: task.due })),
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
