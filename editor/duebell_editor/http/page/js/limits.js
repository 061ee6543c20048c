// Limits that the server writes into the page: the schemas of its API, and what it counts by.

import { byId } from "./dom.js";

const schemas = JSON.parse(byId("schemas").textContent);

// most_counted, overdue_ms, morning, failures: see app.py.
export const { constants } = schemas;

export const propertiesOf = (name) => Object.entries(schemas[name].properties);

// The limits of a field, such as `minimum`, whether or not null can be given instead.
export function limits(name, field) {
  const given = schemas[name].properties[field];
  if (given.$ref) return schemas[name].$defs[given.$ref.split("/").at(-1)];
  return given.anyOf?.find(({ type }) => type !== "null") ?? given;
}
