// Records of a topic: read them by offset or time, view them, and send new ones.

import * as api from "./api.js";
import * as live from "./live.js";
import { fill, h, keyed, labelled, number, plural, select, setOptions, time, write } from "./dom.js";
import { Mistake, attempt, notify, problem } from "./notices.js";
import { go } from "./routes.js";
import { oneLine, shown } from "./values.js";

const VIEWS = [["auto", "automatic"], ["text"], ["json", "JSON"], ["hex"]];
const MOST_FOLLOWED = 2000;

export function create(section) {
  const topic = select([], { name: "topic", required: true });
  const partition = select([["", "all"]], { name: "partition" });
  const start = select(
    [["oldest", "the oldest"], ["last", "the last …"], ["offset", "offset …"], ["time", "time …"]],
    { name: "start" },
  );
  const offset = h("input", { name: "offset", type: "number", min: 0, value: "0", "aria-label": "Offset" });
  const count = h("input", { name: "last", type: "number", min: 1, value: "20", "aria-label": "Number of offsets before the end" });
  const at = h("input", { name: "time", type: "datetime-local", step: "0.001", "aria-label": "Time" });
  const isolation = select([["read_uncommitted"], ["read_committed"]], { name: "isolation" });
  const limit = h("input", { name: "limit", type: "number", min: 1, max: 10000, value: "100" });
  const following = h("input", { type: "checkbox" });
  const search = h("input", { type: "search", placeholder: "Search these records", "data-search": true, "aria-label": "Search in the records", "aria-keyshortcuts": "/" });
  const error = problem();
  const rows = h("tbody");
  const summary = h("p", { class: "summary", "aria-live": "polite" });
  const more = h("button", { type: "button", hidden: true, onclick: () => readMore() }, "More records");
  const detail = recordDetail(() => select_(null));
  const opener = h("button", { type: "button", class: "push", onclick: () => sending.toggle() }, "Send a record");
  const sending = sendForm(() => topic.value, opener);
  const form = h(
    "form",
    { class: "bar-of-tools", "aria-label": "Read records", onsubmit: submit },
    labelled("Topic", topic),
    labelled("Partition", partition, { class: "field" }),
    labelled("From", start),
    offset,
    count,
    at,
    labelled("Isolation", isolation),
    labelled("Limit", limit, { class: "field short" }),
    h("button", { class: "primary" }, "Read"),
    h("label", { class: "check", title: "Read new records as they arrive" }, following, h("span", null, "follow")),
    opener,
  );
  section.append(
    h("h2", { class: "hidden" }, "Records"),
    form,
    sending.element,
    error,
    h(
      "div",
      { class: "split" },
      h(
        "div",
        { class: "list" },
        h("div", { class: "bar-of-tools slim" }, search, summary),
        h(
          "div",
          { class: "scroll" },
          h(
            "table",
            { class: "records" },
            h(
              "thead",
              null,
              h("tr", null, [["P"], ["Offset", "n"], ["Time"], ["Key"], ["Value"], ["Headers", "n"]].map(([text, kind]) => h("th", { scope: "col", class: kind ?? null }, text))),
            ),
            rows,
          ),
        ),
        more,
      ),
      detail.element,
    ),
  );

  let found = [];
  let nextOffsets = {};
  let hasMore = false;
  let chosen = null; // "partition-offset"
  let read = null; // the query of the records that are shown
  let log = null; // the topic's id and leader epochs when they were read
  let isReading = false;
  let seen = "";

  const keyOf = (record) => `${record.partition}-${record.offset}`;

  function showInputs() {
    offset.hidden = start.value !== "offset";
    count.hidden = start.value !== "last";
    at.hidden = start.value !== "time";
  }

  function showChoices() {
    const topics = live.items("topics");
    const names = topics.map(({ name, is_internal: isInternal }) => [name, isInternal ? `${name} (internal)` : name]);
    if (read !== null && !topics.some(({ name }) => name === read.topic)) names.push([read.topic]);
    setOptions(topic, names.sort(([a], [b]) => (a.startsWith("__") - b.startsWith("__")) || (a < b ? -1 : 1)));
    const state = live.item("topics", topic.value);
    setOptions(partition, [["", "all"], ...(state?.partitions ?? []).map((each) => [String(each.partition)])]);
  }

  function submit(event) {
    event?.preventDefault();
    if (!topic.value) return;
    const query = { partition: partition.value, isolation: isolation.value, limit: limit.value };
    if (start.value !== "oldest") query.start = start.value;
    if (start.value === "offset") query.offset = offset.value;
    if (start.value === "last") query.last = count.value;
    if (start.value === "time") query.time = String(new Date(at.value).getTime() || 0);
    const before = location.hash;
    go("records", topic.value, query);
    if (location.hash === before) readFirst();
  }

  function question() {
    return {
      partition: read.partition,
      isolation: read.isolation,
      limit: read.limit,
      offset: read.start === "offset" ? read.offset : null,
      time_ms: read.start === "time" ? read.time : null,
      last: read.start === "last" ? read.last : null,
    };
  }

  async function readFirst() {
    if (isReading) return;
    isReading = true;
    await live.hasTopics;
    const asked = read;
    seen = state();
    log = identity();
    const answer = await attempt(error, () => api.get(api.path("v1", "topics", asked.topic, "records"), question()));
    isReading = false;
    if (asked !== read || identity() !== log) return readFirst();
    found = answer?.records ?? [];
    nextOffsets = answer?.next_offsets ?? {};
    hasMore = answer?.has_more ?? false;
    if (chosen !== null) select_(found.find((record) => keyOf(record) === chosen) ?? null);
    draw();
    return undefined;
  }

  /** Read the records after those that are shown. Read these again first if they may no longer exist. */
  async function readMore() {
    if (isReading || read === null) return;
    if (identity() !== log) {
      await readFirst();
      if (!hasMore) return;
    }
    isReading = true;
    const asked = read;
    seen = state();
    const parts = await attempt(error, () =>
      Promise.all(
        Object.entries(nextOffsets).map(async ([index, next]) => {
          const query = { partition: index, offset: next, isolation: asked.isolation, limit: asked.limit };
          return api.get(api.path("v1", "topics", asked.topic, "records"), query);
        }),
      ),
    );
    isReading = false;
    if (asked !== read) readFirst();
    if (asked !== read || parts === undefined) return;
    const added = parts.flatMap((part) => part.records);
    found = [...found, ...added].slice(-MOST_FOLLOWED);
    for (const part of parts) Object.assign(nextOffsets, part.next_offsets);
    hasMore = parts.some((part) => part.has_more);
    draw();
    if (following.checked && added.length > 0) rows.lastElementChild?.scrollIntoView({ block: "nearest" });
    if (following.checked && (hasMore || state() !== seen)) readMore();
  }

  function state() {
    return JSON.stringify([identity(), live.item("topics", read?.topic)?.partitions.map((each) => [each.high_watermark, each.last_stable_offset])]);
  }

  /** Return what is different once offsets may have other records: the topic was created again, truncated or restored. */
  function identity() {
    const topic = live.item("topics", read?.topic);
    return JSON.stringify(topic && [topic.topic_id, topic.partitions.map((each) => each.leader_epoch)]);
  }

  function draw() {
    const text = search.value.toLowerCase();
    const matching = text ? found.filter((record) => contents(record).includes(text)) : found;
    keyed(rows, matching, (record) => record, (record) => createRow(record, () => select_(record)));
    for (const row of rows.children) row.classList.toggle("current", row.dataset.key === chosen);
    more.hidden = !hasMore;
    if (read === null) write(summary, "Choose a topic.");
    else if (found.length === 0 && isReading) write(summary, "Reading …");
    else if (found.length === 0) write(summary, error.hidden ? "No records at or after this position." : "");
    else write(summary, text ? `${number(matching.length)} of ${plural(found.length, "record")}` : plural(found.length, "record") + (hasMore ? ", more follow" : ""));
  }

  function select_(record) {
    chosen = record === null ? null : keyOf(record);
    detail.show(record);
    draw();
  }

  start.addEventListener("change", showInputs);
  topic.addEventListener("change", () => {
    showChoices();
    submit();
  });
  for (const control of [partition, isolation]) control.addEventListener("change", () => submit());
  search.addEventListener("input", draw);
  following.addEventListener("change", () => following.checked && readMore());
  live.on(["topics"], () => {
    if (section.hidden) return;
    showChoices();
    if (read === null) return;
    if (following.checked && state() !== seen) readMore();
    else if (identity() !== log) readFirst(); // what is shown may no longer exist
  });
  showInputs();
  draw();

  return {
    show([name], query) {
      if (name === undefined) {
        showChoices();
        if (topic.value) submit();
        return;
      }
      if (read?.topic !== name) select_(null);
      read = { topic: name, isolation: "read_uncommitted", limit: "100", start: "oldest", partition: "", ...query };
      showChoices();
      topic.value = name;
      showChoices();
      setOptions(partition, [...[...partition.options].map(({ value, text }) => [value, text]), ...([...partition.options].some(({ value }) => value === read.partition) ? [] : [[read.partition]])]);
      partition.value = read.partition;
      start.value = read.start;
      isolation.value = read.isolation;
      limit.value = read.limit;
      if (read.offset !== undefined) offset.value = read.offset;
      if (read.last !== undefined) count.value = read.last;
      if (read.time !== undefined) at.value = localTime(Number(read.time));
      showInputs();
      found = [];
      readFirst();
      draw();
    },
    close() {
      if (chosen === null) return;
      const row = [...rows.children].find((each) => each.dataset.key === chosen);
      select_(null);
      row?.querySelector("[data-row]").focus();
    },
    reconnected() {
      if (!section.hidden && read !== null && !error.hidden) readFirst();
    },
  };
}

