// The fields of a task as the server describes them in the schema of a new one: a row for each input of the form.

import { limits, propertiesOf } from "./limits.js";

// name     of the input; `field` is the field of the API, and `part` the one within it, of a follow-up
// kind     which widget it has: see kinds.js
// limits   its JSON schema, without null
// goes     with tasks that run once, with recurring ones, or with all
function rowsOf([field, { title, kind, goes, unset, description: hint }]) {
  const row = { name: field, field, title, kind, goes, unset, hint, limits: limits("NewTask", field) };
  if (kind !== "task") return [row];
  const part = (name, ofKind, more) => {
    const ofPart = { part: name, name: `${field}_${name}`, kind: ofKind, limits: row.limits.properties[name] };
    return { ...row, ...ofPart, ...more };
  };
  return [
    part("action", "action"),
    part("after", "duration", { title: "How long after that", hint: "at once, if not given", unset: "at once" }),
    part("payload", "json", { title: "What that is given", hint: "" }),
  ];
}

export const ROWS = propertiesOf("NewTask")
  .filter(([name]) => name !== "in")
  .flatMap(rowsOf);

export const row = (name) => ROWS.find((one) => one.name === name);

// The names of the inputs for those that this holds for.
export const namesWhere = (holds) => ROWS.filter(holds).map(({ name }) => name);

// The value of a row in a task; undefined if it has none.
export function valueIn(task, { field, part }) {
  const { recurrence } = task ?? {};
  const found = task?.[field] ?? recurrence?.[field] ?? recurrence?.schedule[field];
  if (field === "schedule") return recurrence?.schedule.expression;
  return part ? found?.[part] : found;
}
