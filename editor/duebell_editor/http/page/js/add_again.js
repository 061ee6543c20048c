// Adding a task once more: like it was, under another id, in an hour.

const MADE_UP = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_ID = 256;

// But for one whose payload was not kept.
export const canBeAddedAgain = ({ status, recurrence, payload_dropped: dropped }) =>
  dropped === null &&
  (["cancelled", "done"].includes(status) || (["failed", "expired"].includes(status) && !recurrence));

// sale-again of sale, sale-again-2 of sale-again; none of an id that was made up, another of which is.
export function anotherId(id) {
  if (MADE_UP.test(id)) return "";
  const [, name, count] = /^(.+)-again(?:-(\d+))?$/s.exec(id) ?? [];
  const another = name === undefined ? `${id}-again` : `${name}-again-${Number(count ?? 1) + 1}`;
  return another.length > MAX_ID ? "" : another;
}
