// The journal: requests of clients as they arrive, with a filter. A request opens with its decoded messages.

import * as api from "./api.js";
import * as live from "./live.js";
import { bytes, duration, fill, h, keyed, labelled, number, plural, select, setOptions, time, write } from "./dom.js";
import { attempt, problem } from "./notices.js";

const MOST_KEPT = 5000;
const MOST_SHOWN = 200; // more are shown on demand
const DRAW_MS = 250;
const POLLS = new Set(["Fetch", "Heartbeat", "ConsumerGroupHeartbeat"]); // also in routes/events.py

let toggle = () => {};

/** Pause or continue the journal. */
export function togglePause() {
  toggle();
}

/** Whether a request passes a filter: { text, api, client, errors, polls }. */
export function matches(request, filter) {
  if (filter.api && request.api !== filter.api) return false;
  if (filter.client && request.client_id !== filter.client) return false;
  if (filter.errors && request.errors.length === 0 && request.closed === null) return false;
  return filter.text.every((word) => request.words.includes(word));
}

/** Whether a request is a poll, which is hidden unless the filter selects polls. */
function isHidden(request, filter) {
  return !filter.polls && filter.api !== request.api && POLLS.has(request.api) && request.errors.length === 0;
}

export function create(section, { setCount }) {
  const search = h("input", { type: "search", placeholder: "Search: topic, error, client, …", "data-search": true, "aria-label": "Search in the journal", "aria-keyshortcuts": "/" });
  const apis = select([["", "all"]]);
  const clients = select([["", "all"]]);
  const errors = h("input", { type: "checkbox" });
  const polls = h("input", { type: "checkbox" });
  const pause = h("button", { type: "button", "aria-pressed": "false", "aria-keyshortcuts": "p" }, "Pause");
  const clear = h("button", { type: "button" }, "Clear");
  const more = h("button", { type: "button" }, "Show more");
  const older = h("button", { type: "button", hidden: true }, "Older requests");
  const summary = h("p", { class: "summary" }); // on a line of its own: its length changes while the user aims at a row
  const error = problem();
  const rows = h("tbody");
  const emptyText = h("span");
  const showPolls = h("button", { type: "button", onclick: () => polls.click() }, "Show them");
  const empty = h("p", { class: "empty" }, emptyText, " ", showPolls);
  const detail = requestDetail(() => open(null));
  const table = h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "journal" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Time"), h("th", { scope: "col" }, "Client"), h("th", { scope: "col" }, "Request and response"), h("th", { scope: "col" }, "Errors"), h("th", { scope: "col", class: "n" }, "Duration"))),
      rows,
    ),
  );
  section.append(
    h(
      "div",
      { class: "bar-of-tools" },
      h("h2", null, "Journal"),
      search,
      labelled("API", apis),
      labelled("Client", clients),
      h("label", { class: "check" }, errors, h("span", null, "errors only")),
      h("label", { class: "check", title: "Fetch and heartbeat requests without errors" }, polls, h("span", null, "polling")),
      pause,
      clear,
    ),
    error,
    h("div", { class: "split" }, h("div", { class: "list" }, h("div", { class: "bar-of-tools slim" }, summary), table, empty, more, " ", older), detail.element),
  );

  let kept = []; // oldest first
  let held = []; // what has arrived while the list was frozen
  let skipped = 0;
  let most = MOST_SHOWN;
  let isPaused = false;
  let isPointedAt = false;
  let chosen = null;
  let serial = 0;
  let timer = null;

  live.on(["requests"], (data, isWhole) => {
    const arrived = data.requests.map(prepared);
    if (isWhole) {
      // a new connection begins with the contents of the journal, even if the broker has restarted
      kept = [];
      held = [];
      skipped = 0;
      older.hidden = data.skipped === 0;
    } else {
      skipped += data.skipped;
    }
    if (isFrozen() && !isWhole) held = [...held, ...arrived].slice(-MOST_KEPT);
    else kept = [...kept, ...arrived].slice(-MOST_KEPT);
    timer ??= setTimeout(draw, DRAW_MS);
  });

  /** Whether the list must not change: during a pause, and while the user aims at a request or reads one. */
  function isFrozen() {
    return isPaused || isPointedAt || chosen !== null;
  }

  function prepared(request) {
    serial += 1;
    return { ...request, serial, words: `${request.text} ${request.errors.join(" ")} ${request.topics.join(" ")} ${request.closed ?? ""}`.toLowerCase() };
  }

  function filter() {
    return { text: search.value.toLowerCase().split(/\s+/).filter(Boolean), api: apis.value, client: clients.value, errors: errors.checked, polls: polls.checked };
  }

  function draw() {
    clearTimeout(timer);
    timer = null;
    if (!isFrozen() && held.length > 0) [kept, held] = [[...kept, ...held].slice(-MOST_KEPT), []];
    const wanted = filter();
    const matching = kept.filter((request) => matches(request, wanted));
    const found = matching.filter((request) => !isHidden(request, wanted));
    setCount(found.length);
    if (section.hidden) return;
    const names = (field) => [...new Set(kept.map((request) => request[field]))].filter(Boolean).sort();
    setOptions(apis, [["", "all"], ...names("api").map((name) => [name])]);
    setOptions(clients, [["", "all"], ...names("client_id").map((name) => [name])]);
    const shown = found.slice(-most).reverse();
    keyed(rows, shown, (request) => request.serial, (request) => createRow(request, () => open(request)));
    for (const row of rows.children) row.classList.toggle("current", row.serial === chosen?.serial);
    table.hidden = shown.length === 0;
    empty.hidden = shown.length > 0;
    more.hidden = found.length <= shown.length;
    const hidden = matching.length - found.length;
    const hiddenText = `${plural(hidden, "poll")} ${hidden === 1 ? "is" : "are"} hidden`;
    showPolls.hidden = hidden === 0;
    write(emptyText, kept.length === 0 ? "No requests yet." : hidden > 0 ? `${hiddenText}.` : "No request matches the filter.");
    const parts = [found.length > shown.length ? `latest ${number(shown.length)} of ${number(found.length)}` : plural(found.length, "request")];
    if (hidden > 0) parts.push(hiddenText);
    if (held.length > 0) parts.push(`frozen, ${number(held.length)} new`);
    if (skipped > 0) parts.push(`${number(skipped)} skipped`);
    write(summary, parts.join(" · "));
  }

  function open(request) {
    chosen = request;
    detail.show(request);
    draw();
  }

  toggle = () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    write(pause, isPaused ? "Continue" : "Pause");
    draw();
  };

  pause.addEventListener("click", toggle);
  clear.addEventListener("click", async () => {
    await attempt(error, async () => {
      await api.remove("/v1/requests");
      [kept, held, skipped] = [[], [], 0];
      older.hidden = true;
    });
    open(null);
  });
  older.addEventListener("click", async () => {
    const found = await attempt(error, () => api.get("/v1/requests", { limit: MOST_KEPT }));
    if (found === undefined) return;
    kept = found.requests.filter((request) => !request.is_waiting).map(prepared);
    held = [];
    older.hidden = true;
    draw();
  });
  more.addEventListener("click", () => {
    most += 5 * MOST_SHOWN;
    draw();
  });
  rows.addEventListener("pointerenter", () => (isPointedAt = true));
  rows.addEventListener("pointerleave", () => {
    isPointedAt = false;
    draw();
  });
  search.addEventListener("input", draw);
  for (const control of [apis, clients, errors, polls]) control.addEventListener("change", draw);

  return {
    show: draw,
    leave() {
      [isPointedAt, most] = [false, MOST_SHOWN];
    },
    close() {
      if (chosen === null) return;
      const row = [...rows.children].find((each) => each.serial === chosen.serial);
      open(null);
      row?.querySelector("[data-row]").focus();
    },
  };
}

