// The bars of the timeline and their words.

import { h, number, refill } from "./dom.js";
import { clock, full, lateness, near, nearby } from "./time.js";

// Buckets of the past and of the future in one: the answers of `history` and `timeline` joined.

// From the bottom of a bar to its top.
export const KINDS = ["failed", "late", "done", "skipped", "waiting", "paused"];

const NOTHING = { done: 0, failed: 0, skipped: 0, lateness_max_ms: null };

export const total = (bucket) => KINDS.reduce((sum, kind) => sum + bucket[kind], 0);
export const ended = ({ done, failed, skipped }) => done + failed + skipped;

// Joins the counts to come with those of the past, which may not be there yet. If a new hour began between the
// two answers, their buckets are shifted.
export function joined(coming, history = []) {
  const byStart = new Map(history.map((bucket) => [bucket.start, bucket]));
  return coming.map(({ start, end, count, overdue, paused, occurrences, is_estimate: isEstimate }) => {
    const past = byStart.get(start) ?? NOTHING;
    return {
      ...{ ...NOTHING, ...past },
      ...{ start, end, occurrences, paused, late: overdue, waiting: count - overdue - paused },
      isEstimate: isEstimate || past.is_estimate === true,
    };
  });
}

// Joins every `size` buckets into one, if there is no room for each.
export function grouped(buckets, size) {
  if (size === 1) return buckets;
  return buckets.flatMap((_, at) => (at % size ? [] : [sum(buckets.slice(at, at + size))]));
}

function sum(buckets) {
  const add = (name) => buckets.reduce((counted, bucket) => counted + bucket[name], 0);
  const latest = Math.max(...buckets.map((bucket) => bucket.lateness_max_ms ?? -1));
  return {
    ...Object.fromEntries([...KINDS, "occurrences"].map((name) => [name, add(name)])),
    start: buckets[0].start,
    end: buckets.at(-1).end,
    lateness_max_ms: latest < 0 ? null : latest,
    isEstimate: buckets.some((bucket) => bucket.isEstimate),
  };
}

// The timeline in words: one bar, and all that is in view.


const NAMES = {
  done: "done",
  failed: "failed",
  skipped: "skipped",
  late: "late",
  waiting: "to run",
  paused: "of paused actions",
};
const MINUTE = 60000;

const dayOfWeek = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });

// 5 done, 1 failed, 24 to run: what there is of it.
function counts(bucket) {
  const about = bucket.isEstimate ? "about " : "";
  return Object.entries(NAMES)
    .filter(([kind]) => bucket[kind])
    .map(([kind, name]) => `${about}${number(bucket[kind])} ${name}`)
    .join(", ");
}

const late = ({ lateness_max_ms: most }) => (most === null ? "" : `, started ${lateness(most)} late at most`);

function when(bucket, step) {
  const [from, to] = [new Date(bucket.start), new Date(bucket.end)];
  if (step === "day") {
    const last = new Date(to - 1);
    return dayOfWeek.format(from) === dayOfWeek.format(last) ? dayOfWeek.format(from) : `${dayOfWeek.format(from)} to ${dayOfWeek.format(last)}`;
  }
  return to - from > (step === "minute" ? MINUTE : 60 * MINUTE) ? `${near(from)} to ${clock(to)}` : near(from);
}

const barWords = (bucket, step) =>
  `${when(bucket, step)}: ${total(bucket) ? counts(bucket) : "nothing"}${late(bucket)}`;

export function stripWords(buckets, isAll) {
  const all = sum(buckets);
  const span = `${near(new Date(all.start))} – ${near(new Date(all.end))}`;
  const more = isAll ? "" : "There is more history than was looked at. ";
  return `${span}: ${total(all) ? counts(all) : "nothing"}${late(all)}. ${more}`;
}

export function pickedWords(bucket, isHistory) {
  const from = `The list below shows ${nearby(new Date(bucket.start))} to ${nearby(new Date(bucket.end))}. `;
  if (isHistory)
    return ended(bucket)
      ? `${from}Occurrences of recurring tasks count here; they are listed with their task. `
      : from;
  const { occurrences } = bucket;
  if (!occurrences) return from;
  const many = occurrences === 1 ? "One later time of a recurring task counts" : `${number(occurrences)} later times of recurring tasks count`;
  return `${from}${many} here; such a task is listed at its next time. `;
}

