// The fields of a payload, from the JSON Schema of its action: how each is read from JSON and written as JSON.

import { rawField } from "./payload.js";

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
export function shownIn(text, { name, kind, values, schema }) {
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
    default:
      if (typeof value === "number" && Array.isArray(schema.type)) return rawField(text, name);
      return typeof value === "string" ? value : undefined;
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
export function wrongWith({ kind, isRequired, isNullable, schema }, text) {
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
export function memberOf({ name, kind, isRequired, isNullable }, text) {
  const isText = !["choice", "integer", "number", "boolean", "json"].includes(kind);
  if (text === "" && !isRequired) return null;
  const value = text === "" && (isNullable || !isText) ? "null" : isText ? JSON.stringify(text) : text;
  return `${JSON.stringify(name)}:${value}`;
}

// A JSON text that these fields can show in full: an object with no other members.
export function canShow(fields, text) {
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
    fields.every((field) => shownIn(text, field) !== undefined)
  );
}
