// The page of the schedules.

import { ask, get, getTask, taskPath } from "./api.js";
import { busy, onlySingleClicks, openDialog } from "./dialog.js";
import { byId, debounce, h, isReadOnly, number, reword, several } from "./dom.js";
import { field } from "./field.js";
import { openForm } from "./form.js";
import { refresh, seldom, startFrame } from "./frame.js";
import { badge, drawPicked, drawRows, pickCell, shortly, startPicking } from "./rows.js";
import { addressQuery, limits, on, putInAddress, tell } from "./state.js";
import { current, refreshStatus } from "./status.js";
import { refreshTask } from "./task.js";
import { ZONE, inZone, lateness, moment, near, time } from "./time.js";
import { complain, toast } from "./toast.js";
import { doTo } from "./verbs.js";

// One recurring task on the page of schedules.


const RESULTS = ["done", "failed", "skipped"];

// A time by the viewer's clock, and by the schedule's if that is another.
function both(iso, { timezone, expression }) {
  const isOther = timezone !== ZONE && !expression.startsWith("rate");
  const there = isOther && inZone(new Date(iso), timezone);
  return [time(iso), there && h("small.there", {}, `${there} ${timezone}`)];
}

function next({ status, queued, due, attempt, recurrence }) {
  const { schedule, next_due: after } = recurrence;
  if (status === "paused") return [badge("paused")];
  if (status === "running") return [badge("running"), after && h("small.there", {}, "then ", time(after))];
  if (!attempt) return both(due, schedule);
  return [...both(queued, schedule), h("small.there", {}, `attempt ${attempt + 1} of `, time(due, { words: false }))];
}

function last({ occurrences, recurrence: { schedule } }) {
  const one = occurrences.at(-1);
  if (!one) return [h("span.quiet", {}, "never ran")];
  return [...both(one.started_at ?? one.finished_at, schedule), h("small.there", {}, badge(one.result))];
}

function words(one) {
  const late = one.lateness_ms === null ? "" : `, ${lateness(one.lateness_ms)} late`;
  return `${near(new Date(one.due))}: ${one.result}${late}${one.failure ? `\n${one.failure}` : ""}`;
}

const ofResult = (occurrences, result) => occurrences.filter((one) => one.result === result).length;

// The oldest first; the marks differ in form as well as in colour.
function strip(occurrences) {
  if (!occurrences.length) return h("span.quiet", {}, "–");
  const counts = RESULTS.map((result) => [result, ofResult(occurrences, result)])
    .filter(([, count]) => count)
    .map(([result, count]) => `${count} ${result}`);
  const label = `The last ${occurrences.length}: ${counts.join(", ")}`;
  return h(
    "span.strip",
    { role: "img", "aria-label": label },
    ...occurrences.map((one) => h(`span.mark.${one.result}`, { title: words(one) })),
  );
}

function trouble({ recurrence: { consecutive_failures: failures }, failed_with: why }) {
  if (!failures) return null;
  const said = failures === 1 ? "failed the last time" : `${failures} failures in a row`;
  return h("small.why", {}, h("strong", {}, said), why && `: ${why}`);
}

async function edit(id) {
  try {
    openForm(await getTask(id));
  } catch (error) {
    complain(error);
  }
}

// The occurrences of a range that has passed: counted first, and added at the second press.
function openBackfill({ id }) {
  const { dialog, body } = openDialog(`Backfill ${id}`, { kind: "form" });
  const [start, end] = [moment("start"), moment("end")];
  const perSecond = h("input", { type: "number", name: "per_second", min: "0.0001", max: "1000", step: "any" });
  const said = h("p.quiet", { "aria-live": "polite" });
  const wrong = h("p.wrong", { role: "alert" });
  const go = h("button.primary", {}, "Count");
  const foot = h(
    "div.foot",
    {},
    wrong,
    h("div.actions", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Close"), go),
  );
  const form = h(
    "form",
    { novalidate: true },
    field(`From (${ZONE})`, start.input, { note: start.note }),
    field(`To (${ZONE})`, end.input, { note: end.note }),
    field("Per second", perSecond, { hint: "Space them; all at once if empty" }),
    said,
    foot,
  );
  let counted = ""; // the range that was counted, as it would be sent

  const rangeOf = () => ({ start: start.read(), end: end.read(), per_second: perSecond.value ? Number(perSecond.value) : null });

  function forget() {
    counted = "";
    said.textContent = "";
    go.textContent = "Count";
  }

  async function send() {
    wrong.textContent = "";
    const range = rangeOf();
    const asked = JSON.stringify(range);
    if (!range.start || !range.end) wrong.textContent = "Give the beginning and the end of the range.";
    else if (perSecond.validity.badInput) wrong.textContent = "Per second: write a number.";
    if (wrong.textContent) return;
    try {
      const report = await ask("POST", taskPath(id, "backfill"), { body: { ...range, dry_run: counted !== asked } });
      if (counted === asked) {
        dialog.close();
        toast(`${number(report.added)} added, ${number(report.there_already)} there already`);
        const [first] = report.failures;
        if (first) toast(`${several(report.failures.length, "task")} failed: ${first.detail}`, { bad: true });
        tell("changed", id);
        return;
      }
      if (JSON.stringify(rangeOf()) !== asked) return; // it was changed meanwhile
      counted = report.dues.length ? asked : "";
      said.textContent = counted
        ? `${near(new Date(report.dues[0]))} to ${near(new Date(report.dues.at(-1)))}`
        : "The schedule has no occurrence in this range.";
      if (counted) go.textContent = `Add ${several(report.dues.length, "task")}`;
    } catch (error) {
      wrong.textContent = error.message;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(foot, send);
  });
  form.addEventListener("input", forget);
  body.append(form);
  start.input.focus();
}

// The actions of a row, in a menu that the browser closes.
function buttons(task) {
  const key = `menu ${task.id}`; // of all buttons: in a new row for this task, the opener gets the focus
  const menu = onlySingleClicks(h("div.menu", { popover: "auto", id: `menu-${task.id}` }));
  const opener = h(
    "button.small",
    { "data-key": key, "aria-label": `Actions of ${task.id}`, "aria-haspopup": "true", onclick: () => menu.togglePopover() },
    "Actions ▾",
  );
  const button = (name, work) =>
    h("button.plain", { "data-key": key, "aria-label": `${name} ${task.id}`, onclick: () => {
      menu.hidePopover();
      opener.focus();
      busy(opener.parentElement, work);
    } }, name);
  const can = (verb) => task.can.includes(verb);
  const verb = (name, does) => can(does) && button(name, () => doTo(task, does));
  menu.append(
    ...[
      verb("Pause", "pause"),
      verb("Resume", "resume"),
      verb("Run now", "run_now"),
      can("update") && button("Edit", () => edit(task.id)),
      button("Backfill", () => openBackfill(task)),
    ].filter(Boolean),
  );
  menu.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open") return;
    const place = opener.getBoundingClientRect();
    menu.style.top = `${Math.min(place.bottom, innerHeight - menu.offsetHeight)}px`;
    menu.style.left = `${Math.max(0, place.right - menu.offsetWidth)}px`;
    menu.querySelector("button")?.focus();
  });
  return h("div.actions", {}, opener, menu);
}

