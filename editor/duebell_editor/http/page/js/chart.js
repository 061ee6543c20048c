// Bars: one button for each stretch of time, so that they can be reached and read without a mouse.

import { h, refill } from "./dom.js";
import { clock, full, lateness, near } from "./time.js";

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const month = new Intl.DateTimeFormat(undefined, { month: "short" });

const LABEL = {
  minute: clock,
  hour: clock,
  day: (date) => day.format(date),
  month: (date) => month.format(date),
};
const EVERY = { minute: 10, hour: 4, day: 5, month: 2 };
const isNarrow = matchMedia("(max-width: 40rem)");
const MINUTE = 60000;

const parts = (bucket) =>
  "count" in bucket
    ? { waiting: bucket.count }
    : { done: bucket.done, failed: bucket.failed, skipped: bucket.skipped };

function late({ lateness_median_ms: half, lateness_max_ms: most }) {
  if (most === null) return "";
  if (half === null || half === most) return `, started ${lateness(most)} late at most`;
  return `, half of them started within ${lateness(half)} of their time, all within ${lateness(most)}`;
}

function words(bucket, step) {
  const from = new Date(bucket.start);
  const when =
    step === "month"
      ? new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" }).format(from)
      : step === "day"
        ? day.format(from)
        : step === "minute" && new Date(bucket.end) - from > MINUTE
          ? `${near(from)} to ${clock(new Date(bucket.end))}`
          : near(from);
  if ("count" in bucket) {
    const count = `${bucket.is_estimate ? "about " : ""}${bucket.count.toLocaleString("en")}`;
    return `${when}: ${count} ${bucket.count === 1 ? "task" : "tasks"}`;
  }
  return `${when}: ${bucket.done} done, ${bucket.failed} failed, ${bucket.skipped} skipped${late(bucket)}`;
}

function bar(bucket, index, most, { step, every, pick, isListed }) {
  const counts = parts(bucket);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const stack = h("span.stack");
  for (const [name, count] of Object.entries(counts)) {
    if (!count) continue;
    const piece = h(`span.piece.${name}${bucket.is_estimate ? ".more" : ""}`);
    piece.style.setProperty("flex-grow", String(count));
    stack.append(piece);
  }
  // The square root lets a single task be seen beside thousands.
  stack.style.setProperty("--share", String(Math.sqrt(total / most)));
  const label = words(bucket, step);
  const start = new Date(bucket.start);
  const isLabelled = index % every === 0;
  return h(
    "button.column",
    {
      "aria-label": label,
      title: `${label}\n${full(start)} – ${full(new Date(bucket.end))}`,
      "aria-pressed": String(isListed(bucket)),
      "data-key": bucket.start,
      tabindex: index ? "-1" : "0",
      onclick: () => pick(bucket),
    },
    total > 0 &&
      h(
        "span.number",
        { "aria-hidden": "true" },
        `${bucket.is_estimate ? "≈" : ""}${total >= 1000 ? `${Math.round(total / 100) / 10}k` : total}`,
      ),
    stack,
    h("span.tick", { "aria-hidden": "true" }, isLabelled ? LABEL[step](start) : ""),
  );
}

function moveFocus(event) {
  const to = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  if (to === undefined) return;
  const bars = [...event.currentTarget.children];
  const at = Math.min(bars.length - 1, Math.max(0, bars.indexOf(document.activeElement) + to));
  for (const one of bars) one.tabIndex = one === bars[at] ? 0 : -1;
  bars[at].focus();
  event.preventDefault();
}

export function drawBars(chart, buckets, options) {
  const most = Math.max(
    1,
    ...buckets.map((bucket) => Object.values(parts(bucket)).reduce((sum, count) => sum + count, 0)),
  );
  const { step } = options;
  const isPaired = step === "minute" && buckets.length <= 30;
  const every = isPaired ? EVERY[step] / 2 : EVERY[step] * (isNarrow.matches && step === "hour" ? 2 : 1);
  refill(
    chart,
    buckets.map((bucket, index) => bar(bucket, index, most, { ...options, every })),
  );
  chart.className = options.step;
  chart.onkeydown = moveFocus;
}