function createRow(request, open) {
  const said = request.closed ?? null;
  const [asked, answered] = parts(request);
  const row = h(
    "tr",
    { onclick: open, class: request.errors.length || said ? "failed" : null },
    h("td", { class: "mono" }, time(request.time_ms, { date: false })),
    h("td", { title: `${request.client_id} from ${request.host}:${request.port} to broker ${request.broker}` }, request.client_id || "–"),
    h(
      "th",
      { scope: "row", class: "what" },
      h("button", { type: "button", class: "open mono", "data-row": true, "aria-label": `Open ${request.api} of ${request.client_id || "a client"}` }, `${request.api} v${request.version}`),
      h("span", { class: "mono asked" }, asked),
      answered && h("span", { class: "mono answered" }, ` → ${answered}`),
    ),
    h("td", null, faultOf(request), request.errors.map((name) => h("span", { class: "tag error" }, name)), said && h("span", { class: "tag error" }, "closed")),
    h("td", { class: request.has_waited ? "n mono waited" : "n mono", title: request.has_waited ? "waited, like a long poll" : "" }, duration(request.duration_ms)),
  );
  return Object.assign(row, { serial: request.serial });
}

/** Mark a request on which a fault has fired. */
function faultOf({ fault }) {
  return fault && h("span", { class: "tag fault", title: "A fault that was set has fired on this request" }, `fault ${fault}`);
}

