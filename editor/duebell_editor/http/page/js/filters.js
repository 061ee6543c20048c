// The form above the list: which of the tasks to show.

import { byId, debounce, h } from "./dom.js";
import { limits } from "./limits.js";
import { ANY, filters, isHistory, on, setFilters } from "./state.js";
import { toLocalInput } from "./time.js";
import { BETWEEN, choices } from "./time_ranges.js";

const MILLISECOND = 1;

const local = (iso, shift = 0) => iso && toLocalInput(new Date(Date.parse(iso) + shift)).slice(0, 16);
const iso = (text, shift = 0) => text && new Date(new Date(text).getTime() + shift).toISOString();

// The last moment is included for the API; people say the one behind it.
const UNTIL = { from: (text) => iso(text, -MILLISECOND), to: (instant) => local(instant, MILLISECOND) };

function read() {
  const { action, by, search, when, after, before } = byId("filters").elements;
  const between =
    when.value === BETWEEN ? { after: iso(after.value), before: UNTIL.from(before.value) } : {};
  const isNew = by.value === "prefix" && search.value.trim() && search.value.trim() !== filters.prefix;
  setFilters({
    ...(isNew && { status: ANY }), // if nothing else is asked for
    action: action.value.trim(),
    prefix: "",
    text: "",
    [by.value]: search.value.trim(),
    when: when.value,
    ...between,
  });
}

function put(input, value) {
  if (input !== document.activeElement && input.value !== value) input.value = value;
}

function show() {
  const { elements } = byId("filters");
  const given = choices(isHistory());
  const names = JSON.stringify(given);
  if (elements.when.dataset.names !== names) {
    elements.when.replaceChildren(...given.map(([value, name]) => h("option", { value }, name)));
    elements.when.dataset.names = names;
  }
  if (filters.prefix || filters.text) elements.by.value = filters.text ? "text" : "prefix";
  elements.when.value = filters.when;
  put(elements.action, filters.action);
  put(elements.search, filters.prefix || filters.text);
  put(elements.after, local(filters.after));
  put(elements.before, UNTIL.to(filters.before));
  byId("between").hidden = filters.when !== BETWEEN;
  byId("of-error").hidden = !filters.error;
  byId("of-error").textContent = `${filters.error} ×`;
  byId("of-error").setAttribute("aria-label", `${filters.error} ×: show other errors, too`);
}

export function startFilters() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    read();
  });
  form.addEventListener("change", read);
  form.addEventListener(
    "input",
    debounce(300, ({ target }) => {
      if (["action", "search"].includes(target.name)) read();
    }),
  );
  byId("of-error").addEventListener("click", () => setFilters({ error: "" }));
  form.elements.search.maxLength = limits("Filters", "prefix").maxLength;
  on("filters", show);
  show();
}
