// Topics and partitions, with their segments and batches.

import * as api from "./api.js";
import * as live from "./live.js";
import { OFFSETS, bar, drawBar, legend, partsOf, scaleOf, swatches } from "./bars.js";
import { bytes, capital, fill, h, keyed, labelled, number, plural, time, write } from "./dom.js";
import { Mistake, attempt, confirmed, notify, problem } from "./notices.js";
import { address, go } from "./routes.js";

const MOST_SHOWN = 200; // more topics are shown on demand
const MOST_OPEN = 30; // of more topics, each is one line until it is opened

export function create(section, { setCount }) {
  const filter = h("input", { type: "search", placeholder: "Filter topics", "data-search": true, "aria-label": "Filter topics", "aria-keyshortcuts": "/" });
  const internal = h("input", { type: "checkbox" });
  const list = h("div", { class: "topics" });
  const empty = h("p", { class: "empty" });
  let most = MOST_SHOWN;
  const all = h("button", { type: "button" });
  const detail = partitionDetail();
  const opener = h("button", { type: "button", class: "push", onclick: () => newTopic.toggle() }, "New topic");
  const newTopic = creation(opener);
  section.append(
    h(
      "div",
      { class: "bar-of-tools" },
      h("h2", null, "Topics"),
      filter,
      h("label", { class: "check" }, internal, h("span", null, "internal topics")),
      legend(),
      opener,
    ),
    newTopic.element,
    h("div", { class: "split" }, h("div", { class: "list" }, list, all, empty), detail.element),
  );

  let shown = [];

  function draw() {
    const known = live.items("topics");
    setCount(known.filter((topic) => !topic.is_internal).length);
    const text = filter.value.toLowerCase();
    const topics = known.filter(
      (topic) => (internal.checked || !topic.is_internal || topic.name === shown[0]) && topic.name.toLowerCase().includes(text),
    );
    const isDense = topics.length > MOST_OPEN;
    list.classList.toggle("dense", isDense);
    keyed(list, topics.slice(0, most), (topic) => topic.name, createTopic, (element, topic) => updateTopic(element, topic, isDense));
    all.hidden = topics.length <= most;
    write(all, `Show all ${number(topics.length)} topics`);
    empty.hidden = topics.length > 0;
    write(empty, text ? `No topic contains “${filter.value}”.` : "No topics yet. A producer creates them, or you do: New topic.");
    const place = JSON.stringify(shown);
    for (const row of list.querySelectorAll("tr[data-place]")) row.classList.toggle("current", row.dataset.place === place);
    detail.changed();
  }

  all.addEventListener("click", () => {
    most = Infinity;
    draw();
  });
  filter.addEventListener("input", draw);
  internal.addEventListener("change", draw);
  live.on(["topics"], draw);
  draw();

  return {
    show(parts) {
      shown = parts.length > 1 ? [parts[0], Number(parts[1])] : [];
      detail.show(...shown);
      draw();
    },
    close() {
      if (shown.length === 0) return;
      const [topic, partition] = shown;
      go("topics");
      for (const row of list.querySelectorAll("tr[data-place]")) {
        if (row.dataset.place === JSON.stringify([topic, partition])) row.querySelector("[data-row]").focus();
      }
    },
  };
}

// The list

function createTopic(topic) {
  const heading = h("button", { type: "button", class: "heading", "data-row": true }, topic.name);
  const facts = h("span", { class: "facts" });
  const problems = h("span", { class: "warn" });
  const element = h(
    "article",
    { class: "topic", "aria-label": `Topic ${topic.name}` },
    h(
      "header",
      null,
      h("h3", { class: "mono" }, heading),
      facts,
      problems,
      h("a", { href: address(["records", topic.name]), "aria-label": `Records of ${topic.name}` }, "Records"),
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": `Delete topic ${topic.name}`,
          onclick: async () => {
            if (!(await confirmed(`Delete topic ${topic.name} and its records?`, "Delete"))) return;
            try {
              await api.remove(api.path("v1", "topics", topic.name));
              notify(`Topic ${topic.name} is deleted.`);
            } catch (error) {
              notify(`Topic ${topic.name} is not deleted: ${error.message}`);
            }
          },
        },
        "Delete",
      ),
    ),
  );
  heading.addEventListener("click", () => {
    element.chosen = !element.isOpen;
    updateTopic(element, element.shown);
  });
  return Object.assign(element, { heading, facts, problems });
}

