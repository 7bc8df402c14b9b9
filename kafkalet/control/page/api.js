// The control API: requests with errors as exceptions, and the stream of events.

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 5000;
const SILENCE_MS = 40_000; // the stream has a heartbeat every 15 seconds

let token = stored();
let askForToken = null;
let asking = null;

function stored() {
  try {
    return sessionStorage.getItem("kafkalet-token");
  } catch {
    return null;
  }
}

/** An error response of the API, or the failure to reach the API (status 0). */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Set the function that asks the user for the token. It returns a promise. */
export function onToken(ask) {
  askForToken = ask;
}

/** Ask for the token once, for all requests that wait for it. */
async function newToken(refused) {
  if (token !== refused) return;
  asking ??= askForToken(refused !== null).then((given) => {
    token = given;
    asking = null;
    try {
      sessionStorage.setItem("kafkalet-token", given);
    } catch {
      // storage is disabled: the token is kept in memory only
    }
  });
  await asking;
}

async function send(method, path, body, signal) {
  for (;;) {
    const used = token;
    const headers = used === null ? {} : { Authorization: `Bearer ${used}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const content = body === undefined ? undefined : JSON.stringify(body);
    let response;
    try {
      response = await fetch(path, { method, headers, body: content, cache: "no-store", signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "unreachable", "the broker cannot be reached");
    }
    if (response.status === 401 && askForToken !== null) {
      await newToken(used);
      continue;
    }
    if (response.ok) return response;
    let failure = { code: String(response.status), message: response.statusText };
    try {
      failure = (await response.json()).error;
    } catch {
      // not a response of the API
    }
    throw new ApiError(response.status, failure.code, failure.message);
  }
}

async function ask(method, path, body) {
  const response = await send(method, path, body);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query) => ask("GET", path + search(query));
export const post = (path, body) => ask("POST", path, body);
export const remove = (path) => ask("DELETE", path);

/** Build a path from parts, as in path("v1", "topics", name). */
export function path(...parts) {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}

function search(query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/**
 * Read server-sent events forever, and reconnect after a failure. EventSource cannot send the token, so the stream is
 * read with fetch. `onEvent(kind, data)` is called for each event, `onState(isConnected, error)` after each change of the
 * connection.
 */
export async function follow(target, onEvent, onState) {
  let delayMs = FIRST_DELAY_MS;
  for (;;) {
    const abort = new AbortController();
    try {
      const response = await send("GET", target, undefined, abort.signal);
      onState(true);
      delayMs = FIRST_DELAY_MS;
      await readEvents(response.body.getReader(), abort, onEvent);
      onState(false, new ApiError(0, "unreachable", "the broker has closed the connection"));
    } catch (error) {
      onState(false, error);
    }
    abort.abort();
    await new Promise((resolve) => {
      setTimeout(resolve, delayMs);
    });
    delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS);
  }
}

async function readEvents(reader, abort, onEvent) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const silence = setTimeout(() => abort.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) readEvent(event, onEvent);
  }
}

function readEvent(text, onEvent) {
  let kind = "message";
  const data = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length > 0) onEvent(kind, JSON.parse(data.join("\n")));
}
