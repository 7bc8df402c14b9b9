// Faults: set them, watch how often they fire, and remove them.

import * as api from "./api.js";
import * as live from "./live.js";
import { h, keyed, labelled, plural, select, write } from "./dom.js";
import { attempt, notify, problem } from "./notices.js";

/** What happens to a request: the option, its text with the place of the value, and the input of the value. */
const EFFECTS = {
  error: { text: "respond with the error …", label: "Error", input: () => h("input", { list: "error-names", size: 42, value: "NOT_LEADER_OR_FOLLOWER", required: true, spellcheck: "false" }), read: (text) => text.trim() },
  delay: { text: "delay it by … s", label: "Seconds", input: () => h("input", { type: "number", min: 0.001, step: "any", value: 2, required: true }), read: Number },
  hang: { text: "hold it until released" },
  barrier: { text: "hold it until … have arrived", label: "Requests", input: () => h("input", { type: "number", min: 2, value: 2, required: true }), read: Number },
  drop_response: { text: "handle it, but drop the response" },
  before: { text: "disconnect before handling it", option: "disconnect", value: "before" },
  after: { text: "disconnect after handling it", option: "disconnect", value: "after" },
  corrupt: { text: "corrupt … bytes of the response", label: "Bytes", input: () => h("input", { type: "number", min: 1, value: 1, required: true }), read: Number },
  truncate: { text: "truncate the response after … bytes", label: "After bytes", input: () => h("input", { type: "number", min: 0, value: 8, required: true }), read: Number },
  throttle: { text: "throttle the client for … s", label: "Seconds", input: () => h("input", { type: "number", min: 0.001, step: 0.001, value: 1, required: true }), read: Number },
  bandwidth: { text: "limit the bandwidth to … bytes per second", label: "Bytes per second", input: () => h("input", { type: "number", min: 1, step: "any", value: 1000, required: true }), read: Number },
};
const SELECTIONS = [
  ["all", "all that match"],
  ["times", "the first …"],
  ["nth", "only number …"],
  ["every", "one in every …"],
  ["probability", "with probability …"],
];
const APIS = [
  ...["Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup"],
  ...["SyncGroup", "DescribeGroups", "ListGroups", "ApiVersions", "CreateTopics", "DeleteTopics", "DeleteRecords", "InitProducerId"],
  ...["OffsetForLeaderEpoch", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "DescribeConfigs", "AlterConfigs"],
  ...["CreatePartitions", "DeleteGroups", "IncrementalAlterConfigs", "DescribeCluster", "ConsumerGroupHeartbeat"],
];
const ERRORS = [
  ...["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS"],
  ...["NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"],
  ...["REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID", "OFFSET_OUT_OF_RANGE", "CORRUPT_MESSAGE"],
  ...["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "KAFKA_STORAGE_ERROR", "UNKNOWN_SERVER_ERROR", "BROKER_NOT_AVAILABLE"],
  ...["TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "INVALID_PRODUCER_EPOCH"],
  ...["PRODUCER_FENCED", "OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS"],
  ...["TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "UNSUPPORTED_VERSION", "POLICY_VIOLATION"],
];

/** Describe a fault in words: what happens to which requests, and which of them. */
function described({ api: apis, strict, ...options }) {
  const effects = [];
  const others = [];
  for (const [option, value] of Object.entries(options)) {
    const text = option === "respond" ? "change the response" : (EFFECTS[option] ?? EFFECTS[value])?.text;
    if (text !== undefined) effects.push(text.replace("…", value));
    else others.push((SELECTIONS.find(([name]) => name === option)?.[1] ?? `${option.replaceAll("_", " ")} …`).replace("…", value));
  }
  return [`${[apis ?? "All requests"].flat().join(", ")}: ${effects.join(", ")}`, others.join(" · ")];
}

const datalist = (id, names) => h("datalist", { id }, names.map((value) => h("option", { value })));

export function create(section, { setCount }) {
  const list = h("ul", { class: "faults" });
  const empty = h("p", { class: "empty" }, "No faults are set. The broker responds like Kafka.");
  const error = problem();
  const removeAll = h("button", { type: "button", class: "push", onclick: () => attempt(error, () => api.remove("/v1/faults")) }, "Remove all");
  section.append(h("div", { class: "bar-of-tools" }, h("h2", null, "Faults"), removeAll), creation(), error, list, empty);

  function draw() {
    const faults = live.items("faults");
    setCount(faults.length, true);
    keyed(list, faults, (fault) => `${fault.id} ${fault.text}`, (fault) => createFault(fault, error), updateFault);
    empty.hidden = faults.length > 0;
    removeAll.hidden = faults.length < 2;
  }

  live.on(["faults"], draw);
  draw();
  return { show() {} };
}

// A new fault

function creation() {
  const name = (list) => h("input", { list, autocomplete: "off", spellcheck: "false", placeholder: "any" });
  const count = () => h("input", { type: "number", min: 0, placeholder: "any" });
  const apis = h("input", { list: "api-names", autocomplete: "off", spellcheck: "false", placeholder: "all", "data-search": true });
  const effect = select(Object.entries(EFFECTS).map(([key, { text }]) => [key, text]));
  const value = h("span", { class: "value" });
  const selection = select(SELECTIONS);
  const times = h("input", { type: "number", min: 1, value: 1, required: true, "aria-label": "Number" });
  const filters = { topic: name("topic-names"), partition: count(), group: name("group-names"), client_id: name(null), broker: count(), version: count() };
  const error = problem();
  const topicNames = datalist("topic-names", []);
  const groupNames = datalist("group-names", []);
  const form = h(
    "form",
    { class: "inline-form", "aria-label": "New fault", onsubmit: submit },
    labelled("API (or several, with commas)", apis),
    labelled("What happens", effect),
    value,
    labelled("Fire on", selection),
    times,
    h("fieldset", null,
      h("legend", null, "Only requests with"),
      labelled("Topic", filters.topic),
      labelled("Partition", filters.partition, { class: "field short" }),
      labelled("Client id", filters.client_id),
      labelled("Group", filters.group),
      labelled("Broker", filters.broker, { class: "field short" }),
      labelled("Version", filters.version, { class: "field short" }),
    ),
    h("button", { class: "primary" }, "Set the fault"),
    error,
    datalist("api-names", APIS),
    datalist("error-names", ERRORS),
    topicNames,
    groupNames,
  );

  function showValue() {
    const { label, input } = EFFECTS[effect.value];
    value.hidden = input === undefined;
    value.replaceChildren(...(input === undefined ? [] : [labelled(label, input())]));
  }

  function showTimes() {
    times.hidden = selection.value === "all";
    times.disabled = times.hidden;
    const isPart = selection.value === "probability";
    Object.assign(times, { step: isPart ? "any" : "1", min: isPart ? "0.001" : "1", max: isPart ? "1" : "", value: isPart ? "0.5" : "1" });
  }

  async function submit(event) {
    event.preventDefault();
    const chosen = EFFECTS[effect.value];
    const names = apis.value.split(",").map((each) => each.trim()).filter(Boolean);
    const body = { api: names.length > 1 ? names : (names[0] ?? null) };
    body[chosen.option ?? effect.value] = chosen.value ?? (chosen.read === undefined ? true : chosen.read(value.querySelector("input").value));
    for (const [field, input] of Object.entries(filters)) {
      if (input.value !== "") body[field] = input.type === "number" ? Number(input.value) : input.value;
    }
    if (selection.value !== "all") body[selection.value] = Number(times.value);
    const set = await attempt(error, () => api.post("/v1/faults", body));
    if (set !== undefined) notify("The fault is set.");
  }

  effect.addEventListener("change", showValue);
  selection.addEventListener("change", showTimes);
  const names = (target, found) => target.replaceChildren(...found.map((each) => h("option", { value: each })));
  live.on(["topics"], () => names(topicNames, live.items("topics").map(({ name: topic }) => topic)));
  live.on(["groups", "share_groups"], () => names(groupNames, [...live.items("groups"), ...live.items("share_groups")].map(({ group_id: id }) => id)));
  showValue();
  showTimes();
  return form;
}

// A fault that is set

function createFault({ id, options }, error) {
  const place = api.path("v1", "faults", id);
  const fired = h("span", { class: "fired", role: "status" });
  const seen = h("ol", { class: "seen" });
  const instead = h("details", null, h("summary", null, "What happened instead"), h("pre"));
  const requests = h("details", null, h("summary"), seen);
  const [effect, selection] = described(options);
  const isHolding = ["hang", "barrier", "delay"].some((name) => name in options);
  const element = h(
    "li",
    { class: "card", "aria-label": `Fault ${id}` },
    h(
      "header",
      null,
      h("span", { class: "tag fault" }, `fault ${id}`),
      h("b", { tabindex: -1, "data-row": true }, effect),
      h("span", { class: "selection" }, selection),
      fired,
      h("span", { class: "push" }),
      isHolding && h("button", { type: "button", onclick: () => attempt(error, () => api.post(`${place}/release`)) }, "Release"),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Remove fault ${id}`,
          onclick: async () => {
            const removed = await attempt(error, () => api.remove(place));
            if (removed !== undefined) notify(`The fault is removed. It fired ${plural(removed.fired, "time")}.`);
          },
        },
        "Remove",
      ),
    ),
    requests,
    instead,
  );
  return Object.assign(element, { parts: { fired, seen, requests, instead } });
}

function updateFault(element, fault) {
  const { fired, seen, requests, instead } = element.parts;
  write(fired, fault.fired === 0 ? "not fired" : `fired ${plural(fault.fired, "time")}`);
  fired.classList.toggle("has-fired", fault.fired > 0);
  requests.hidden = fault.seen.length === 0;
  write(requests.firstElementChild, `${plural(fault.seen.length, "matching request")}${fault.seen.length >= 20 ? " (latest)" : ""}`);
  keyed(seen, fault.seen.map((text, index) => ({ text, index })), ({ index }) => index, () => h("li", { class: "mono" }), (item, { text }) => write(item, text));
  instead.hidden = fault.unfired === null;
  write(instead.lastElementChild, fault.unfired ?? "");
}