function createPartitions() {
  const rows = h("tbody");
  const table = h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "partitions" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col", class: "p", title: "Partition" }, "P"),
          h("th", { scope: "col", class: "picture" }, "Log"),
          OFFSETS.map(([, text]) => h("th", { scope: "col", class: "n offset" }, capital(text))),
          h("th", { scope: "col", class: "n size" }, "Size"),
          h("th", { scope: "col", class: "leader" }, "Leader"),
          h("th", { scope: "col", class: "isr" }, "In sync"),
        ),
      ),
      rows,
    ),
  );
  return Object.assign(table, { rows });
}

/** Show a topic. Its partitions are shown, and created, when it is open: by the user's choice, or unless `isDense`. */
function updateTopic(element, topic, isDense) {
  const isOpen = element.chosen ?? !isDense;
  if (element.shown === topic && element.isOpen === isOpen) return;
  element.shown = topic;
  element.isOpen = isOpen;
  element.heading.setAttribute("aria-expanded", String(isOpen));
  const records = topic.partitions.reduce((sum, each) => sum + (each.log_end_offset ?? 0) - (each.log_start_offset ?? 0), 0);
  const size = topic.partitions.reduce((sum, each) => sum + (each.size_bytes ?? 0), 0);
  const config = Object.entries(topic.config).map(([name, value]) => `${name}=${value}`);
  write(element.facts, [plural(topic.partitions.length, "partition"), plural(records, "offset"), bytes(size), ...config].join(" · "));
  write(element.problems, problemsOf(topic).join(" · "));
  if (element.table) element.table.hidden = !isOpen;
  if (!isOpen) return;
  if (!element.table) element.append((element.table = createPartitions()));
  const scale = scaleOf(topic.partitions);
  keyed(
    element.table.rows,
    topic.partitions,
    (each) => each.partition,
    (each) => createPartition(topic.name, each),
    (row, each) => updatePartition(row, each, scale),
  );
}

function problemsOf({ partitions }) {
  const without = partitions.filter((each) => each.leader === null).length;
  const behind = partitions.filter((each) => each.leader !== null && each.isr.length < each.replicas.length).length;
  return [without && `${without} without a leader`, behind && `${behind} not in sync`].filter(Boolean);
}

function createPartition(topic, { partition }) {
  const cells = Object.fromEntries([...OFFSETS.map(([field]) => field), "size"].map((name) => [name, h("td", { class: name === "size" ? "n mono size" : "n mono" })]));
  const picture = bar();
  const leader = h("td", { class: "leader" });
  const isr = h("td", { class: "isr" });
  const open = () => go("topics", topic, partition);
  const row = h(
    "tr",
    { "data-place": JSON.stringify([topic, partition]), title: "Open its segments and batches", onclick: open },
    h(
      "th",
      { scope: "row" },
      h(
        "button",
        { type: "button", class: "open mono", "data-row": true, "aria-label": `Open partition ${partition} of ${topic}` },
        partition,
      ),
    ),
    h("td", { class: "picture" }, picture),
    Object.values(cells),
    leader,
    isr,
  );
  row.numbers = cells;
  row.picture = picture;
  row.leader = leader;
  row.isr = isr;
  return row;
}

