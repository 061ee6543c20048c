// Failed tasks in groups, by action and error: above the list of what failed.

import { get } from "./api.js";
import { byId, h, isReadOnly, refill } from "./dom.js";
import { changeFound, changeNamed } from "./rows.js";
import { constants, filters, on, setFilters } from "./state.js";
import { time } from "./time.js";

let found = null;
let latest = 0;
let trouble = "";

const isOfFailures = () => filters.status === "failed";

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
    h("span.last", {}, time(group.last_at)),
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
  box.hidden = !isOfFailures() || !(found?.groups.length || trouble);
  if (box.hidden) return;
  refill(
    box,
    trouble && h("p.wrong", {}, `The groups cannot be shown: ${trouble}`),
    found?.groups.length > 0 &&
      h("ul", { "aria-label": "Failures by action and error" }, ...found.groups.map(row)),
    found && !found.is_all && h("p.quiet", {}, `More tasks have failed: these are the ${constants.failures} latest.`),
  );
}

export async function refreshFailures() {
  if (!isOfFailures()) return;
  const mine = (latest += 1);
  try {
    const news = await get("failures");
    if (mine !== latest) return;
    [found, trouble] = [news, ""];
  } catch (error) {
    if (mine !== latest) return;
    if (!found) trouble = error.message;
    throw error;
  } finally {
    if (mine === latest) draw();
  }
}

export function startFailures() {
  let was = isOfFailures();
  on("filters", () => {
    draw();
    if (isOfFailures() && !was) refreshFailures().catch(() => {}); // it is said in its place
    was = isOfFailures();
  });
}
