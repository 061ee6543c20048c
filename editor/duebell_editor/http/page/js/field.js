// Inputs of forms, and what the API finds wrong with them.

import { h } from "./dom.js";
import { row } from "./kinds.js";
import { tell } from "./state.js";
import { full } from "./time.js";

// A field of a form: its label, what it is for, and what is wrong with it, all tied together.


let count = 0;

export function field(text, input, { hint, note } = {}) {
  count += 1;
  input.id = `field-${count}`;
  const said = hint && h("small", { id: `${input.id}-hint` }, hint);
  const wrong = h("p.wrong", { id: `${input.id}-wrong` });
  const about = [wrong, note, said].filter(Boolean).map((one) => one.id);
  input.setAttribute("aria-describedby", about.join(" "));
  return h("div.field", {}, h("label", { for: input.id }, text), input, said, note, wrong);
}

const wrongOf = (input) => input.closest(".field")?.querySelector(".wrong");

// Says what is wrong with a field, under it.
export function blame(input, ...reason) {
  input.setAttribute("aria-invalid", "true");
  wrongOf(input)?.replaceChildren(...reason);
  input.closest("details")?.setAttribute("open", "");
}

// Brings the reader to a field, its label and what is wrong included.
export function goTo(input) {
  input.focus({ preventScroll: true });
  (input.closest(".field") ?? input).scrollIntoView({ block: "nearest" });
}

export function forgive(input) {
  input.removeAttribute("aria-invalid");
  wrongOf(input)?.replaceChildren();
}

// What the API finds wrong, at the field that it is about and in the reader's time.


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
