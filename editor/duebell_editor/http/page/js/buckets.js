// Buckets of the past and of the future in one: the answers of `history` and `timeline` joined.

// From the bottom of a bar to its top.
export const KINDS = ["failed", "late", "done", "skipped", "waiting"];

const NOTHING = { done: 0, failed: 0, skipped: 0, lateness_median_ms: null, lateness_max_ms: null };

export const total = (bucket) => KINDS.reduce((sum, kind) => sum + bucket[kind], 0);
export const ended = ({ done, failed, skipped }) => done + failed + skipped;

// Both were asked for the same buckets; history may not be there yet, or not be asked for.
export function joined(coming, history) {
  return coming.map(({ start, end, count, overdue, paused, occurrences, is_estimate: isEstimate }, at) => {
    const past = history?.[at]?.start === start ? history[at] : NOTHING;
    return {
      ...{ ...NOTHING, ...past },
      ...{ start, end, occurrences, paused, late: overdue, waiting: count - overdue },
      isEstimate: isEstimate || past.is_estimate === true,
    };
  });
}

// Joins every `size` buckets into one, if there is no room for each.
export function grouped(buckets, size) {
  if (size === 1) return buckets;
  return buckets.flatMap((_, at) => (at % size ? [] : [sum(buckets.slice(at, at + size))]));
}

export function sum(buckets) {
  const add = (name) => buckets.reduce((counted, bucket) => counted + bucket[name], 0);
  const latest = Math.max(...buckets.map((bucket) => bucket.lateness_max_ms ?? -1));
  return {
    ...Object.fromEntries([...KINDS, "occurrences", "paused"].map((name) => [name, add(name)])),
    start: buckets[0].start,
    end: buckets.at(-1).end,
    lateness_median_ms: null,
    lateness_max_ms: latest < 0 ? null : latest,
    isEstimate: buckets.some((bucket) => bucket.isEstimate),
  };
}
