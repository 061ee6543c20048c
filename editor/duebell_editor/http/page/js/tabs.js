// The list by status, with how many there are of each.

import { get } from "./api.js";
import { byId, h, press, refill } from "./dom.js";
import { ANY, ANY_FINISHED, filters, isById, on, setFilters } from "./state.js";
import { counted, current, failedIn } from "./status.js";

// [status, name, how many]; the past's counts come with a request of their own.
const TABS = [
  ["", "In the queue", (status) => status?.queued],
  ["running", "Running", (status) => status?.running],
  ["paused", "Paused", (_, past) => past?.paused],
  ["failed", "Failed", (status) => status && failedIn(status)],
  ["done", "Done", (_, past) => past?.done],
  ["expired", "Expired", (_, past) => past?.expired],
  ["cancelled", "Cancelled", (_, past) => past?.cancelled],
  [ANY_FINISHED, "All ended", () => undefined],
];

let past = null;

function tab([status, name, count]) {
  const found = count(current(), past);
  const made = h(
    "button",
    { type: "button", "data-status": status, "data-key": `tab ${status}`, onclick: () => pick(status) },
    name,
    found !== undefined && found !== null && " ",
    found !== undefined &&
      found !== null &&
      h(`span.count${status === "failed" && found ? ".bad" : ""}`, {}, counted(found)),
  );
  press(made, filters.status === status);
  return made;
}

const pick = (status) => setFilters({ status, ...(status === "failed" ? {} : { error: "" }) });

const SEARCH = [ANY, "Any status", () => undefined];

const draw = () => refill(byId("tabs"), [...(isById() ? [SEARCH] : []), ...TABS].map(tab));

export async function refreshCounts() {
  past = await get("counts");
  draw();
}

export function startTabs() {
  on("status", draw);
  on("filters", () => {
    draw();
    const picked = byId("tabs").querySelector('[aria-pressed="true"]');
    if (picked) byId("tabs").scrollLeft = picked.offsetLeft - picked.offsetWidth / 2;
  });
  draw();
}
