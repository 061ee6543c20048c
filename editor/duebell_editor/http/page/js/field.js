// A field of a form: its label, what it is for, and what is wrong with it, all tied together.

import { h } from "./dom.js";

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