function contents(record) {
  return [record.key ?? "", record.value ?? "", ...record.headers.flatMap(({ name, value }) => [name, value ?? ""])].join("\n").toLowerCase();
}

function localTime(ms) {
  return time(ms).replace(" ", "T");
}

function createRow(record, open) {
  return h(
    "tr",
    { "data-key": `${record.partition}-${record.offset}`, onclick: open },
    h("td", { class: "mono" }, record.partition),
    h(
      "th",
      { scope: "row", class: "n" },
      h(
        "button",
        { type: "button", class: "open mono", "data-row": true, "aria-label": `Open record ${record.offset} of partition ${record.partition}` },
        number(record.offset),
      ),
    ),
    h("td", { class: "mono" }, time(record.timestamp)),
    h("td", { class: "mono key" }, oneLine(record.key, record.key_encoding)),
    h("td", { class: "mono value" }, oneLine(record.value, record.value_encoding)),
    h("td", { class: "n mono" }, record.headers.length || "–"),
  );
}

// The record that is open

function recordDetail(close) {
  const view = select(VIEWS, { "aria-label": "View of keys and values" });
  const title = h("h3", { class: "mono" });
  const body = h("div");
  const element = h(
    "aside",
    { class: "detail", "aria-label": "Record", hidden: true },
    h("header", null, title, labelled("View", view, { class: "field inline push" }), h("button", { type: "button", class: "plain", "aria-label": "Close the record", onclick: close }, "×")),
    body,
  );
  let record = null;

  function draw() {
    if (record === null) return;
    write(title, `${record.topic}-${record.partition} @ ${record.offset}`);
    fill(
      body,
      h("dl", { class: "offsets" }, h("div", null, h("dt", null, "timestamp"), h("dd", { class: "mono" }, time(record.timestamp), " ", h("small", null, record.timestamp)))),
      h("h4", null, "Key"),
      shown(record.key, record.key_encoding, view.value),
      h("h4", null, "Value"),
      shown(record.value, record.value_encoding, view.value),
      h("h4", null, `Headers (${record.headers.length})`),
      record.headers.length > 0 &&
        h(
          "dl",
          { class: "headers" },
          record.headers.map(({ name, value, value_encoding: encoding }) => [h("dt", { class: "mono" }, name), h("dd", null, shown(value, encoding, view.value === "json" ? "auto" : view.value))]),
        ),
    );
  }

  view.addEventListener("change", draw);
  return {
    element,
    show(shownRecord) {
      record = shownRecord;
      element.hidden = record === null;
      draw();
    },
  };
}

