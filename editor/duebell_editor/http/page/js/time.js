// Times by the viewer's clock, in words and as they are typed.

import { byId, h } from "./dom.js";
import { limits } from "./state.js";

// Times in the viewer's zone, with UTC on hover; and how far away they are.


// The way times are shown, which this browser keeps: "local", "utc", or "relative". They are typed by the viewer's clock.
const KEPT = "duebell-times";
const isUtc = localStorage.getItem(KEPT) === "utc";
const isRelative = localStorage.getItem(KEPT) === "relative";

// The page is loaded again: times are all over it.
export function startTimes() {
  const select = byId("times");
  select.value = localStorage.getItem(KEPT) ?? "local";
  select.addEventListener("change", () => {
    localStorage.setItem(KEPT, select.value);
    location.reload();
  });
}

const HOURS = { hour: "2-digit", minute: "2-digit" };
const format = (options) => new Intl.DateTimeFormat(undefined, { ...options, timeZone: isUtc ? "UTC" : undefined });
const dateAndTime = format({ dateStyle: "medium", timeStyle: "medium" });
const shortTime = format(HOURS);
const ownTime = new Intl.DateTimeFormat(undefined, HOURS);
const weekday = format({ weekday: "short", day: "numeric", month: "short" });
const withYear = format({ day: "numeric", month: "short", year: "numeric" });
const inWords = new Intl.RelativeTimeFormat("en", { numeric: "always" });

export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const inUtc = isUtc ? " UTC" : "";
export const full = (date) => dateAndTime.format(date) + inUtc;
export const clock = (date) => shortTime.format(date) + inUtc;

// A time by the clocks of another time zone; null if the browser does not know it.
export function inZone(date, timeZone) {
  try {
    return new Intl.DateTimeFormat(undefined, {
      ...{ weekday: "short", hour: "2-digit", minute: "2-digit", timeZone },
    }).format(date);
  } catch {
    return null;
  }
}

const UNITS = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

// Minutes and hours get five seconds before they are rounded down: "in 10 minutes" stays until 9 min 55 s.
const slack = (size) => (size === 60 || size === 3600 ? 5 : 0);

export function relative(date) {
  const seconds = Math.round((date - Date.now()) / 1000);
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) + slack(least) >= least) ?? ["second", 1];
  const count = (Math.abs(seconds) + slack(size)) / size;
  return inWords.format(Math.sign(seconds) * (size > 3600 ? Math.round(count) : Math.trunc(count)), unit);
}

const dayOf = (date) => Math.floor((date - (isUtc ? 0 : date.getTimezoneOffset()) * 60000) / 86400000);

// Today 14:30 · Tomorrow 09:00 · Mon, 5 Jan 09:00 · 31 Dec 2027 00:00
export function near(date) {
  const days = dayOf(date) - dayOf(new Date());
  if (days === 0) return `Today ${clock(date)}`;
  if (days === 1) return `Tomorrow ${clock(date)}`;
  if (days === -1) return `Yesterday ${clock(date)}`;
  return `${(Math.abs(days) < 300 ? weekday : withYear).format(date)} ${clock(date)}`;
}

// The same in the middle of a sentence.
export const nearby = (date) =>
  near(date).replace(/^(Today|Tomorrow|Yesterday) /, (_, word) => `${word.toLowerCase()} at `);

export function time(iso, { words = true, inside = false } = {}) {
  const date = new Date(iso);
  const own = isUtc ? `${toLocalInput(date).replace("T", " ")} (${ZONE})` : `${full(date)} (${ZONE})`;
  const shown = h(
    "time",
    { datetime: iso, title: `${own}\n${iso.replace("T", " ").replace(/(\.000)?Z$/, "")} UTC` },
    isRelative ? null : h("span", { [inside ? "data-nearby" : "data-near"]: iso }, inside ? nearby(date) : near(date)),
  );
  if (isRelative) shown.append(h("span", { "data-relative": iso }, relative(date)));
  else if (words) shown.append(" ", h("small", { "data-relative": iso }, relative(date)));
  return shown;
}

