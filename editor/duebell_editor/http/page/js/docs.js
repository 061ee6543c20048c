// The API's description, from its own OpenAPI document.

import { byId, h, withCode } from "./dom.js";

const words = (text = "") =>
  text
    .trim()
    .split(/\n\s*\n/)
    .map((part) => h("p", {}, ...withCode(part)));

const about = (description) => (description ? [": ", ...withCode(description)] : []);

function resolve(document, schema) {
  return schema?.$ref
    ? schema.$ref
        .slice(2)
        .split("/")
        .reduce((at, key) => at[key], document)
    : schema;
}

function exampleOf(document, content) {
  const [type, given] = Object.entries(content ?? {})[0] ?? [];
  if (!type) return null;
  const schema = given.schema?.anyOf?.at(-1) ?? given.schema;
  const example = given.example ?? resolve(document, schema)?.examples?.[0];
  if (example === undefined) return null;
  return h(
    "pre",
    { tabindex: "0", "aria-label": `Example, ${type}` },
    typeof example === "string" ? example : JSON.stringify(example, null, 2),
  );
}

function parameters(given) {
  if (!given?.length) return null;
  const items = given.map(({ name, in: where, required, description }) =>
    h(
      "li",
      {},
      h("code", {}, name),
      ` in the ${where}${required ? "" : ", optional"}`,
      ...about(description),
    ),
  );
  return [h("h4", {}, "Parameters"), h("ul", {}, ...items)];
}

function fieldsOf(document, body) {
  const given = body?.content?.["application/json"]?.schema;
  const schema = resolve(document, given?.oneOf?.[0] ?? given);
  if (!schema?.properties) return null;
  const items = Object.entries(schema.properties).map(([name, { description }]) =>
    h(
      "li",
      {},
      h("code", {}, name),
      schema.required?.includes(name) ? "" : ", optional",
      ...about(description),
    ),
  );
  const example = exampleOf(document, { "application/json": { schema } });
  return [h("h4", {}, "Body"), example, h("ul", {}, ...items)];
}

function answers(document, responses) {
  return Object.entries(responses).map(([status, { description, content }]) =>
    h(
      "details",
      {},
      h("summary", {}, `${status}: ${description === "Successful Response" ? "done" : description}`),
      exampleOf(document, content) ?? h("p.quiet", {}, "The fields are in the OpenAPI document."),
    ),
  );
}

function call(document, method, path, operation) {
  return h(
    "article",
    { id: operation.operationId },
    h(
      "div.call",
      {},
      h("span.method", {}, method.toUpperCase()),
      h("code", {}, path),
      h("h3", {}, operation.summary),
    ),
    ...words(operation.description),
    parameters(operation.parameters),
    fieldsOf(document, operation.requestBody),
    h("h4", {}, "Answers"),
    ...answers(document, operation.responses),
  );
}

const place = (path) => ["/api/tasks", "/api/bulk"].findIndex((start) => path.startsWith(start));

const document_ = await (await fetch("openapi.json")).json();
const sections = document_.tags.map(({ name, description }) => {
  const paths = Object.entries(document_.paths).sort(
    ([one], [other]) => place(one) - place(other) || one.length - other.length,
  );
  const calls = paths.flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, one]) => one.tags?.includes(name))
      .map(([method, one]) => call(document_, method, path, one)),
  );
  return h(
    "section",
    {},
    h("h2", {}, name[0].toUpperCase() + name.slice(1)),
    h("p", {}, description),
    ...calls,
  );
});
byId("docs").replaceChildren(
  h(
    "p",
    {},
    ...withCode(document_.info.description),
  ),
  ...sections,
);
