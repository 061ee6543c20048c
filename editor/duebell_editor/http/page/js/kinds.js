// The kinds of fields of the form: for each its widget, how it is read, and what can be wrong with it.

import { get } from "./api.js";
import { byId, h } from "./dom.js";
import { YEARS, isInYears, moment } from "./moment.js";
import { doubleKey, pretty } from "./payload.js";

const SPANS = { 86400: " (a day)", 3155760000: " (a century)" };
const FEW = 20; // numbers that are chosen, not written

// Those that the server knows, not the browser: schedules are read by the server and the worker.
function zones() {
  if (!byId("zones")) {
    const list = h("datalist", { id: "zones" });
    document.body.append(list);
    get("timezones")
      .then(({ names }) => list.append(...names.map((name) => h("option", { value: name }))))
      .catch(() => list.remove()); // the next form asks again; until then, a name can be typed
  }
  return "zones";
}

const text = (name, properties) =>
  h("input", { name, autocomplete: "off", spellcheck: "false", ...properties });
const numeric = (name, properties) => text(name, { type: "number", inputmode: "decimal", ...properties });
const select = (name, values, value) =>
  h("select", { name }, ...values.map((one) => h("option", { value: String(one), selected: one === value }, String(one))));

const words = (value) => value.trim() || null;
const number = (value) => (value === "" ? null : Number(value));

const unprintable = (row, value) =>
  value && /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}/u.test(value) ? "Only printable characters can be in it." : null;

function seconds({ limits: { minimum, maximum }, unset }, value) {
  if (value === null || (value >= minimum && value <= maximum)) return null;
  const most = `${maximum.toLocaleString("en")} seconds${SPANS[maximum] ?? ""}`;
  return `Give ${minimum} to ${most}, or nothing for ${unset}.`;
}

function whole({ limits: { minimum, maximum } }, value) {
  if (value === null || (Number.isInteger(value) && value >= minimum && value <= maximum)) return null;
  return `Give a whole number, ${minimum} ${value > maximum ? `to ${maximum.toLocaleString("en")}` : "or more"}.`;
}

function wrongJson(row, value) {
  if (value === null) return null;
  try {
    JSON.parse(value);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  const key = doubleKey(value);
  return key === null
    ? null
    : `“${key}” is there twice, and only the last would count. Take one of them away.`;
}

export const outOfTime = (iso) =>
  iso === null || isInYears(iso) ? null : `Give a time in the years ${YEARS}.`;

const longest = ({ limits: { maxLength } }) => (maxLength === undefined ? undefined : String(maxLength));

// `widget` makes an input that shows the value, or a moment; `read` gives null where nothing is written.
export const KINDS = {
  text: {
    widget: (row, value) => text(row.name, { maxlength: longest(row), value: value ?? "" }),
    read: words,
    check: unprintable,
  },
  action: {
    widget: (row, value) => text(row.name, { list: "actions", maxlength: longest(row), value: value ?? "" }),
    read: words,
    check: unprintable,
  },
  zone: { widget: ({ name }, value) => text(name, { list: zones(), value: value ?? "" }), read: words },
  time: { widget: ({ name }, value) => moment(name, value ?? null), check: (row, iso) => outOfTime(iso) },
  duration: {
    widget: ({ name }, value) => numeric(name, { min: "0", step: "any", value: value || "" }),
    read: (value) => number(value) || null,
    check: seconds,
  },
  number: {
    widget: ({ name, limits: { minimum, maximum } }, value) =>
      maximum > FEW
        ? numeric(name, { min: String(minimum), value: value ?? "" })
        : select(name, Array.from({ length: maximum - minimum + 1 }, (_, n) => minimum + n), value ?? minimum),
    read: number,
    check: whole,
  },
  choice: { widget: ({ name, limits }, value) => select(name, limits.enum, value), read: words },
  json: {
    widget: ({ name }, value) => h("textarea", { name, rows: "4", spellcheck: "false" }, value ? pretty(value) : ""),
    read: words,
    check: wrongJson,
  },
};
