// The brokers, the clock, and the connections of clients.

import * as api from "./api.js";
import * as live from "./live.js";
import { duration, fill, h, keyed, labelled, named, number, select, time, write } from "./dom.js";
import { nowMs, setNow } from "./now.js";
import { attempt, confirmed, notify, problem } from "./notices.js";

const REFRESH_MS = 2000;

export function create(section) {
  const clock = clockCard();
  const brokers = brokersCard();
  const connections = connectionsCard();
  section.append(h("h2", { class: "hidden" }, "Cluster and clock"), h("div", { class: "cards" }, clock.element, brokers.element), connections.element);
  setInterval(() => {
    if (section.hidden) return;
    clock.tick();
  }, 250);
  setInterval(() => section.hidden || document.hidden || connections.load(), REFRESH_MS);
  return {
    show() {
      clock.tick();
      connections.load();
    },
  };
}

// Clock

function clockCard() {
  const error = problem();
  const now = h("p", { class: "now mono" });
  const ahead = h("p", { class: "summary" });
  const amount = h("input", { type: "number", min: 0, step: "any", value: "1", required: true, "aria-label": "Amount" });
  const unit = select([["seconds"], ["minutes"], ["hours"], ["days"]], { "aria-label": "Unit" });
  unit.value = "hours";
  const sessions = h("input", { type: "checkbox" });
  let aheadMs = 0;

  function show(found) {
    setNow(found);
    aheadMs = found.ahead_ms;
    tick();
  }

  function tick() {
    write(now, time(nowMs(), { millis: false }));
    write(ahead, aheadMs > 1000 ? `${duration(aheadMs)} ahead of the clock of the machine` : "the time of the machine");
  }

  async function advance(by) {
    const found = await attempt(error, () => api.post("/v1/clock/advance", { ...by, sessions: sessions.checked }));
    if (found === undefined) return;
    show(found);
    notify("The clock was advanced, and everything that became due has happened.");
  }

  live.on(["clock"], show);
  const element = h(
    "section",
    { class: "card", "aria-labelledby": "clock-title" },
    h("h3", { id: "clock-title" }, "Clock"),
    now,
    ahead,
    h(
      "form",
      {
        class: "field-row",
        "aria-label": "Advance the clock",
        onsubmit: (event) => {
          event.preventDefault();
          advance({ [unit.value]: Number(amount.value) });
        },
      },
      h("span", null, "Advance by"),
      amount,
      unit,
      h("button", { class: "primary" }, "Advance"),
      h(
        "span",
        { class: "quick" },
        [["1 min", { minutes: 1 }], ["1 h", { hours: 1 }], ["1 d", { days: 1 }], ["7 d", { days: 7 }]].map(([text, by]) =>
          h("button", { type: "button", "aria-label": `Advance by ${text}`, onclick: () => advance(by) }, `+${text}`),
        ),
      ),
    ),
    h("label", { class: "check" }, sessions, h("span", null, "also advance sessions: members expire and long polls end")),
    error,
    h("p", { class: "summary" }, "Retention, transaction timeouts and log times follow this clock."),
  );
  return { element, tick };
}

// Brokers