function updatePartition(row, each, scale) {
  drawBar(row.picture, each, scale);
  for (const [field] of OFFSETS) write(row.numbers[field], number(each[field]));
  const has = new Set(partsOf(each).map(({ name }) => name));
  row.numbers.log_start_offset.classList.toggle("is-deleted", has.has("deleted"));
  row.numbers.last_stable_offset.classList.toggle("is-unstable", has.has("unstable"));
  row.numbers.high_watermark.classList.toggle("is-unreplicated", has.has("unreplicated"));
  write(row.numbers.size, bytes(each.size_bytes));
  write(row.leader, each.leader === null ? "none" : `${each.leader} (epoch ${each.leader_epoch})`);
  row.leader.classList.toggle("warn", each.leader === null);
  const missing = each.replicas.length - each.isr.length;
  write(row.isr, missing > 0 ? `${each.isr.join(", ") || "none"} of ${each.replicas.join(", ")}` : each.isr.join(", "));
  row.isr.classList.toggle("warn", missing > 0);
}

// The partition that is open

function partitionDetail() {
  const title = h("h3", { class: "mono" });
  const picture = bar(true);
  const parts = h("div");
  const offsets = h("dl", { class: "offsets" });
  const segments = h("ol", { class: "segments", "aria-label": "Segments" });
  const segmentsTitle = h("h4", null, "Segments");
  const batchesTitle = h("h4", null, "Batches");
  const batches = h("tbody");
  const more = h("button", { type: "button", hidden: true }, "More batches");
  const error = problem();
  const leader = h("div", { class: "field-row" });
  const readLink = h("a", { class: "push" }, "Records");
  const element = h(
    "aside",
    { class: "detail", "aria-label": "Partition", hidden: true },
    h(
      "header",
      null,
      title,
      readLink,
      h("button", { type: "button", class: "plain", "aria-label": "Close the partition", onclick: () => go("topics") }, "×"),
    ),
    error,
    picture,
    parts,
    offsets,
    leader,
    segmentsTitle,
    segments,
    batchesTitle,
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "batches" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["Offsets", "Records", "Codec", "Producer", "Flags"].map((text) => h("th", { scope: "col" }, text)),
            h("th", { scope: "col", class: "n" }, "Size"),
            h("th", { scope: "col" }, "Max. time"),
          ),
        ),
        batches,
      ),
    ),
    more,
  );

  let topic = null;
  let partition = null;
  let segment = null; // null shows the batches of all segments
  let known = [];
  let loaded = [];
  let next = 0;
  let seen = "";
  let isLoading = false;
  let isStale = false;

  const place = () => api.path("v1", "topics", topic, "partitions", partition);

  function current() {
    return live.item("topics", topic)?.partitions[partition];
  }

  async function load() {
    if (isLoading) {
      isStale = true;
      return;
    }
    isLoading = true;
    const wanted = JSON.stringify([topic, partition, segment]);
    const found = await attempt(error, async () => [
      (await api.get(`${place()}/segments`)).segments,
      await api.get(`${place()}/batches`, { offset: segment ?? 0, limit: Math.max(50, Math.min(loaded.length, 1000)) }),
    ]);
    isLoading = false;
    if (wanted === JSON.stringify([topic, partition, segment]) && found !== undefined) {
      known = found[0];
      loaded = found[1].batches;
      next = found[1].next_offset;
      draw();
    }
    if (isStale) {
      isStale = false;
      load();
    }
  }

  async function loadMore() {
    const found = await attempt(error, () => api.get(`${place()}/batches`, { offset: next, limit: 200 }));
    if (found === undefined) return;
    loaded = [...loaded, ...found.batches];
    next = found.next_offset;
    draw();
  }

  more.addEventListener("click", loadMore);

  function openSegment(base) {
    segment = segment === base ? null : base;
    loaded = [];
    load();
  }

  function draw() {
    write(segmentsTitle, `Segments (${known.length})`);
    const largest = Math.max(1, ...known.map((each) => each.size_bytes));
    keyed(
      segments,
      known,
      (each) => each.base_offset,
      (each) => h("li", null, h("button", { type: "button", "data-row": true, onclick: () => openSegment(each.base_offset) }, h("b", { class: "mono" }), h("small"))),
      (item, each) => {
        const button = item.firstElementChild;
        const isActive = each === known.at(-1);
        item.style.flexGrow = String(Math.max(0.15, each.size_bytes / largest));
        write(button.firstElementChild, number(each.base_offset));
        write(button.lastElementChild, isActive ? `${bytes(each.size_bytes)} active` : bytes(each.size_bytes));
        button.setAttribute("aria-pressed", String(segment === each.base_offset));
        button.setAttribute("aria-label", `Segment ${each.base_offset}, ${bytes(each.size_bytes)}${isActive ? ", active" : ""}`);
        button.title = `Segment ${each.base_offset}: ${number(each.size_bytes)} bytes, largest timestamp ${time(each.largest_timestamp)}`;
      },
    );
    const ofSegment = segment === null ? loaded : loaded.filter((each) => each.segment === segment);
    write(batchesTitle, segment === null ? "Batches" : `Batches of segment ${number(segment)}`);
    keyed(
      batches,
      ofSegment,
      (each) => JSON.stringify([topic, partition, each]),
      (each) => createBatch(each, () => openBatch(each)),
      (row, each) => {
        const isDeleted = each.last_offset < (current()?.log_start_offset ?? 0);
        row.classList.toggle("is-deleted", isDeleted);
        row.title = isDeleted ? "Below the log start offset: consumers cannot read it." : "";
      },
    );
    more.hidden = next === null || ofSegment.length < loaded.length;
  }

  function openBatch(batch) {
    go("records", topic, { partition, start: "offset", offset: batch.base_offset, limit: Math.max(1, batch.last_offset - batch.base_offset + 1) });
  }

  function drawState() {
    const state = current();
    if (state === undefined) {
      if (topic !== null && live.items("topics").length > 0) {
        error.hidden = false;
        write(error, `Partition ${partition} of topic ${topic} does not exist.`);
      }
      return;
    }
    drawBar(picture, state, scaleOf([state]));
    fill(parts, swatches(partsOf(state).map(({ name, text, first, next }) => ({ name, text: `${number(next - first)} ${text}` }))));
    fill(
      offsets,
      OFFSETS.map(([field, text]) => h("div", null, h("dt", null, capital(text)), h("dd", { class: "mono" }, number(state[field])))),
      h("div", null, h("dt", null, "Size"), h("dd", { class: "mono" }, bytes(state.size_bytes))),
    );
    drawLeader(state);
  }

  function drawLeader(state) {
    const drawn = JSON.stringify([topic, partition, state.replicas, state.isr, state.leader, state.leader_epoch]);
    if (leader.drawn === drawn) return;
    leader.drawn = drawn;
    fill(
      leader,
      h("span", null, `Leader ${state.leader ?? "none"}, epoch ${state.leader_epoch}, in sync ${state.isr.join(", ") || "none"}`),
      state.replicas
        .filter((node) => node !== state.leader)
        .map((node) =>
          h(
            "button",
            {
              type: "button",
              disabled: !state.isr.includes(node),
              title: state.isr.includes(node) ? "" : "The replica is not in sync",
              onclick: () => attempt(error, () => api.post(`${place()}/move-leader`, { to: node })),
            },
            `Elect ${node}`,
          ),
        ),
    );
  }

  return {
    element,
    show(name, index) {
      element.hidden = name === undefined;
      if (name === undefined) {
        topic = null;
        return;
      }
      if (topic !== name || partition !== index) {
        [topic, partition, segment, known, loaded, seen] = [name, index, null, [], [], ""];
        error.hidden = true;
        leader.drawn = null;
        fill(offsets);
        write(title, `${name}-${index}`);
        readLink.href = address(["records", name], { partition: index });
        element.setAttribute("aria-label", `Partition ${index} of ${name}`);
        draw();
      }
      drawState();
    },
    changed() {
      if (topic === null) return;
      drawState();
      const state = current();
      const now = JSON.stringify(state && [live.item("topics", topic).topic_id, state.log_start_offset, state.log_end_offset, state.size_bytes, state.leader, state.leader_epoch]);
      if (state !== undefined && now !== seen) {
        seen = now;
        load();
      }
    },
  };
}

