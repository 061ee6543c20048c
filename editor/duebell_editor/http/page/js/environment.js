// The environment that the page shows: its label in its colour, its name, and where it is.

import { byId, h, refill } from "./dom.js";

export function showEnvironment({ name, label, color, region, account }) {
  const badge = byId("environment");
  const place = [name, region, account && `account ${account}`].filter(Boolean).join(" · ");
  refill(badge, label && h("span.label", {}, label), h("span.place", {}, place));
  badge.title = place;
  badge.hidden = !place && !label;
  if (color) document.documentElement.dataset.color = color;
  else delete document.documentElement.dataset.color;
}