// Send

function sendForm(topicOf, opener) {
  const error = problem();
  const key = h("textarea", { rows: 1, name: "key", "aria-label": "Key", spellcheck: "false" });
  const value = h("textarea", { rows: 4, name: "value", "aria-label": "Value", spellcheck: "false" });
  const headers = h("textarea", { rows: 1, name: "headers", placeholder: "name=value", spellcheck: "false" });
  const partition = h("input", { name: "to-partition", type: "number", min: 0, placeholder: "by key" });
  const noKey = h("input", { type: "checkbox", checked: true, "aria-label": "The key is null" });
  const noValue = h("input", { type: "checkbox", "aria-label": "The value is null" });
  const encoding = select([["text"], ["base64"]], { name: "encoding" });
  const form = h(
    "form",
    { class: "inline-form top", hidden: true, "aria-label": "Send a record", onsubmit: submit },
    h("h3", null, "Send a record"),
    nullable("Key", key, noKey),
    nullable("Value", value, noValue, "wide"),
    labelled("Headers", headers),
    labelled("Partition", partition, { class: "field short" }),
    labelled("Encoding", encoding),
    h("div", { class: "field-row" }, h("button", { class: "primary" }, "Send"), h("button", { type: "button", onclick: () => toggle() }, "Close")),
    error,
  );
  key.addEventListener("input", () => (noKey.checked = key.value === ""));
  value.addEventListener("input", () => (noValue.checked = false));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    toggle();
  });

  function toggle() {
    form.hidden = !form.hidden;
    (form.hidden ? opener : value).focus();
  }

  async function submit(event) {
    event.preventDefault();
    const sent = await attempt(error, () => {
      if (!topicOf()) throw new Mistake("Choose a topic first.");
      return api.post(api.path("v1", "topics", topicOf(), "records"), {
        key: noKey.checked ? null : key.value,
        key_encoding: encoding.value,
        value: noValue.checked ? null : value.value,
        value_encoding: encoding.value,
        headers: headersOf(headers.value),
        partition: partition.value === "" ? null : Number(partition.value),
      });
    });
    if (sent === undefined) return;
    const [place] = sent.records;
    notify(`Sent to ${topicOf()}-${place.partition}, offset ${place.offset}.`);
  }

  return { element: form, toggle };
}

function nullable(text, control, isNull, kind = "") {
  return h("div", { class: `field ${kind}` }, h("span", { class: "field-row" }, text, h("label", { class: "check" }, isNull, "null")), control);
}

function headersOf(text) {
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? { name: line.trim(), value: null } : { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
    });
}