function createBatch(batch, open) {
  const flags = [
    batch.control_type ?? (batch.is_control && "control"),
    batch.is_transactional && !batch.is_control && "transactional",
    batch.magic < 2 && `magic ${batch.magic}`,
    batch.timestamp_type === "LOG_APPEND_TIME" && "log append time",
    batch.count === 0 && "empty",
  ].filter(Boolean);
  const range = batch.base_offset === batch.last_offset ? number(batch.base_offset) : `${number(batch.base_offset)} – ${number(batch.last_offset)}`;
  return h(
    "tr",
    { onclick: open },
    h("th", { scope: "row" }, h("button", { type: "button", class: "open mono", "data-row": true, "aria-label": `Open the records of batch ${batch.base_offset}` }, range)),
    h("td", { class: "mono" }, batch.count < 0 ? "?" : number(batch.count)),
    h("td", null, batch.compression),
    h("td", { class: "mono" }, batch.producer_id < 0 ? "–" : `${batch.producer_id} / ${batch.producer_epoch}`),
    h("td", null, flags.length ? flags.map((flag) => h("span", { class: `tag ${flag.split(" ")[0].toLowerCase()}` }, flag)) : "–"),
    h("td", { class: "n mono" }, bytes(batch.size_bytes)),
    h("td", { class: "mono", title: time(batch.max_timestamp) }, time(batch.max_timestamp, { date: false })),
  );
}

