// A field for a point in time, by the viewer's clock. What is not touched stays the very instant it was.

import { h } from "./dom.js";
import { limits } from "./limits.js";
import { clockAndZone, instantsOf } from "./local_time.js";
import { clock, toLocalInput } from "./time.js";

// Before the first, a year is most likely a typing error; after the last, no rule can ring.
const FIRST = "1970-01-01T00:00:00.000Z";
const LAST = new Date(limits("NewTask", "due").formatMaximum).toISOString();

export const YEARS = `${FIRST.slice(0, 4)} to ${LAST.slice(0, 4)}`;

// Years beyond 9999 and before 0 begin with a sign, which sorts before them all.
export const isInYears = (iso) => iso >= FIRST && iso <= LAST;

let count = 0;

// For field(): `input` and the `note` under it. `read` gives the instant as ISO text, or null.
export function moment(name, iso = null) {
  count += 1;
  const input = h("input", {
    type: "datetime-local",
    name,
    step: "1",
    min: FIRST.slice(0, 19),
    max: LAST.slice(0, 19),
    autocomplete: "off",
  });
  const note = h("div.clock", { id: `clock-${count}`, "aria-live": "polite" });
  let original; // ISO text
  let asShown; // what the input makes of it

  const isOriginal = (instant) =>
    input.value === asShown &&
    original &&
    Math.trunc(instant / 1000) === Math.trunc(Date.parse(original) / 1000);

  function twice(found) {
    const chosen = Math.max(0, found.findIndex(isOriginal));
    const choice = (instant, index) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: `${name}-which`,
          value: String(index),
          checked: index === chosen,
        }),
        clockAndZone(instant),
      );
    return h(
      "fieldset.segments",
      {},
      h("legend", {}, `The clocks are set back then, and ${clock(found[0])} comes twice. Which one?`),
      ...found.map(choice),
    );
  }

  function draw() {
    const found = instantsOf(input.value);
    const asRead = new Date(input.value);
    if (found.length > 1) note.replaceChildren(twice(found));
    else if (found.length || Number.isNaN(asRead.getTime())) note.replaceChildren();
    else
      note.replaceChildren(
        `The clocks are set forward then, and there is no such time. It becomes ${clockAndZone(asRead)}.`,
      );
  }

  function read() {
    const chosen = Number(note.querySelector(":checked")?.value ?? 0);
    const instant = instantsOf(input.value)[chosen] ?? new Date(input.value);
    if (Number.isNaN(instant.getTime())) return null;
    return isOriginal(instant) ? original : instant.toISOString();
  }

  function set(given) {
    original = given;
    input.value = given ? toLocalInput(new Date(given)) : "";
    asShown = input.value;
    draw();
  }

  input.addEventListener("input", draw);
  set(iso);
  return { input, note, read, set };
}