export function lateness(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const [most, ...others] = partsOf(Math.ceil(seconds));
  return saidAs([most, ...others.filter(([, size]) => size * 60 >= most[1])].slice(0, 2));
}

// A length of time that somebody chose, as it is said: 1 h, 1 day 12 h, 1 min 30 s, 0.5 s.
export function duration(seconds) {
  const whole = Math.trunc(seconds);
  const rest = Math.round((seconds - whole) * 1000) / 1000;
  const parts = partsOf(whole);
  if (!rest) return saidAs(parts);
  const [last] = parts.slice(-1);
  const isLast = last?.[1] === 1;
  return saidAs([...(isLast ? parts.slice(0, -1) : parts), [(isLast ? last[0] : 0) + rest, 1]]);
}

const SIZES = [86400, 3600, 60, 1];
const SIGNS = { 3600: "h", 60: "min", 1: "s" };

// How many days, hours, minutes and seconds, each with its length in seconds; none that is zero.
function partsOf(seconds) {
  let left = seconds;
  return SIZES.map((size) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return [count, size];
  }).filter(([count]) => count);
}

const saidAs = (parts) =>
  parts
    .map(([count, size]) => `${count.toLocaleString("en")} ${SIGNS[size] ?? (count === 1 ? "day" : "days")}`)
    .join(" ");

// For <input type="datetime-local">, which knows no zone: the viewer's.
export function toLocalInput(date) {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60000);
  return shifted.toISOString().slice(0, 19);
}

export function tickTimes() {
  for (const [name, said] of Object.entries({ relative, near, nearby })) {
    for (const shown of document.querySelectorAll(`[data-${name}]`)) {
      const words = said(new Date(shown.dataset[name]));
      if (shown.textContent !== words) shown.textContent = words;
    }
  }
}

// Times of the viewer's own clock, which is set back and forward: some come twice, and some never.


const DAY = 86400000;
const MINUTE = 60000;
const named = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });

// The instants that the text of an <input type="datetime-local"> can mean: one, two or none.
function instantsOf(text) {
  const wall = Date.parse(`${text}Z`);
  if (Number.isNaN(wall)) return [];
  const offsets = [wall - DAY, wall + DAY].map((about) => new Date(about).getTimezoneOffset());
  return [...new Set(offsets)]
    .map((offset) => new Date(wall + offset * MINUTE))
    .filter((instant) => Date.parse(`${toLocalInput(instant)}Z`) === wall)
    .sort((one, other) => one - other);
}

function fromUtc(date) {
  const minutes = -date.getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

// 02:30 CEST (UTC+2); where the zone has no letters of its own: 02:30 (UTC+2)
function clockAndZone(date) {
  const name = named.formatToParts(date).find(({ type }) => type === "timeZoneName").value;
  const letters = /^(GMT|UTC)[+-]/.test(name) ? "" : ` ${name}`;
  return `${ownTime.format(date)}${letters} (${fromUtc(date)})`;
}

// A field for a point in time, by the viewer's clock. A value that is not touched stays the same instant.


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

  // While the text is unchanged, so is the instant: it may be the second one of an hour that comes twice.
  const isUnchanged = () => original && input.value === asShown;

  function draw() {
    const found = instantsOf(input.value);
    const asRead = new Date(input.value);
    if (isUnchanged() || found.length === 1 || Number.isNaN(asRead.getTime())) note.replaceChildren();
    else if (found.length)
      note.replaceChildren(
        `The clocks are set back then, and ${ownTime.format(found[0])} comes twice. The first is taken: ${clockAndZone(found[0])}.`,
      );
    else
      note.replaceChildren(
        `The clocks are set forward then, and there is no such time. It becomes ${clockAndZone(asRead)}.`,
      );
  }

  function read() {
    if (isUnchanged()) return original;
    const instant = instantsOf(input.value)[0] ?? new Date(input.value);
    return Number.isNaN(instant.getTime()) ? null : instant.toISOString();
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
