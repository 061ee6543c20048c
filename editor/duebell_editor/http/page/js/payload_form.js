// A payload as a form, made of its action's schema. The JSON text is what is sent; the form writes it.

import { get } from "./api.js";
import { h, refill } from "./dom.js";
import { blame, field, forgive, goTo } from "./field.js";
import { moment } from "./moment.js";
import { pretty } from "./payload.js";
import { canShow, fieldsOf, memberOf, shownIn, wrongWith } from "./schema.js";
import { ZONE } from "./time.js";

const option = (value, name) => h("option", { value }, name);

function selectOf(values) {
  return h("select", {}, option("", "–"), ...values.map((value) => option(JSON.stringify(value), String(value))));
}

const TYPES = { date: "date", time: "time" };

// An input, and how it is read and set, as `schema.js` has the text of a field.
function inputOf({ name, kind, values, byDefault }) {
  if (kind === "date-time") {
    const made = moment(`payload-${name}`);
    const set = (text) => made.set(text || null);
    return { input: made.input, note: made.note, read: () => made.read() ?? "", set };
  }
  const placeholder = byDefault === undefined || byDefault === null ? "" : String(byDefault);
  const input =
    kind === "choice" || kind === "boolean"
      ? selectOf(kind === "boolean" ? [true, false] : values)
      : kind === "json"
        ? h("textarea", { rows: "2", spellcheck: "false", placeholder: "JSON" })
        : h("input", {
            ...{ type: TYPES[kind] ?? "text", step: "1", autocomplete: "off", placeholder },
            inputmode: kind === "integer" || kind === "number" ? "decimal" : undefined,
          });
  input.name = `payload-${name}`;
  const isFree = ["text", "date", "time", "choice", "boolean"].includes(kind);
  return {
    input,
    read: () => (isFree ? input.value : input.value.trim()),
    set: (text) => (input.value = kind === "json" && text ? pretty(text) : text),
  };
}

function labelled(one, { input, note }) {
  const { name, kind, isRequired, schema } = one;
  const zone = kind === "date-time" ? ` (${ZONE})` : "";
  const hint = [schema.description, !isRequired && "optional"].filter(Boolean).join("; ");
  return field(`${schema.title && schema.title !== name ? `${name}: ${schema.title}` : name}${zone}`, input, { hint, note });
}

// In a form with `input.action` and `input.payload`. `check` says what is wrong with the fields, and returns the
// first of them; `reveal` brings the reader to what the API found wrong, or to the JSON text.
export function payloadForm(form, { input }, { isNew }) {
  const text = input.payload;
  const ofText = text.closest(".field");
  const fieldset = h("fieldset.payload", { hidden: true }, h("legend", {}, "Payload"));
  const parts = h("div.parts");
  const note = h("p.quiet.about", { "aria-live": "polite" });
  const turn = h("button.small", { type: "button", "data-key": "turn", onclick: () => show(!isForm) });
  fieldset.append(parts);
  ofText.before(fieldset);
  ofText.after(note);
  let worker = null;
  let fields = null; // of the schema: [field, input]
  let isForm = true; // what the reader wants
  let drawn; // the action that the form is made for
  let isTouched = isNew; // what nobody touched stays as it is written

  const action = () => worker?.actions.find(({ name }) => name === input.action.value.trim());
  const isShown = () => !fieldset.hidden;

  function write() {
    const members = fields.map(([one, { read }]) => memberOf(one, read())).filter(Boolean);
    text.value = pretty(`{${members.join(",")}}`);
  }

  function fill() {
    for (const [one, { set }] of fields) set(shownIn(text.value, one));
  }

  function say() {
    const known = action();
    const name = input.action.value.trim();
    const isUnknown = worker && !worker.error && name && !known;
    const said = isUnknown
      ? `The worker has no action “${name}”: it would fail.`
      : known && known.schema === null
        ? "This action takes no payload."
        : fields && isForm && !isShown()
          ? "This payload does not fit the form of its action."
          : "";
    const canTurn = fields && (isShown() || canShow(fields.map(([one]) => one), text.value));
    turn.textContent = isShown() ? "Write JSON instead" : "Fill in a form instead";
    refill(note, said, canTurn && turn);
  }

  function show(wanted) {
    isForm = wanted;
    const fits = fields && canShow(fields.map(([one]) => one), text.value);
    const takesNone = action()?.schema === null && text.value.trim() === "{}";
    fieldset.hidden = !(isForm && fits);
    ofText.hidden = isShown() || takesNone;
    if (isShown()) fill();
    say();
  }

  function draw() {
    const known = action();
    if (drawn === known?.name) return say();
    drawn = known?.name;
    const found = known?.schema ? fieldsOf(known.schema) : null;
    fields = found?.length ? found.map((one) => [one, inputOf(one)]) : null;
    refill(parts, (fields ?? []).map(([one, made]) => labelled(one, made)));
    return show(isForm);
  }

  function suggest() {
    const list = h("datalist", { id: "known-actions" }, ...worker.actions.map(({ name }) => option(name)));
    form.append(list);
    for (const one of [input.action, input.on_failed, input.then_action]) one.setAttribute("list", list.id);
  }

  form.addEventListener("input", ({ target }) => {
    if (target === input.action) draw();
    else if (target === text) say();
    else if (target === form) show(isForm); // the payload was set from outside
    else if (parts.contains(target)) {
      isTouched = true;
      write();
    }
  });

  // Without an answer the payload is written as JSON.
  get("worker")
    .then(({ worker: found }) => {
      worker = found;
      if (worker?.actions.length) suggest();
      draw();
    })
    .catch(() => {});

  function check() {
    if (!isShown() || !isTouched) return null;
    const wrong = fields
      .map(([one, { input: at, read }]) => [at, at.validity.badInput ? "Give it in full." : wrongWith(one, read())])
      .filter(([, why]) => why);
    for (const [, { input: at }] of fields) forgive(at);
    for (const [at, why] of wrong) blame(at, why);
    if (!wrong.length) write(); // what was left empty by default, too
    return wrong[0]?.[0] ?? null;
  }

  function reveal({ document }) {
    const [, name] = /^payload\.?([^.[]*)/.exec(document?.field ?? "") ?? [];
    if (name === undefined || !isShown()) return false;
    const found = fields.find(([one]) => one.name === name);
    if (!found) {
      show(false); // said at the JSON text
      return false;
    }
    blame(found[1].input, `${name} ${document.reason}`);
    goTo(found[1].input);
    return true;
  }

  return { check, reveal };
}
