// Limits that the server writes into the page: the schemas of its API, and what it counts by.

import { byId } from "./dom.js";

const schemas = JSON.parse(byId("schemas").textContent);

// most_counted, overdue_ms, morning, failures: see app.py.
export const { constants } = schemas;

// The values that a field can have.
export const choices = (name, field) =>
  schemas[name].$defs[schemas[name].properties[field].$ref.split("/").at(-1)].enum;

// The limits of a field, such as `minimum`, whether or not null can be given instead.
export function limits(name, field) {
  const given = schemas[name].properties[field];
  return given.anyOf?.find(({ type }) => type !== "null") ?? given;
}
