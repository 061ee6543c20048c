"use strict";

const REFRESH_MS = 3000;

const byId = (id) => document.getElementById(id);

// Whatever comes from the API goes into the page as text, never as markup.
function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

async function fetchJson(path) {
  const response = await fetch(path, { cache: "no-store" }).catch(() => {
    throw new Error("the server does not answer.");
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail);
  return body;
}

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function relative(date) {
  const seconds = (date - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relativeFormat.format(Math.round(seconds / size), unit);
}

function time(iso) {
  const date = new Date(iso);
  const made = element("time", dateFormat.format(date));
  made.dateTime = iso;
  made.title = iso;
  made.append(" ", element("small", relative(date)));
  return made;
}

function showStatus(status) {
  byId("health").replaceChildren(
    status.healthy ? element("span", "healthy", "badge done") : element("span", "needs attention", "badge failed"),
  );
  byId("problems").replaceChildren(...status.problems.map((problem) => element("li", `${problem.what}: ${problem.way_out}`)));
  byId("problems").hidden = status.healthy;
  const facts = [
    ["Rings", status.rings_at ? time(status.rings_at) : "parked"],
    ["Next due", status.next_due ? time(status.next_due) : "nothing"],
    ["Name", status.enabled ? status.rule : `${status.rule} (disabled)`],
    ["Running", status.running ? `${status.running} of ${status.lanes} lanes` : "nothing"],
  ];
  byId("rule").replaceChildren(
    ...facts.map(([name, value]) => {
      const pair = element("div");
      const definition = element("dd");
      definition.append(value);
      pair.append(element("dt", name), definition);
      return pair;
    }),
  );
}

function taskRow(task) {
  const row = element("tr");
  const due = element("td", "", "due");
  due.append(time(task.due));
  const status = element("td", "", "state");
  status.append(element("span", task.status, `badge ${task.status}`));
  if (task.attempt > 0) status.append(" ", element("small", `attempt ${task.attempt}`));
  row.append(due, element("td", task.id, "name"), element("td", task.action, "action"), status);
  return row;
}

function showQueue(page) {
  byId("queue").tBodies[0].replaceChildren(...page.tasks.map(taskRow));
  byId("queue").hidden = page.tasks.length === 0;
  byId("note").textContent = page.cursor
    ? `The first ${page.tasks.length} are shown; there are more.`
    : page.tasks.length ? "" : "Nothing waits. Add a task with the library, with duebell add, or over the API.";
}

function showAlert(text) {
  if (byId("alert").textContent !== text) byId("alert").textContent = text;
  byId("alert").hidden = text === "";
}

async function refresh() {
  if (!document.hidden) {
    try {
      const [status, page] = await Promise.all([fetchJson("/api/status"), fetchJson("/api/tasks")]);
      showStatus(status);
      showQueue(page);
      showAlert("");
    } catch (error) {
      showAlert(`What is shown may be out of date: ${error.message}`);
    }
  }
  setTimeout(refresh, REFRESH_MS);
}

refresh();
