// What the API finds wrong, at the field that it is about and in the reader's time.

import { h } from "./dom.js";
import { blame, goTo } from "./field.js";
import { tell } from "./state.js";
import { row } from "./task_fields.js";
import { full } from "./time.js";

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
  blame(culprit, ...(isTaken ? taken(id) : [`“${row(name).title}${rest}” ${inViewersTime(reason)}`]));
  goTo(culprit);
  return true;
}
