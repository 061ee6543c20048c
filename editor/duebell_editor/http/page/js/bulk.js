// One change to many tasks: counted first, confirmed, and undone where it can be.

import { ask } from "./api.js";
import { busy } from "./busy.js";
import { byId, h, refill } from "./dom.js";
import { confirm } from "./dialog.js";
import { limits } from "./limits.js";
import { filters, tell, where } from "./state.js";
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
const tasks = (count) => `${count.toLocaleString("en")} ${count === 1 ? "task" : "tasks"}`;

let shown; // the list: its tasks, and which of them are ticked
let unpick;
let everything = false; // all that the filters let through, not only what is ticked

export function startBulk(list, clear) {
  shown = list;
  unpick = clear;
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
  const isWhole = picked.size === shown.tasks.length && cursor;
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

async function run(verb) {
  const ids = chosen(verb);
  const asked = everything ? { where: where(), limit: MOST } : { ids: ids.slice(0, MOST) };
  try {
    const found = await ask("POST", "bulk", { body: { do: verb, ...asked, dry_run: true } });
    if (!found.found) {
      toast(`None of them can be ${VERBS[verb].done}`);
      return;
    }
    const { name, danger, after = "" } = VERBS[verb];
    const which = everything ? filterWords() : "";
    const text = found.is_all && (everything || ids.length <= MOST)
      ? `${tasks(found.found)}${which} will be ${VERBS[verb].done}.`
      : `The first ${tasks(found.found)}${which} will be ${VERBS[verb].done}. There are more: do it again for those.`;
    if (
      !(await confirm(
        `${name} ${tasks(found.found)}?`,
        text + after,
        `${name} ${tasks(found.found)}`,
        { danger },
      ))
    )
      return;
    report(verb, await ask("POST", "bulk", { body: { do: verb, ...asked } }));
    unpick();
  } catch (error) {
    complain(error);
  }
  tell("refresh");
}

function filterWords() {
  const said = [
    filters.action && `with the action ${filters.action}`,
    filters.prefix && `whose id starts with ${filters.prefix}`,
    filters.when && "in the stretch of time chosen",
  ];
  const given = said.filter(Boolean);
  return given.length ? ` ${given.join(", ")}` : "";
}

function report(verb, { changed, failures }) {
  const back = VERBS[verb].undo;
  const undo =
    back && changed.length
      ? async () => {
          try {
            const undone = await ask("POST", "bulk", { body: { do: back, ids: changed } });
            toast(`${tasks(undone.changed.length)} ${VERBS[back].done}`);
          } catch (error) {
            complain(error);
          }
          tell("refresh");
        }
      : undefined;
  if (changed.length) toast(`${tasks(changed.length)} ${VERBS[verb].done}`, { undo });
  if (failures.length) toast(`${tasks(failures.length)} could not be: ${failures[0].detail}`, { bad: true });
}
