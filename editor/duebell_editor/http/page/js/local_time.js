// Times of the viewer's own clock, which is set back and forward: some come twice, and some never.

import { clock, toLocalInput } from "./time.js";

const DAY = 86400000;
const MINUTE = 60000;
const named = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });

// The instants that the text of an <input type="datetime-local"> can mean: one, two or none.
export function instantsOf(text) {
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
export function clockAndZone(date) {
  const name = named.formatToParts(date).find(({ type }) => type === "timeZoneName").value;
  const letters = /^(GMT|UTC)[+-]/.test(name) ? "" : ` ${name}`;
  return `${clock(date)}${letters} (${fromUtc(date)})`;
}
