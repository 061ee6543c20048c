// The changes that the table keeps: who changed what, and when. They are read when the reader asks for them.

import { get } from "./api.js";
import { busy, openDialog } from "./dialog.js";
import { focusBack, h, refill } from "./dom.js";
import { tell } from "./state.js";
import { time } from "./time.js";

const PAGE = 100;
const INVALID = 422; // the table keeps no changes; the reason says how to have them kept

export function taskLink(id) {
  const show = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // to be opened elsewhere
    event.preventDefault();
    tell("open", id);
  };
  return h("a", { href: `#${new URLSearchParams({ task: id })}`, onclick: show }, id);
}

function row({ at, who, where, what, id, action, detail, from_status: from, to_status: to }) {
  return h(
    "tr",
    {},
    h("td", {}, time(at)),
    h("td", {}, who ?? "unknown", h("small", {}, where)),
    h(
      "td",
      {},
      what.replaceAll("_", " "),
      id && [" ", taskLink(id)],
      action && h("small", {}, action),
      from && to && from !== to && h("small", {}, `${from}, then ${to}`),
      detail && h("small", {}, detail),
    ),
  );
}

export function openChanges() {
  const { heading, body } = openDialog("Changes", { kind: "panel" });
  const header = h("tr", {}, ...["When", "Who", "What"].map((name) => h("th", { scope: "col" }, name)));
  const rows = h("tbody");
  const table = h("table.plain.changes", { hidden: true }, h("thead", {}, header), rows);
  const more = h("div.actions");
  const said = h("div", { role: "status" }, h("p.quiet", {}, "Loading…"));
  async function read(cursor) {
    try {
      const page = await get("audit", { limit: PAGE, cursor });
      rows.append(...page.changes.map(row));
      table.hidden = !rows.children.length;
      refill(said, table.hidden && h("p", {}, "The table keeps no changes so far."));
      const next = () => busy(more, () => read(page.cursor));
      refill(more, page.cursor && h("button", { "data-key": "more changes", onclick: next }, "Show more"));
    } catch (error) {
      const isOff = error.status === INVALID;
      const words = isOff ? `Changes ${error.document.reason}.` : `The changes cannot be read: ${error.message}`;
      refill(said, h(isOff ? "p" : "p.wrong", {}, words));
    }
    focusBack(heading);
  }
  body.append(table, said, more);
  read();
}