// Bars: one button for each stretch of time, so that they can be reached and read without a mouse.


const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const isMidnight = (date) => !date.getHours() && !date.getMinutes();
const time = (date) => (isMidnight(date) ? day.format(date) : clock(date));
const dayNumber = (date) => Math.round((date - date.getTimezoneOffset() * 60000) / 86400000);

// Of each step: [its label, the number that is looked at, the intervals of these numbers that may be labelled].
const TICKS = {
  minute: [time, (date) => date.getMinutes(), [5, 10, 15, 30]],
  hour: [time, (date) => date.getHours(), [2, 3, 4, 6, 12, 24]],
  day: [(date) => day.format(date), dayNumber, [1, 2, 5, 7, 10, 14]],
};
const LABEL_PX = 60;

// The least round number that is no less: 1, 2, 4, 10, 20, 40, 100 …
function roundUp(count) {
  const power = 10 ** Math.floor(Math.log10(count));
  return [1, 2, 4, 10].find((factor) => factor * power >= count) * power;
}

const short = (count) => (count >= 1000 ? `${count / 1000}k` : String(count));

function scale(top) {
  const line = (count) => {
    const made = h("span.line", { "data-count": short(count) });
    made.style.setProperty("--share", String(count / top));
    return made;
  };
  return h("span.scale", { "aria-hidden": "true" }, line(top), top > 1 && line(top / 2), line(0));
}

// Labels within a bar come from the style: text would become part of the button's name.
function bar(bucket, index, top, { step, isLabelled, pick, isListed, now }) {
  const stack = h("span.stack");
  for (const kind of KINDS) {
    if (!bucket[kind]) continue;
    const piece = h(`span.piece.${kind}${bucket.isEstimate ? ".more" : ""}`);
    piece.style.setProperty("flex-grow", String(bucket[kind]));
    stack.append(piece);
  }
  stack.style.setProperty("--share", String(total(bucket) / top));
  const [start, end] = [new Date(bucket.start), new Date(bucket.end)];
  const label = barWords(bucket, step);
  const made = h(
    "button.column",
    {
      "aria-label": label,
      title: `${label}\n${full(start)} – ${full(end)}`,
      "aria-pressed": String(isListed(bucket)),
      "data-key": bucket.start,
      tabindex: index ? "-1" : "0",
      onclick: () => pick(bucket),
    },
    stack,
    isLabelled(start, index) && h("span.tick", { "data-label": TICKS[step][0](start) }),
  );
  if (start <= now && now < end) {
    const line = h("span.now", { "data-label": "now" });
    line.style.setProperty("--share", String((now - start) / (end - start)));
    made.append(line);
  }
  return made;
}

export const barsOf = (chart) => [...chart.querySelectorAll("button")];

function moveFocus(event) {
  const to = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  if (to === undefined) return;
  const bars = barsOf(event.currentTarget);
  const at = Math.min(bars.length - 1, Math.max(0, bars.indexOf(document.activeElement) + to));
  for (const one of bars) one.tabIndex = one === bars[at] ? 0 : -1;
  bars[at].focus();
  event.preventDefault();
}

// The scale is linear; what is there at all is some pixels high.
export function drawBars(chart, buckets, options) {
  const top = roundUp(Math.max(1, ...buckets.map(total)));
  const [, number, choices] = TICKS[options.step];
  const room = Math.max(2, Math.floor(chart.clientWidth / LABEL_PX));
  const group = (new Date(buckets[1]?.end ?? 0) - new Date(buckets[1]?.start ?? 0)) / STEP[options.step];
  const ofBar = Math.max(1, Math.round(group));
  const steps = buckets.length * ofBar;
  const every = choices.find((one) => steps / one <= room) ?? choices.at(-1);
  // The last ones would stand out of the chart.
  const last = buckets.length - (LABEL_PX * buckets.length) / Math.max(1, chart.clientWidth);
  const isLabelled = (date, index) => number(date) % every < ofBar && index <= last;
  const now = new Date();
  refill(
    chart,
    scale(top),
    buckets.map((bucket, index) => bar(bucket, index, top, { ...options, isLabelled, now })),
  );
  chart.className = options.step;
  chart.onkeydown = moveFocus;
}

const STEP = { minute: 60000, hour: 3600000, day: 86400000 };
