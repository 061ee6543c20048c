// Failed tasks in groups, by action and error: a few of them, or all above the list of failed tasks.

import { get } from "./api.js";
import { byId, h, isReadOnly, refill } from "./dom.js";
import { changeFound, changeNamed } from "./rows.js";
import { constants, filters, on, setFilters } from "./state.js";
import { current, failedIn } from "./status.js";
import { time } from "./time.js";

const FEW = 3; // as long as the list is of other tasks

let found = null;
let latest = 0;
let trouble = "";

const isOfFailures = () => filters.status === "failed";
const isWanted = () => isOfFailures() || failedIn(current() ?? { failed: null }) > 0;

const count = (group) => group.failed + group.failing.length;
const isPicked = (group) => filters.action === group.action && filters.error === group.error;

function show(group) {
  const picked = isPicked(group);
  setFilters({ action: picked ? "" : group.action, error: picked ? "" : (group.error ?? "") });
}

function row(group) {
  const name = `${group.action}: ${group.error ?? "no error"}`;
  const where = { status: ["failed"], action: group.action, ...(group.error && { error: group.error }) };
  const button = (key, label, onclick) =>
    h("button.small", { "data-key": `${key} ${name}`, onclick, "aria-label": `${label} of ${name}` }, label);
  return h(
    "li",
    { "aria-current": isPicked(group) ? "true" : null },
    h("span.count", {}, count(group).toLocaleString("en")),
    h("button.link", { "data-key": `group ${name}`, onclick: () => show(group) }, name),
    h("span.why", { title: group.message }, group.message),
    time(group.last_at),
    h(
      "span.do",
      {},
      !isReadOnly &&
        group.failed > 0 &&
        button("retry", `Retry ${group.failed.toLocaleString("en")}`, () => changeFound("retry", where)),
      !isReadOnly &&
        group.failing.length > 0 &&
        button("run", `Run ${group.failing.length} now`, () => changeNamed("run_now", group.failing)),
    ),
  );
}

function draw() {
  const box = byId("failures");
  box.hidden = !isWanted() || !(found?.groups.length || trouble);
  if (box.hidden) return;
  const groups = found?.groups ?? [];
  const shown = isOfFailures() ? groups : groups.slice(0, FEW);
  const showAll = () => setFilters({ status: "failed", action: "", error: "" });
  refill(
    box,
    h("h2.unseen", { id: "failures-heading" }, "Failures"),
    trouble && h("p.wrong", {}, `The groups cannot be shown: ${trouble}`),
    groups.length > 0 && h("ul", {}, ...shown.map(row)),
    groups.length > shown.length &&
      h("button.small", { "data-key": "all groups", onclick: showAll }, `Show all ${groups.length} groups`),
    found && !found.is_all && h("p.quiet", {}, `More tasks have failed: these are the ${constants.failures} latest.`),
  );
}

export async function refreshFailures() {
  if (!isWanted()) return draw();
  const mine = (latest += 1);
  try {
    const news = await get("failures");
    if (mine !== latest) return undefined;
    [found, trouble] = [news, ""];
  } catch (error) {
    if (mine !== latest) return undefined;
    if (!found) trouble = error.message;
    throw error;
  } finally {
    if (mine === latest) draw();
  }
  return undefined;
}

// They are read once the status or the filters ask for them; then whenever something changes.
export function startFailures() {
  let was = false;
  const look = () => {
    draw();
    if (isWanted() && !was) refreshFailures().catch(() => {}); // it is said in its place
    was = isWanted();
  };
  on("filters", look);
  on("status", look);
}
