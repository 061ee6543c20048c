// Adding a task and editing one: once or recurring, with what it means said as it is written.

import { anotherId } from "./add_again.js";
import { ask, fetchApi, getTask, taskPath } from "./api.js";
import { blameFor } from "./field_errors.js";
import { busy } from "./busy.js";
import { check } from "./checks.js";
import { clash, differences } from "./conflict.js";
import { confirm, openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { blame, forgive, goTo } from "./field.js";
import { fields } from "./fields.js";
import { payloadForm } from "./payload_form.js";
import { preview } from "./preview.js";
import { changedIn, madeId, toAdd, toChange, valuesOf } from "./request.js";
import { on, tell } from "./state.js";
import { complain, toast } from "./toast.js";
import { edited, undone } from "./verbs.js";

const TRIES = 3;

// What became of a task that was there.
const THERE = {
  keep: "was there already, and stays as it is",
  replace: "is put in the place of the one that was there",
  push: "was there already, and is put off",
};

let seen = () => {}; // told of the task being edited, as it is now

on("task", (task) => seen(task));

// Of a task, to edit it; or to add one, `like` another, of this action, or from nothing.
export function openForm(task = null, { like = null, action = "" } = {}) {
  let base = task; // what our changes are changes to
  let theirs = null; // what it has become, until the reader decides
  const isTouched = () => JSON.stringify(valuesOf(all)) !== JSON.stringify(before);
  const { dialog, body, leave } = openDialog(task ? `Edit ${task.id}` : "Add a task", {
    kind: "form",
    mayLeave: () =>
      !isTouched() ||
      confirm("Leave without saving?", "What you have written is lost then.", "Leave", {
        danger: true,
        no: "Go on writing",
      }),
    onclose: () => (seen = () => {}),
  });
  const all = fields(task, like);
  const { parts, input, moments } = all;
  if (like) input.id.value = anotherId(like.id);
  if (action) input.action.value = action;
  let before = valuesOf(all);
  const made = madeId();

  const wrong = h("p.wrong", { role: "alert" });
  const meanwhile = clash(decide);
  const send = h("button.primary", { "data-key": "send" }, task ? "Save" : "Add");
  const close = h("button", { type: "button", onclick: leave }, task ? "Don't save" : "Don't add");
  const foot = h("div.foot", {}, meanwhile.box, wrong, h("div.actions", {}, close, send));
  const form = h("form", { novalidate: true }, ...parts, foot);
  body.append(form);
  preview(form, all);
  const payload = payloadForm(form, all, { isNew: !task });

  async function submit() {
    if (theirs) return meanwhile.focus();
    wrong.textContent = "";
    Object.values(input).forEach(forgive);
    const misfit = payload.check();
    const found = check(all, task ? before : undefined).filter(([name]) => !misfit || name !== "payload");
    for (const [name, reason] of found) blame(input[name], reason);
    if (found.length) return goTo(input[found[0][0]]);
    if (misfit) return goTo(misfit);
    try {
      if (task ? await save() : await add()) dialog.close();
    } catch (error) {
      if (error.document?.stored) return stored(error);
      if (!payload.reveal(error) && !blameFor(error, input)) wrong.textContent = error.message;
    }
    return undefined;
  }

  async function add() {
    const response = await fetchApi("POST", "tasks", { body: toAdd(all, made) });
    const added = await response.json();
    const wasThere = response.status === 200 && THERE[input.if_exists.value];
    toast(`${added.id} ${wasThere || "is added"}`, {
      about: added.id,
      undo: wasThere ? undefined : () => undone(added, () => ask("DELETE", taskPath(added.id), { rev: added.rev })),
    });
    tell("changed", added.id);
    return true;
  }

  // True when it is saved. What was changed elsewhere is in nobody's way if it is none of what is shown here.
  async function save() {
    for (let tries = 1; ; tries += 1) {
      const change = toChange(all, before, base);
      if (!change) return true;
      try {
        const now = await ask("PATCH", taskPath(task.id), { rev: base.rev, body: change.body });
        await edited(base, now, change.back);
        return true;
      } catch (error) {
        if (error.status !== 412 || tries === TRIES) throw error;
        if (!meet(await getTask(task.id))) return false;
      }
    }
  }

  // The task as it has become. False if the reader has to decide.
  function meet(now) {
    const rows = differences(all, before, valuesOf(fields(now)));
    const isOver = !now.can.includes("update");
    if (!rows.length && !isOver) {
      theirs = null;
      meanwhile.hide();
      send.hidden = false;
      rebase(now);
      return true;
    }
    theirs = now;
    meanwhile.show(rows, isOver && now.status);
    send.hidden = true;
    return false;
  }

  // Our changes are changes to this one from now on; what we did not change is as it is there.
  function rebase(now, { leaving = [] } = {}) {
    const mine = changedIn(all, before).filter((name) => !leaving.includes(name));
    const other = fields(now);
    before = valuesOf(other);
    base = now;
    for (const name of Object.keys(before)) {
      if (mine.includes(name) || name === "id") continue;
      if (moments[name]) moments[name].set(before[name]);
      else {
        input[name].value = other.input[name].value;
        input[name].dispatchEvent(new Event("input")); // for what is only shown with it
      }
    }
    form.dispatchEvent(new Event("input"));
  }

  function decide(which) {
    const now = theirs;
    const changed = differences(all, before, valuesOf(fields(now))).map(([name]) => name);
    theirs = null;
    meanwhile.hide();
    send.hidden = false;
    rebase(now, { leaving: which === "theirs" ? changed : [] });
    if (which === "ours") form.requestSubmit();
    else if (isTouched()) send.focus();
    else {
      dialog.close();
      toast("Theirs stays; nothing of yours was written");
    }
  }

  // It is there, though something about it is not as it should be: not to be sent again.
  function stored(error) {
    dialog.close();
    complain(error);
    tell("changed", error.document.id);
  }

  seen = (now) => {
    if (now.id === task?.id && now.rev !== base.rev && foot.getAttribute("aria-busy") !== "true") meet(now);
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await busy(foot, submit);
    if (theirs && dialog.open) meanwhile.focus();
  });
  form.addEventListener("input", ({ target }) => {
    if (target !== form) forgive(target);
    if (theirs) meet(theirs);
  });
  (task ? input.payload : input.action).focus();
}