export function row(task) {
  const { schedule, words: said } = task.recurrence;
  const open = h(
    "button.link",
    { "data-key": `open ${task.id}`, onclick: () => tell("open", task.id) },
    task.id,
  );
  return h(
    "tr",
    {},
    pickCell(task.id),
    h("td.name", {}, open, h("small.there", {}, task.action), trouble(task)),
    h("td.words", { title: said }, shortly(said), " ", h("code", {}, schedule.expression)),
    h("td.next", {}, ...next(task).filter(Boolean)),
    h("td.last", {}, ...last(task).filter(Boolean)),
    h("td.twenty", {}, strip(task.occurrences)),
    h("td.buttons", {}, !isReadOnly && buttons(task)),
  );
}

// The page of recurring tasks: each with its schedule, its next and last times, and what can be done with it.


const PAGE = 100;
const MOST = limits("Filters", "limit").maximum; // that the server gives at a time

// The index of recurring tasks may be a second behind: then a task that was just added is not in it yet.
const INDEX_MS = 1500;

const shown = { tasks: [], cursor: null, picked: new Set() };
let latest = 0; // the last that was asked for

function sayNone() {
  if (byId("search").elements.prefix.value) return h("p", {}, "No recurring task has such an id.");
  return [
    h("p.big", {}, "There are no recurring tasks."),
    h(
      "p",
      {},
      "Add a task with a schedule here, with ",
      h("code", {}, 'duebell add report --schedule "0 9 * * MON-FRI"'),
      ", or from your service.",
    ),
    h("button.primary", { "data-key": "add", onclick: () => tell("add") }, "Add a task"),
  ];
}

function say() {
  const { tasks, cursor } = shown;
  const failing = tasks.filter(({ recurrence }) => recurrence.consecutive_failures).length;
  const paused = tasks.filter(({ status }) => status === "paused").length;
  const calendars = Object.entries(current()?.calendars ?? {}).map(([name, ends]) => `${name} until ${ends}`);
  const said = [
    `${several(tasks.length, "recurring task")}${cursor ? " so far" : ""}`,
    failing && `${number(failing)} failed the last time`,
    paused && `${number(paused)} paused`,
  ];
  reword(
    byId("list-note"),
    tasks.length ? h("p.quiet", {}, `${said.filter(Boolean).join(", ")}.`) : sayNone(),
    calendars.length > 0 && h("p.quiet", {}, `Calendars of holidays: ${calendars.join(", ")}.`),
    cursor && h("button", { "data-key": "more", onclick: more }, "Show more"),
  );
}

function draw() {
  drawRows(shown.tasks, ({ rev }) => rev, row);
  byId("schedules").setAttribute("aria-busy", "false");
  say();
  drawPicked();
}

// As many as are shown already, in as few requests as they take.
async function read(wanted) {
  const mine = (latest += 1);
  const { value: prefix } = byId("search").elements.prefix;
  let [tasks, cursor] = [[], null];
  do {
    const limit = Math.min(MOST, wanted - tasks.length);
    const page = await get("schedules", { prefix, limit, cursor });
    if (mine !== latest) return;
    tasks = [...tasks, ...page.tasks];
    cursor = page.cursor;
  } while (cursor && tasks.length < wanted);
  Object.assign(shown, { tasks, cursor });
  draw();
}

const refreshSchedules = () => read(Math.max(PAGE, shown.tasks.length));
const more = () => refresh(() => read(shown.tasks.length + PAGE));

const search = debounce(300, () => {
  putInAddress({ prefix: byId("search").elements.prefix.value });
  refresh(refreshSchedules);
});

function readAddress() {
  byId("search").elements.prefix.value = addressQuery().get("prefix") ?? "";
}

const seldomSchedules = seldom(refreshSchedules);
export function startSchedules() {
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", search);
  addEventListener("hashchange", () => {
    readAddress();
    refresh(refreshSchedules);
  });
  readAddress();
  startPicking(shown);
  for (const event of ["changed", "refresh"])
    on(event, () => setTimeout(() => refresh(refreshSchedules), INDEX_MS));
  startFrame(
    () => refresh(refreshStatus, refreshSchedules, refreshTask),
    () => refresh(seldomSchedules, refreshTask),
  );
  refresh(refreshStatus, refreshSchedules);
}
