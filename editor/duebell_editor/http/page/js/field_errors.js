// What the API finds wrong, at the field that it is about and in the reader's time.

import { h } from "./dom.js";
import { blame, goTo } from "./field.js";
import { tell } from "./state.js";
import { full } from "./time.js";

const WORDS = {
  action: "The action",
  due: "The time",
  schedule: "The schedule",
  timezone: "The time zone",
  start: "The start",
  end: "The end",
  missed: "This",
  max_runs: "The number of runs",
  spread: "The spread",
  expires_after: "The expiry",
  priority: "The priority",
  payload: "The payload",
  id: "The id",
  if_exists: "This",
  at_most: "This",
  on_failed: "The action",
  then_action: "The action",
  then_after: "The time",
  then_payload: "The payload",
};

// The input of a field of the API, and the rest of the field's path.
function placeOf(field) {
  const [, name, rest] = /^(then\.\w+|\w+)(.*)$/s.exec(field) ?? [];
  return [name?.replace(".", "_"), rest];
}

const PYTHONS_TIME = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:\d\d)/g;
export const inViewersTime = (text) =>
  text.replace(PYTHONS_TIME, (_, day, clock) => full(new Date(`${day}T${clock}`)));

function taken(id) {
  const open = h("button.link", { type: "button", onclick: () => tell("open", id) }, "open that task");
  return ["This id is taken. Choose another, or ", open, "."];
}

// Says it at its field, and brings the reader there. False if it is about none that is shown.
export function blameFor(error, input) {
  const { type, field, reason, id } = error.document ?? {};
  const isTaken = type === "urn:duebell:task-exists";
  const [name, rest] = isTaken ? ["id"] : placeOf(field ?? "");
  const culprit = input[name];
  if (!culprit?.isConnected) return false;
  blame(culprit, ...(isTaken ? taken(id) : [`${WORDS[name]}${rest} ${inViewersTime(reason)}`]));
  goTo(culprit);
  return true;
}
