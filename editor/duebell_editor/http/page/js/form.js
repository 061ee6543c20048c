// The form that adds and changes tasks.

import { ask, fetchApi, getTask, rawField, taskPath } from "./api.js";
import { busy, confirm, openDialog } from "./dialog.js";
import { debounce, h, refill } from "./dom.js";
import { blame, blameFor, field, forgive, goTo, inViewersTime } from "./field.js";
import { KINDS, ROWS, changedIn, counting, isSame, madeId, row, toAdd, toChange, valueIn, valuesOf } from "./kinds.js";
import { payloadForm } from "./payload_form.js";
import { on, tell } from "./state.js";
import { ZONE, full, near, relative, time } from "./time.js";
import { complain, toast } from "./toast.js";
import { edited, undone } from "./verbs.js";

// Adding a task once more: like it was, under another id, in an hour.

const MADE_UP = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_ID = 256;

// But for one whose payload was not kept.
export const canBeAddedAgain = ({ status, recurrence, payload_dropped: dropped }) =>
  dropped === null &&
  (["cancelled", "done"].includes(status) || (["failed", "expired"].includes(status) && !recurrence));

// An id for a copy: "sale" gives "sale-again", and "sale-again" gives "sale-again-2". Empty if the id was
// generated, or the new one would be too long: then a new id is generated.
function anotherId(id) {
  if (MADE_UP.test(id)) return "";
  const [, name, count] = /^(.+)-again(?:-(\d+))?$/s.exec(id) ?? [];
  const another = name === undefined ? `${id}-again` : `${name}-again-${Number(count ?? 1) + 1}`;
  return another.length > MAX_ID ? "" : another;
}

// What the form can tell by itself, in words for people; the API has the last word.


// What is wrong beyond what the kind of a field tells.
const CHECKS = {
  action: ({ action }) => (action ? null : "Name the action that the worker shall run."),
  id: ({ id, unique, if_exists: policy }) =>
    policy !== null && id === null && unique === null ? "Give the id that may be there already." : null,
  due: ({ due }) => (due === null ? "Give a day and a time." : null),
  schedule: ({ schedule }) => (schedule ? null : "Write a schedule, or choose a usual one below."),
  end: ({ start, end }) =>
    end !== null && start !== null && end < start
      ? `This is before the start, ${full(new Date(start))}.`
      : null,
};

// [field, reason] of each that cannot be right; of a task that is edited, only of what was changed.
function check(form, before = {}) {
  const values = valuesOf(form);
  const isKept = (name) => isSame(values[name], before[name]);
  const reason = (name) => {
    if (form.input[name].validity.badInput)
      return form.moments[name] ? "Give the day and the time in full." : "Write a number.";
    const isNew = !isKept(name) || (name === "end" && !isKept("start"));
    const { check } = KINDS[row(name).kind];
    return isNew ? (CHECKS[name]?.(values) ?? check?.(row(name), values[name])) : null;
  };
  return counting(form)
    .map((name) => [name, reason(name)])
    .filter(([, why]) => why);
}

// What someone else, or a run, has changed in a task while it is being edited: theirs and ours, side by side.


function worded(name, value) {
  if (value === null) return "none";
  const { kind } = row(name);
  if (kind === "json") return h("pre", {}, value);
  return kind === "time" ? full(new Date(value)) : String(value);
}