/** Split the text of a request, as in "c1 Fetch v13 t-0@5 -> 3 records 0.2 ms", into request and response. */
function parts(request) {
  const name = `${request.api} v${request.version}`;
  const at = request.text.indexOf(name);
  const rest = at < 0 ? request.text : request.text.slice(at + name.length);
  const [asked, ...answered] = rest.split(" -> ");
  return [asked.trim(), answered.join(" -> ").replace(/ in [\d.]+ ms( \(waited\))?( \(fault \d+\))?$/, "")];
}

// The request that is open

function requestDetail(close) {
  const error = problem();
  const title = h("h3");
  const body = h("div");
  const element = h(
    "aside",
    { class: "detail", "aria-label": "Request", hidden: true },
    h("header", null, title, h("button", { type: "button", class: "plain push", "aria-label": "Close the request", onclick: close }, "×")),
    error,
    body,
  );
  let shown = null;

  return {
    element,
    async show(request) {
      if (request !== null && request.serial === shown?.serial) return;
      shown = request;
      element.hidden = request === null;
      if (request === null) return;
      write(title, `${request.api} v${request.version}`);
      const facts = [
        ["client", request.client_id || "–"],
        ["from", `${request.host}:${request.port}`],
        ["broker", request.broker],
        ["correlation id", request.correlation_id],
        ["received", time(request.time_ms)],
        ["duration", duration(request.duration_ms)],
        ["size", bytes(request.size_bytes)],
      ];
      fill(
        body,
        h("dl", { class: "offsets" }, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", { class: "mono" }, value)))),
        faultOf(request),
        request.errors.map((name) => h("span", { class: "tag error" }, name)),
        request.closed && h("p", { class: "bad" }, `The broker closed the connection: ${request.closed}`),
        h("p", { class: "null" }, "decoding …"),
      );
      const found = await attempt(error, () => decoded(request));
      if (shown !== request || found === undefined) return;
      body.lastElementChild.remove();
      if (found === null) {
        body.append(h("p", { class: "null" }, "This request is no longer in the journal."));
        return;
      }
      for (const [text, message] of [["Request", found.request], ["Response", found.response]]) {
        body.append(h("h4", null, text), message === null ? h("p", { class: "null" }, absent(text, found)) : h("pre", { class: "json", tabindex: 0 }, JSON.stringify(message, null, 2)));
      }
    },
  };
}

function absent(text, request) {
  if (text === "Request") return "Not decoded: it is malformed, or was too large to keep.";
  if (request.is_waiting) return "The request is still waiting.";
  return request.closed === null ? "There is none, or it was too large to keep." : "There is none: the connection was closed.";
}

/** Return a request with its messages, or null if the journal has dropped it. */
async function decoded(request) {
  const found = await api.get("/v1/requests", {
    apis: /^API /.test(request.api) ? null : request.api,
    client_id: request.client_id || null,
    since_ms: request.time_ms - 2,
    until_ms: request.time_ms + 2,
    messages: true,
    limit: 1000,
  });
  const isSame = (each) => each.connection === request.connection && each.correlation_id === request.correlation_id && each.broker === request.broker;
  return found.requests.findLast(isSame) ?? null;
}
