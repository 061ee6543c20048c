// One change to many tasks: counted first, confirmed, carried out part by part, and undone where it can be.

import { ask } from "./api.js";
import { busy } from "./busy.js";
import { tasks } from "./counts.js";
import { confirm } from "./dialog.js";
import { byId, h, refill } from "./dom.js";
import { limits } from "./limits.js";
import { progress } from "./progress.js";
import { filters, tell } from "./state.js";
import { complain, toast } from "./toast.js";

const VERBS = {
  run_now: { name: "Run now", done: "run" },
  pause: { name: "Pause", done: "paused", undo: "resume" },
  resume: { name: "Resume", done: "resumed", undo: "pause" },
  retry: { name: "Retry", done: "retried" },
  cancel: {
    name: "Cancel",
    done: "cancelled",
    danger: true,
    after: " They stay as history, and this cannot be undone.",
  },
};

const MOST = limits("BulkChange", "ids").maxItems;
const AT_ONCE = 100; // so that what is done so far can be said

let shown; // the list: its tasks, and which of them are ticked
let unpick;
let where; // the filter of the list; without one, only what is ticked can be changed
let everything = false; // all that the filters let through, not only what is ticked

export function startBulk(list, clear, filter) {
  shown = list;
  unpick = clear;
  where = filter;
}

// The ids of those picked that it can be done to.
const chosen = (verb) =>
  shown.tasks.filter(({ id, can }) => shown.picked.has(id) && can.includes(verb)).map(({ id }) => id);

export function showPicked() {
  const { picked, cursor } = shown;
  byId("bulk").hidden = !picked.size;
  if (!picked.size) {
    everything = false;
    return;
  }
  const isWhole = where && picked.size === shown.tasks.length && cursor;
  if (!isWhole) everything = false;
  refill(
    byId("bulk"),
    h(
      "span",
      { "aria-live": "polite" },
      everything ? "All that fit the filters" : `${tasks(picked.size)} selected`,
    ),
    isWhole &&
      !everything &&
      h(
        "button.small",
        {
          "data-key": "bulk all",
          onclick: () => {
            everything = true;
            showPicked();
          },
        },
        "Select all that fit the filters",
      ),
    Object.keys(VERBS)
      .filter((verb) => chosen(verb).length)
      .map((verb) =>
        h(
          `button.small${VERBS[verb].danger ? ".danger" : ""}`,
          { "data-key": `bulk ${verb}`, onclick: () => busy(byId("bulk"), () => run(verb)) },
          VERBS[verb].name,
        ),
      ),
    h("button.small.plain", { "data-key": "bulk none", onclick: unpick }, "Clear"),
  );
}

const run = (verb) =>
  everything ? changeFound(verb, where(), filterWords()) : changeNamed(verb, chosen(verb));

export const changeFound = (verb, filter, words = "") => change(verb, { where: filter, limit: MOST }, words);

export const changeNamed = (verb, ids) =>
  change(verb, { ids: ids.slice(0, MOST) }, "", { isMore: ids.length > MOST });

// The very tasks that were counted are changed, a part of them at a time.
async function change(verb, asked, words, { isMore = false } = {}) {
  try {
    const found = await ask("POST", "bulk", { body: { do: verb, ...asked, dry_run: true } });
    if (!found.found) {
      toast(`None of them can be ${VERBS[verb].done}`);
    } else if (await isMeant(verb, found, words, isMore || !found.is_all)) {
      report(verb, await inParts(verb, found.ids));
      unpick();
    }
  } catch (error) {
    complain(error);
  }
  tell("refresh");
}

function isMeant(verb, { found }, words, isMore) {
  const { name, danger, done, after = "" } = VERBS[verb];
  const text = isMore
    ? `The first ${tasks(found)}${words} will be ${done}. There are more: do it again for those.`
    : `${tasks(found)}${words} will be ${done}.`;
  const what = `${name} ${tasks(found)}`;
  return confirm(`${what}?`, text + after, what, { danger });
}

// Resolves to the result, also if it was stopped or the server went away in between.
async function inParts(verb, ids) {
  const done = { changed: [], failures: [], isStopped: false, error: null };
  const shownProgress = progress(`${VERBS[verb].name} ${tasks(ids.length)}`, ids.length);
  try {
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      if (shownProgress.isStopped()) {
        done.isStopped = true;
        break;
      }
      const part = await ask("POST", "bulk", { body: { do: verb, ids: ids.slice(at, at + AT_ONCE) } });
      done.changed.push(...part.changed);
      done.failures.push(...part.failures);
      shownProgress.show(Math.min(at + AT_ONCE, ids.length));
    }
  } catch (error) {
    done.error = error;
  } finally {
    shownProgress.close();
  }
  return done;
}

function filterWords() {
  const said = [
    filters.action && `with the action ${filters.action}`,
    filters.error && `with the error ${filters.error}`,
    filters.prefix && `whose id starts with ${filters.prefix}`,
    filters.text && `with ${filters.text} in their id or payload`,
    filters.when && "in the stretch of time chosen",
  ];
  const given = said.filter(Boolean);
  return given.length ? ` ${given.join(", ")}` : "";
}

async function takeBack(verb, ids) {
  try {
    const undone = await inParts(verb, ids);
    toast(`${tasks(undone.changed.length)} ${VERBS[verb].done}`);
    if (undone.error) complain(undone.error);
  } catch (error) {
    complain(error);
  }
  tell("refresh");
}

function report(verb, { changed, failures, isStopped, error }) {
  const { undo: back, done } = VERBS[verb];
  const undo = back && changed.length ? () => takeBack(back, changed) : undefined;
  const stopped = isStopped ? ", then stopped" : "";
  if (changed.length) toast(`${tasks(changed.length)} ${done}${stopped}`, { undo });
  if (failures.length) toast(`${tasks(failures.length)} could not be: ${failures[0].detail}`, { bad: true });
  if (error) toast(`It was broken off, and some more may be ${done}: ${error.message}`, { bad: true });
}
