// Requests to the API, with the token, and payloads as they are written.

import { addressQuery, putInAddress } from "./state.js";

// A payload as text, for people and from them.

// Laid out by its own signs, not parsed, so that numbers stay as they are.
export function pretty(text) {
  let depth = 0;
  return text.replace(/"(?:\\.|[^"\\])*"|[{}[\],:]/g, (sign, at) => {
    const line = () => `\n${"  ".repeat(depth)}`;
    if (sign === "{" || sign === "[") {
      if ("}]".includes(text[at + 1])) return sign;
      depth += 1;
      return sign + line();
    }
    if (sign === "}" || sign === "]") {
      if ("{[".includes(text[at - 1])) return sign;
      depth -= 1;
      return line() + sign;
    }
    if (sign === ",") return sign + line();
    return sign === ":" ? ": " : sign;
  });
}

// A key that one object of this JSON has twice, or null: of two, only the last would count.
export function doubleKey(text) {
  const open = []; // the keys of each object around; null for an array
  for (const [sign, string, colon] of text.matchAll(/("(?:\\.|[^"\\])*")(\s*:)?|[{}[\]]/g)) {
    if (sign === "{") open.push(new Set());
    else if (sign === "[") open.push(null);
    else if (sign === "}" || sign === "]") open.pop();
    else if (colon) {
      const key = JSON.parse(string);
      if (open.at(-1).has(key)) return key;
      open.at(-1).add(key);
    }
  }
  return null;
}

// The text of one top-level field of a JSON object.
export function rawField(text, name) {
  let depth = 0;
  let begin = -1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const from = at;
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
      if (depth === 1 && begin < 0 && text.slice(from, at + 1) === `"${name}"` && text[at + 1] === ":")
        begin = at + 2;
    } else if ("{[".includes(character)) depth += 1;
    else if ("}]".includes(character)) depth -= 1;
    if (begin >= 0 && at >= begin && ((depth === 1 && character === ",") || depth === 0))
      return text.slice(begin, at).trim();
  }
  return "null";
}

// The API. Everything that goes wrong is a Problem, with words for people.


class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `the server answered ${status}`);
    this.status = status;
    this.document = document;
  }
}

// The token, if the server wants one, comes in the address's fragment, which is not sent, or is asked for.
const token = addressQuery().get("token");
if (token) {
  sessionStorage.setItem("duebell-token", token);
  putInAddress({ token: "" });
}

let askForToken = async () => null;
export const onTokenWanted = (ask) => {
  askForToken = ask;
};

function url(path, query = {}) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat())
      if (one !== undefined && one !== null && one !== "") given.append(name, one);
  }
  return given.size ? `api/${path}?${given}` : `api/${path}`;
}

export async function fetchApi(method, path, { query, body, rev, signal } = {}) {
  const headers = {};
  const token = sessionStorage.getItem("duebell-token");
  if (token) headers.Authorization = `Bearer ${token.replace(/[^!-~]/g, "")}`; // a header has no other signs; pastes may
  if (method !== "GET") headers["Content-Type"] = "application/json";
  if (rev !== undefined) headers["If-Match"] = `"${rev}"`;
  const sent = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(url(path, query), { method, headers, signal, body: sent, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The server does not answer. Is it still running?" });
  }
  if (response.ok) return response;
  const document = await response.json().catch(() => ({}));
  if (response.status === 401 && (await askForToken(token)))
    return fetchApi(method, path, { query, body, rev, signal });
  throw new Problem(response.status, document);
}

export const ask = async (method, path, options) => (await fetchApi(method, path, options)).json();
export const get = (path, query, signal) => ask("GET", path, { query, signal });
export const taskPath = (id, verb = "") => `tasks/${encodeURIComponent(id)}${verb && `/${verb}`}`;

// The task, and the JSON texts of its payload, its result and `then`: JavaScript would round long numbers in them.
export async function getTask(id) {
  const text = await (await fetchApi("GET", taskPath(id))).text();
  const [payloadText, resultText, thenText] = ["payload", "result", "then"].map((name) => rawField(text, name));
  return { ...JSON.parse(text), payloadText, resultText, thenText };
}
