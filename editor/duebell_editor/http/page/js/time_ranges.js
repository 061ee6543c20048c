// Stretches of time that the list can be narrowed to, from where the viewer is in time.

import { constants } from "./limits.js";

const HOUR = 3600000;

const day = (now, days) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days);
const later = (now, hours) => new Date(now.getTime() + hours * HOUR);

// Tasks that should have started are overdue: some minutes later, or at once if the ring for them brought no run.
let isRingMissed = false;
export function setRingMissed(is) {
  isRingMissed = is;
}
const late = (now) => (isRingMissed ? now : new Date(now - constants.overdue_ms));

// The end of the night, as the server counts it for the viewer's zone.
function morning(now) {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate(), constants.morning);
  return today > now ? today : new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, constants.morning);
}

// [name, first moment, moment behind the last]; null for no bound.
const COMING = {
  overdue: ["Overdue", () => null, late],
  tonight: [`Tonight, until 0${constants.morning}:00`, late, morning],
  hour: ["Next hour", (now) => now, (now) => later(now, 1)],
  today: ["Today", (now) => day(now, 0), (now) => day(now, 1)],
  tomorrow: ["Tomorrow", (now) => day(now, 1), (now) => day(now, 2)],
  week: ["Next 7 days", (now) => now, (now) => later(now, 7 * 24)],
};
const PAST = {
  hour: ["Last hour", (now) => later(now, -1), (now) => now],
  today: ["Today", (now) => day(now, 0), (now) => day(now, 1)],
  yesterday: ["Yesterday", (now) => day(now, -1), (now) => day(now, 0)],
  week: ["Last 7 days", (now) => later(now, -7 * 24), (now) => now],
};

export const BETWEEN = "between";

const presets = (isHistory) => (isHistory ? PAST : COMING);

// What can be chosen from: [value, name].
export const choices = (isHistory) => [
  ["", "Any time"],
  ...Object.entries(presets(isHistory)).map(([value, [name]]) => [value, name]),
  [BETWEEN, "Between…"],
];

const iso = (date) => date?.toISOString() ?? "";

// The bounds of a choice, both included as the API has them; empty where there is none.
export function bounds({ when, after, before }, isHistory) {
  if (when === BETWEEN) return { after, before };
  const [, first, behind] = presets(isHistory)[when] ?? ["", () => null, () => null];
  const now = new Date();
  const end = behind(now);
  return { after: iso(first(now)), before: iso(end && new Date(end - 1)) };
}