// Of each field that they changed: [name, theirs, ours if we changed it too].
function differences(form, before, theirs) {
  const ours = valuesOf(form);
  const changed = changedIn(form, before);
  return counting(form)
    .filter((name) => name !== "id" && !isSame(theirs[name], before[name]) && !isSame(theirs[name], ours[name]))
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

function clash(take) {
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
        h("thead", {}, h("tr", {}, ...heads.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))),
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

// What the form means, said as it is written.


function preview(form, { input, moments, anchor }) {
  const [ofOnce, ofRecurring] = ["once", "recurring"].map((kind) => form.querySelector(`.${kind} .preview`));
  let latest = 0;

  function once() {
    const iso = moments.due.read();
    if (!iso) return refill(ofOnce, h("p.wrong", {}, "Give a day and a time."));
    const due = new Date(iso);
    const soon = due < Date.now() ? "that has passed, so it runs at once" : relative(due);
    return refill(ofOnce, h("p", {}, h("strong", {}, near(due)), `, ${soon}`));
  }

  function show(...children) {
    refill(ofRecurring, ...children);
    // Where the window is low, it is in sight of whoever writes the schedule.
    const group = ofRecurring.parentElement;
    if (group.contains(document.activeElement)) ofRecurring.scrollIntoView({ block: "nearest" });
  }

  async function recurring() {
    const mine = (latest += 1);
    const schedule = input.schedule.value.trim();
    if (!schedule) return show(h("p.quiet", {}, "Write a schedule, and what it means is said here."));
    const body = {
      schedule,
      timezone: input.timezone.value.trim() || null,
      start: moments.start.read() ?? (schedule === anchor.expression ? anchor.start : null),
      end: moments.end.read(),
      calendar: input.calendar.value.trim() || null,
      holidays: (input.calendar.value.trim() && input.holidays.value) || null,
      count: 5,
    };
    const isOld = () => mine !== latest || !input.recurring.checked;
    try {
      const found = await ask("POST", "preview", { body });
      if (isOld()) return undefined;
      return show(
        h("p", {}, h("strong", {}, found.words)),
        h("ol.times", {}, ...found.occurrences.map((due) => h("li", {}, time(due)))),
        ...found.on_holidays.map(({ due, holiday, moved_to: moved }) =>
          h("p.quiet", {}, `${holiday}: `, time(due), moved ? " is moved to " : " is skipped", moved && time(moved)),
        ),
      );
    } catch (error) {
      const why = inViewersTime(error.document?.reason ?? error.message);
      return isOld() ? undefined : show(h("p.wrong", {}, why));
    }
  }

  const later = debounce(250, recurring);
  function update() {
    form.classList.toggle("is-recurring", input.recurring.checked);
    if (!ofOnce) return;
    if (input.recurring.checked) later();
    else once();
  }
  form.addEventListener("input", update);
  update();
}

// The fields of the form, and how they are laid out.


const MINUTE = 60000;
const inAnHour = () => new Date(Math.ceil((Date.now() + 60 * MINUTE) / (5 * MINUTE)) * 5 * MINUTE);
const ifToCome = (iso) => (iso && Date.parse(iso) > Date.now() ? iso : null);

// What a field shows: what the task has, with times to come where a new one is made like it.
function shown(one, task, isNew) {
  const { name, field, kind } = one;
  const value = valueIn(task, one);
  const isRate = task?.recurrence?.schedule.expression.startsWith("rate"); // it is counted from its start
  if (name === "payload") return task ? task.payloadText : "{}";
  if (kind === "json") return task?.[field] ? rawField(task.thenText, "payload") : "";
  if (name === "id") return "";
  if (name === "due" && isNew) return inAnHour().toISOString();
  if (name === "start" && isRate) return null;
  if (kind === "time" && isNew) return ifToCome(value);
  if (kind === "zone") return value ?? ZONE;
  return value;
}

function inputs(task, isNew) {
  const isRecurring = Boolean(task?.recurrence);
  const input = {
    once: h("input", { type: "radio", name: "kind", value: "once", checked: !isRecurring }),
    recurring: h("input", { type: "radio", name: "kind", value: "recurring", checked: isRecurring }),
  };
  const moments = {};
  for (const one of ROWS) {
    const widget = KINDS[one.kind].widget(one, shown(one, task, isNew));
    if (one.kind === "time") moments[one.name] = widget;
    input[one.name] = widget.input ?? widget;
  }
  input.schedule.placeholder = "0 9 * * MON-FRI";
  return { input, moments };
}

const UNITS = { duration: ", in seconds", time: ` (your time, ${ZONE})`, json: " (JSON)" };

// A field with its title, its unit and what it means.
const titled = (name, { input, moments }) => {
  const { title, kind, hint } = row(name);
  return field(`${title}${UNITS[kind] ?? ""}`, input[name], { hint, note: moments[name]?.note });
};

const chip = (name, onclick) => h("button.chip", { type: "button", onclick }, name);

function put(input, value) {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function chips(name, given) {
  return h("div.quick", { role: "group", "aria-label": name }, ...given.map(([of, put]) => chip(of, put)));
}

const said = () => h("div.preview", { "aria-live": "polite" });

function kinds({ once, recurring }) {
  return h(
    "fieldset.segments",
    {},
    h("legend.unseen", {}, "How often"),
    h("label", {}, once, "Once"),
    h("label", {}, recurring, "Recurring"),
  );
}

function once({ input, moments }) {
  const later = (minutes) => () => {
    moments.due.set(new Date(Date.now() + minutes * MINUTE).toISOString());
    input.due.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const quick = [
    ["In 10 minutes", later(10)],
    ["In an hour", later(60)],
    ["In a day", later(1440)],
  ];
  const when = field(`When (${ZONE})`, input.due, { note: moments.due.note });
  return h("div.once", {}, when, chips("Quick times", quick), said());
}

function recurring(all) {
  const { input } = all;
  const usual = [
    ["Every hour", "rate(1 hour)"],
    ["Daily at 9", "0 9 * * *"],
    ["Weekdays at 9", "0 9 * * MON-FRI"],
    ["First of the month", "0 9 1 * *"],
  ].map(([name, expression]) => [name, () => put(input.schedule, expression)]);
  return h(
    "div.recurring",
    {},
    titled("schedule", all),
    chips("Usual schedules", usual),
    said(),
    titled("timezone", all),
  );
}

// The follow-ups of a task. The other fields of one are shown once it has an action.
function following(all) {
  const { then_action: action } = all.input;
  const parts = ["then_after", "then_payload", "then_result_as"].map((name) => titled(name, all));
  const rest = h("div.grid", {}, ...parts);
  const show = () => (rest.hidden = !action.value.trim());
  action.addEventListener("input", show);
  show();
  return h(
    "fieldset.following",
    {},
    h("legend", {}, "What follows"),
    h("div.grid", {}, titled("on_failed", all), titled("then_action", all)),
    rest,
  );
}

// What to do where the id is taken; how long it can be put off is asked for if it can be.
function ifTaken(all) {
  const policy = all.input.if_exists;
  const limit = titled("max_wait", all);
  const show = () => (limit.hidden = policy.value !== "push");
  policy.addEventListener("input", show);
  show();
  return [titled("batch", all), titled("unique", all), titled("if_exists", all), limit];
}

// The fields that have a place of their own. All others are under More.
const PLACED = [
  ...["action", "id", "due", "schedule", "timezone", "payload", "batch", "unique", "if_exists", "max_wait"],
  ...["on_failed", "then_action", "then_after", "then_payload", "then_result_as"],
];

function more(all, id, isNew) {
  const others = (kind) => ROWS.filter(({ name, goes }) => goes === kind && !PLACED.includes(name));
  const titles = (kind) => others(kind).map(({ name }) => titled(name, all));
  return h(
    "details",
    {},
    h("summary", {}, "More"),
    h(
      "div.grid",
      {},
      id,
      ...(isNew ? ifTaken(all) : []),
      ...titles("all"),
      h("div.once", {}, ...titles("once")),
      h("div.recurring", {}, ...titles("recurring")),
    ),
    following(all),
  );
}

// For a task that is edited; or for a new one, `like` another or not.
function fields(task, like = null) {
  const all = inputs(task ?? like, !task);
  const { input, moments } = all;
  const isFixed = task && !task.can.includes("move"); // it is over: only what is tried again can be changed
  const id = !task && titled("id", all);
  const parts = [
    titled("action", all),
    like && id,
    !task && kinds(input),
    !isFixed && once(all),
    !isFixed && recurring(all),
    titled("payload", all),
    !isFixed && more(all, !like && id, !task),
  ];
  // What a rate is counted from, as long as it stays the same.
  const { expression, start } = task?.recurrence?.schedule ?? {};
  const anchor = { expression, start };
  return { parts: parts.filter(Boolean), input, moments, anchor };
}

// Adding a task and editing one: once or recurring, with what it means said as it is written.


const TRIES = 3;

// What became of a task that was there.
const THERE = {
  keep: "was there already, and stays as it is",
  replace: "is put in the place of the one that was there",
  push: "was there already, and is put off",
};

let seen = () => {}; // told of the task being edited, as it is now

on("task", (task) => seen(task));

// Opens the form: to edit `task`, or to add a task, which may be a copy of `like` or have this action.
export function openForm(task = null, { like = null, action = "" } = {}) {
  let base = task; // the version of the task that our changes apply to
  let theirs = null; // the task as others have changed it, until the viewer decides
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
  let sent = null; // the first request to add it: a later one finds what that one stored

  const wrong = h("p.wrong", { role: "alert" });
  const meanwhile = clash(decide);
  const send = h("button.primary", { "data-key": "send" }, task ? "Save" : "Add");
  const close = h("button", { type: "button", onclick: leave }, "Discard");
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
    const body = toAdd(all, made);
    sent ??= body;
    const response = await fetchApi("POST", "tasks", { body }).catch((error) => {
      if (error.status >= 400 && error.status < 500) sent = null; // it stored nothing
      throw error;
    });
    const added = await response.json();
    const ofFirst = body !== sent && "was added by the first request, as it was written then: edit it";
    const wasThere = response.status === 200 && (THERE[input.if_exists.value] ?? ofFirst);
    toast(`${added.id} ${wasThere || "is added"}`, {
      about: added.id,
      undo: wasThere ? undefined : () => undone(added, () => ask("DELETE", taskPath(added.id), { rev: added.rev })),
    });
    tell("changed", added.id);
    return true;
  }

  // True when it is saved. A change made elsewhere is no conflict if it is in none of the fields shown here.
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

  // Takes over the changes of others. False if the viewer must decide first: they are in a shown field, or the task
  // cannot be changed any more.
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

  // Applies our changes to the task `now`, except those in the fields `leaving`. Other fields get its values.
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

  // The task is stored, but the rule is not confirmed. The form closes, so that the task is not sent again.
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