// A new topic

function creation(opener) {
  const error = problem();
  const name = h("input", { name: "name", required: true, autocomplete: "off", spellcheck: "false" });
  const partitions = h("input", { name: "partitions", type: "number", min: 1, max: 100000, value: 1 });
  const factor = h("input", { name: "factor", type: "number", min: 1, placeholder: "default" });
  const config = h("input", { name: "config", placeholder: "retention.ms=1000, cleanup.policy=compact", autocomplete: "off", spellcheck: "false" });
  const form = h(
    "form",
    { class: "inline-form", hidden: true, "aria-label": "New topic", onsubmit: submit },
    labelled("Name", name),
    labelled("Partitions", partitions, { class: "field short" }),
    labelled("Replicas", factor, { class: "field short" }),
    labelled("Properties", config, { class: "field wide" }),
    h("button", { class: "primary" }, "Create"),
    h("button", { type: "button", onclick: () => toggle() }, "Cancel"),
    error,
  );
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    toggle();
  });

  function toggle() {
    form.hidden = !form.hidden;
    (form.hidden ? opener : name).focus();
  }

  async function submit(event) {
    event.preventDefault();
    const created = await attempt(error, () =>
      api.post("/v1/topics", {
        name: name.value.trim(),
        partitions: Number(partitions.value) || null,
        replication_factor: Number(factor.value) || null,
        config: properties(config.value),
      }),
    );
    if (created === undefined) return;
    notify(`Topic ${created.name} is created.`);
    form.reset();
    toggle();
  }

  return { element: form, toggle };
}

/** Read KEY=VALUE,... A value may contain commas. */
function properties(text) {
  const found = {};
  let last = null;
  for (const part of text.split(",").filter((each) => each.trim())) {
    const at = part.indexOf("=");
    if (at > 0) found[(last = part.slice(0, at).trim())] = part.slice(at + 1).trim();
    else if (last !== null) found[last] += `,${part.trim()}`;
    else throw new Mistake(`${part.trim()} is not KEY=VALUE`);
  }
  return Object.keys(found).length > 0 ? found : null;
}