function brokersCard() {
  const error = problem();
  const rows = h("tbody");
  const reset = h(
    "button",
    {
      type: "button",
      class: "danger push",
      onclick: async () => {
        if (!(await confirmed("Remove all topics, groups, transactions and faults?", "Reset"))) return;
        if ((await attempt(error, () => api.post("/v1/reset"))) !== undefined) notify("The cluster is empty.");
      },
    },
    "Reset the cluster",
  );

  function draw() {
    keyed(rows, live.items("brokers"), (broker) => broker.node_id, createBroker, updateBroker);
  }

  function createBroker({ node_id: id }) {
    const cells = ["address", "rack", "state"].map((name) => h("td", { class: name === "state" ? null : "mono" }));
    const act = (...what) => async () => {
      if ((await attempt(error, () => api.post(api.path("v1", "brokers", id, ...what)))) !== undefined) notify(`Broker ${id}: ${what.at(-1).replace("-", " ")}.`);
    };
    const toggle = h("button", { type: "button" });
    toggle.addEventListener("click", () => act(toggle.dataset.action)());
    const hold = h("button", { type: "button", "aria-label": `Hold the replication of broker ${id}`, onclick: act("hold-replication") }, "Hold replication");
    const release = h("button", { type: "button", "aria-label": `Release the replication of broker ${id}`, onclick: act("hold-replication", "release") }, "Release");
    const row = h("tr", null, h("th", { scope: "row" }, h("b", null, id)), cells, h("td", { class: "n" }, h("span", { class: "quick" }, toggle, hold, release)));
    return Object.assign(row, { texts: cells, toggle, hold, release });
  }

  function updateBroker(row, broker) {
    const [address, rack, state] = row.texts;
    write(address, broker.host === null ? "–" : `${broker.host}:${broker.port}`);
    write(rack, broker.rack ?? "–");
    write(state, broker.is_running ? "running" : "stopped");
    state.className = broker.is_running ? "good" : "bad";
    row.toggle.dataset.action = broker.is_running ? "stop" : "start";
    write(row.toggle, broker.is_running ? "Stop" : "Start");
    row.toggle.setAttribute("aria-label", `${broker.is_running ? "Stop" : "Start"} broker ${broker.node_id}`);
    row.hold.disabled = row.release.disabled = !broker.is_running;
  }

  live.on(["brokers"], draw);
  draw();
  const element = h(
    "section",
    { class: "card", "aria-labelledby": "brokers-title" },
    h("header", null, h("h3", { id: "brokers-title" }, "Brokers"), reset),
    error,
    h("div", { class: "scroll" }, h("table", { class: "brokers" }, h("thead", null, h("tr", null, ["Id", "Address", "Rack", "State", ""].map((text) => h("th", { scope: "col" }, text)))), rows)),
  );
  return { element };
}

// Connections

function connectionsCard() {
  const error = problem();
  const rows = h("tbody");
  const counts = h("ul", { class: "counts" });
  const unsupported = h("div");
  const title = h("h3", { id: "connections-title" }, "Connections");
  let isLoading = false;

  async function load() {
    if (isLoading) return;
    isLoading = true;
    const found = await attempt(error, () => Promise.all([api.get("/v1/connections"), api.get("/v1/requests/counts"), api.get("/v1/requests/unsupported")]));
    isLoading = false;
    if (found === undefined) return;
    const [{ connections }, counted, { requests }] = found;
    write(title, `Connections (${connections.length})`);
    keyed(rows, connections, ({ broker, id }) => `${broker} ${id}`, createConnection, (row, each) => {
      const [client, last] = row.texts;
      if (client.textContent !== (each.client_id || "–")) fill(client, named(each.client_id || "–"));
      write(last, each.last_request || "–");
    });
    const byApi = new Map();
    for (const each of counted.counts) byApi.set(each.api, (byApi.get(each.api) ?? 0) + each.count);
    fill(counts, [...byApi].sort((a, b) => b[1] - a[1]).map(([name, count]) => h("li", null, h("b", { class: "mono" }, number(count)), ` ${name}`)));
    fill(
      unsupported,
      requests.length > 0 && h("h4", null, "Requests that are not supported"),
      requests.map((each) => h("p", { class: "warn" }, `${number(each.count)} × ${each.api} v${each.version} from ${each.client_id || "a client without a client id"}${each.served ? `; ${each.served} are supported` : ""}`)),
    );
  }

  function createConnection({ id, broker }) {
    const texts = [h("td"), h("td", { class: "mono" })];
    const reset = async () => {
      if ((await attempt(error, () => api.post(api.path("v1", "connections", id, "reset")))) !== undefined) load();
    };
    const button = h("button", { type: "button", "aria-label": `Reset the connection ${id}`, onclick: reset }, "Reset");
    const row = h("tr", null, h("th", { scope: "row", class: "mono" }, id), h("td", null, `broker ${broker}`), texts, h("td", { class: "n" }, button));
    return Object.assign(row, { texts });
  }

  const element = h(
    "section",
    { class: "card", "aria-labelledby": "connections-title" },
    title,
    error,
    h("div", { class: "scroll" }, h("table", null, h("thead", null, h("tr", null, ["Client address", "Broker", "Client id", "Last request", ""].map((text) => h("th", { scope: "col" }, text)))), rows)),
    h("h4", null, "Requests by API"),
    counts,
    unsupported,
  );
  return { element, load };
}
