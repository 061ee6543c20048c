// The payload as fields, by the schema of its action.

import { get, pretty, rawField } from "./api.js";
import { h, refill } from "./dom.js";
import { blame, field, forgive, goTo } from "./field.js";
import { ZONE, moment } from "./time.js";

// The fields of a payload, from the JSON Schema of its action: how each is read from JSON and written as JSON.


const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const WHOLE = /^-?(0|[1-9]\d*)$/;

// A schema without its references, and without null beside another type.
function resolved(schema, root, depth = 0) {
  if (typeof schema !== "object" || schema === null || depth > 20) return {};
  const name = /^#\/\$defs\/(.+)$/.exec(schema.$ref ?? "")?.[1];
  if (name) return resolved({ ...root.$defs?.[name], ...schema, $ref: undefined }, root, depth + 1);
  const choices = schema.anyOf ?? schema.oneOf;
  const others = choices?.filter(({ type }) => type !== "null");
  if (others?.length === 1) {
    const isNullable = others.length < choices.length || schema.isNullable;
    const { anyOf: _, oneOf: __, ...rest } = schema;
    return resolved({ ...others[0], ...rest, isNullable }, root, depth + 1);
  }
  if (Array.isArray(schema.type) && schema.type.length === 2 && schema.type.includes("null"))
    return { ...schema, type: schema.type.find((type) => type !== "null"), isNullable: true };
  return schema;
}

function kindOf({ enum: values, const: only, type, format, anyOf, oneOf }) {
  if (values ?? only !== undefined) return "choice";
  if (anyOf ?? oneOf) return "json";
  if (type === "boolean" || type === "integer" || type === "number") return type;
  if (type === "string" || (Array.isArray(type) && type.includes("string") && format === "decimal")) return ["date-time", "date", "time"].includes(format) ? format : "text";
  return "json";
}

// The fields of an object with known ones; null where only JSON text can say what is meant.
export function fieldsOf(root) {
  const schema = resolved(root, root);
  const hasOthers = Boolean(schema.additionalProperties ?? schema.patternProperties);
  if (schema.type !== "object" || !schema.properties || hasOthers) return null;
  return Object.entries(schema.properties).map(([name, given]) => {
    const field = resolved(given, root);
    return {
      ...{ name, kind: kindOf(field), isRequired: schema.required?.includes(name) ?? false },
      ...{ isNullable: field.isNullable === true, byDefault: field.default, schema: field },
      values: field.enum ?? (field.const === undefined ? [] : [field.const]),
    };
  });
}

// The field's value in this JSON text of an object, as its input shows it; undefined where it cannot.
function shownIn(text, { name, kind, values, schema }) {
  const object = JSON.parse(text);
  if (!Object.hasOwn(object, name)) return "";
  const value = object[name];
  if (value === null && kind !== "choice") return "";
  switch (kind) {
    case "choice":
      return values.some((one) => one === value) ? JSON.stringify(value) : undefined;
    case "integer":
    case "number":
      return typeof value === "number" ? rawField(text, name) : undefined;
    case "boolean":
      return typeof value === "boolean" ? String(value) : undefined;
    case "json":
      return rawField(text, name);
    case "date-time":
      return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;
    // The browser's inputs drop other forms of dates and times, and line breaks.
    case "date":
      return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined;
    case "time":
      return typeof value === "string" && /^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(value) ? value : undefined;
    default:
      if (typeof value === "number" && Array.isArray(schema.type)) return rawField(text, name);
      return typeof value === "string" && !/[\r\n]/.test(value) ? value : undefined;
  }
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// What is wrong with what is written, or null.
function wrongWith({ kind, isRequired, isNullable, schema }, text) {
  if (text === "") {
    if (!isRequired || isNullable || kind === "text") return null;
    return kind === "choice" || kind === "boolean" ? "Choose one." : "This is needed.";
  }
  if (kind === "integer" && !WHOLE.test(text)) return "Write a whole number.";
  if (kind === "number" && !NUMBER.test(text)) return "Write a number, such as 12.5.";
  if (kind === "json" && !isJson(text)) return "This is not JSON.";
  if (Number(text) < schema.minimum) return `Give ${schema.minimum} or more.`;
  if (Number(text) > schema.maximum) return `Give ${schema.maximum} or less.`;
  return null;
}

// The field as a member of a JSON object; null where it is left out.
function memberOf({ name, kind, isRequired, isNullable }, text) {
  const isText = !["choice", "integer", "number", "boolean", "json"].includes(kind);
  if (text === "" && !isRequired) return null;
  const value = text === "" && (isNullable || !isText) ? "null" : isText ? JSON.stringify(text) : text;
  return `${JSON.stringify(name)}:${value}`;
}

// Whether the form shows the field's value and would write the same again.
function isKept(field, text, object) {
  const shown = shownIn(text, field);
  if (shown === undefined) return false;
  if (!Object.hasOwn(object, field.name)) return true;
  const member = memberOf(field, shown);
  return (
    member !== null &&
    isJson(`{${member}}`) &&
    JSON.stringify(JSON.parse(`{${member}}`)) === JSON.stringify({ [field.name]: object[field.name] })
  );
}

// A JSON text that these fields can show in full: an object with no other members.
function canShow(fields, text) {
  let object;
  try {
    object = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof object !== "object" || object === null || Array.isArray(object)) return false;
  const names = fields.map(({ name }) => name);
  return (
    Object.keys(object).every((name) => names.includes(name)) &&
    fields.every((field) => isKept(field, text, object))
  );
}

// A payload as a form, made of its action's schema. The JSON text is what is sent; the form writes it.


const option = (value, name) => h("option", { value }, name);

function selectOf(values) {
  return h("select", {}, option("", "–"), ...values.map((value) => option(JSON.stringify(value), String(value))));
}

const TYPES = { date: "date", time: "time" };

// The input of a field, and how its text is read and set: the text that `shownIn` gives and `memberOf` takes.
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
