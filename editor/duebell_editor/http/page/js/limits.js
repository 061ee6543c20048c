// What the API takes: its own schemas, which the server writes into the page.

import { byId } from "./dom.js";

const schemas = JSON.parse(byId("schemas").textContent);

// The limits of a field, such as `minimum`, whether or not null can be given instead.
export function limits(name, field) {
  const given = schemas[name].properties[field];
  return given.anyOf?.find(({ type }) => type !== "null") ?? given;
}
