// The form above the list: which of the tasks to show.

import { byId, debounce, h } from "./dom.js";
import { limits } from "./limits.js";
import { filters, isHistory, on, setFilters } from "./state.js";
import { toLocalInput } from "./time.js";
import { BETWEEN, choices } from "./time_ranges.js";

const MILLISECOND = 1;

const local = (iso, shift = 0) => iso && toLocalInput(new Date(Date.parse(iso) + shift)).slice(0, 16);
const iso = (text, shift = 0) => text && new Date(new Date(text).getTime() + shift).toISOString();

// The last moment is included for the API; people say the one behind it.
const UNTIL = { from: (text) => iso(text, -MILLISECOND), to: (instant) => local(instant, MILLISECOND) };

function read() {
  const { status, action, prefix, when, after, before } = byId("filters").elements;
  const between =
    when.value === BETWEEN ? { after: iso(after.value), before: UNTIL.from(before.value) } : {};
  setFilters({
    status: status.value,
    action: action.value.trim(),
    prefix: prefix.value.trim(),
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
  elements.status.value = filters.status;
  elements.when.value = filters.when;
  put(elements.action, filters.action);
  put(elements.prefix, filters.prefix);
  put(elements.after, local(filters.after));
  put(elements.before, UNTIL.to(filters.before));
  byId("between").hidden = filters.when !== BETWEEN;
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
      if (["action", "prefix"].includes(target.name)) read();
    }),
  );
  form.elements.prefix.maxLength = limits("Filters", "prefix").maxLength;
  on("filters", show);
  show();
}
