// The API. Everything that goes wrong is a Problem, with words for people.

import { asked, note } from "./address.js";
import { rawField } from "./payload.js";

class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `the server answered ${status}`);
    this.status = status;
    this.document = document;
  }
}

// The token, if the server wants one, comes in the address's fragment, which is not sent, or is asked for.
const token = asked().get("token");
if (token) {
  sessionStorage.setItem("duebell-token", token);
  note({ token: "" });
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
  if (token) headers.Authorization = `Bearer ${token}`;
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

// A payload, and that of what follows, keep their numbers as they are written, which JavaScript's own would not.
export async function getTask(id) {
  const text = await (await fetchApi("GET", taskPath(id))).text();
  return { ...JSON.parse(text), payloadText: rawField(text, "payload"), thenText: rawField(text, "then") };
}
