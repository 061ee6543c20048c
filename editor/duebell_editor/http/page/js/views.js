// Views: filters of the list with a name, which this browser keeps. The address holds the filters, to send on.

import { field } from "./field.js";
import { openDialog } from "./dialog.js";
import { byId, h, refill } from "./dom.js";
import { filters, on } from "./state.js";

const KEPT = "duebell-views";
const views = () => JSON.parse(localStorage.getItem(KEPT) ?? "{}"); // the fragment of the address, by name

const here = () => String(new URLSearchParams(Object.entries(filters).filter(([, value]) => value)));
const nameOf = (query) => Object.keys(views()).find((name) => views()[name] === query);

function keep(changed) {
  localStorage.setItem(KEPT, JSON.stringify(changed));
  draw();
}

function draw() {
  const [query, names] = [here(), Object.keys(views()).sort()];
  const select = byId("views");
  select.hidden = !names.length;
  refill(select, h("option", { value: "" }, "Views"), ...names.map((name) => h("option", { value: name }, name)));
  select.value = nameOf(query) ?? "";
  byId("keep-view").hidden = !query;
  byId("keep-view").textContent = select.value ? "Delete view" : "Keep view";
}

function nameIt() {
  const query = here();
  const { dialog, body } = openDialog("Keep these filters", { kind: "form" });
  const name = h("input", { name: "view", required: true, maxLength: 60, autocomplete: "off" });
  const form = h(
    "form",
    {},
    field("Name", name, { hint: "This browser keeps it. A view of the same name is replaced." }),
    h("div.foot", {}, h("div.actions", {}, h("button.primary", {}, "Keep"))),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!name.value.trim()) return;
    keep({ ...views(), [name.value.trim()]: query });
    dialog.close();
  });
  body.append(form);
  name.focus();
}

export function startViews() {
  byId("views").addEventListener("change", ({ target }) => {
    location.hash = views()[target.value] ?? "";
  });
  byId("keep-view").addEventListener("click", () => {
    const { [byId("views").value]: gone, ...others } = views();
    if (gone) keep(others);
    else nameIt();
  });
  on("filters", draw);
}
