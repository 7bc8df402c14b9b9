// Transactional ids: open transactions first.

import * as api from "./api.js";
import * as live from "./live.js";
import { duration, fill, h, keyed, named, time, write } from "./dom.js";
import { nowMs } from "./now.js";
import { attempt, problem } from "./notices.js";

const isOpen = ({ state }) => state === "Ongoing" || state.startsWith("Prepare");

export function create(section, { setCount }) {
  const filter = h("input", { type: "search", placeholder: "Filter transactional ids", "data-search": true, "aria-label": "Filter transactional ids", "aria-keyshortcuts": "/" });
  const error = problem();
  const rows = h("tbody");
  const empty = h("p", { class: "empty" });
  const table = h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "transactions" },
      h("thead", null, h("tr", null, ["Transactional id", "State", "Producer", "Started", "Age", "Timeout", "Partitions", "Coordinator", ""].map((text) => h("th", { scope: "col" }, text)))),
      rows,
    ),
  );
  section.append(h("div", { class: "bar-of-tools" }, h("h2", null, "Transactions"), filter), error, table, empty);

  function draw() {
    const all = live.items("transactions");
    const open = all.filter(isOpen).length;
    setCount(open, true);
    const shown = all
      .filter((each) => each.transactional_id.toLowerCase().includes(filter.value.toLowerCase()))
      .sort((a, b) => isOpen(b) - isOpen(a));
    keyed(rows, shown, (each) => each.transactional_id, (each) => createRow(each, error), updateRow);
    table.hidden = shown.length === 0;
    empty.hidden = shown.length > 0;
    write(empty, all.length === 0 ? "No transactional producers yet." : `No transactional id contains “${filter.value}”.`);
  }

  filter.addEventListener("input", draw);
  live.on(["transactions"], draw);
  setInterval(() => {
    if (!section.hidden) for (const row of rows.children) updateAge(row);
  }, 1000);
  draw();
  return { show: draw };
}

function createRow({ transactional_id: id }, error) {
  const cells = Object.fromEntries(["state", "producer", "started", "age", "timeout", "partitions", "coordinator"].map((name) => [name, h("td", { class: { state: "", coordinator: "", partitions: "mono wrap" }[name] ?? "mono" })]));
  const abort = h(
    "button",
    { type: "button", class: "danger", "aria-label": `Abort ${id}`, onclick: () => attempt(error, () => api.post(api.path("v1", "transactions", id, "abort"))) },
    "Abort",
  );
  const row = h(
    "tr",
    null,
    h("th", { scope: "row", class: "mono" }, h("span", { tabindex: -1, "data-row": true }, named(id))),
    Object.values(cells),
    h("td", { class: "n" }, abort),
  );
  return Object.assign(row, { fields: cells, abort });
}

function updateRow(row, each) {
  row.shown = each;
  const { fields } = row;
  const tag = fields.state.firstElementChild ?? fields.state.appendChild(h("span"));
  write(tag, each.state);
  tag.className = `tag ${each.state.toLowerCase()}`;
  write(fields.producer, each.producer_id < 0 ? "–" : `${each.producer_id} / ${each.producer_epoch}`);
  write(fields.started, time(each.started_ms));
  write(fields.timeout, duration(each.timeout_ms));
  fill(fields.partitions, each.partitions.length === 0 ? "–" : each.partitions.map(({ topic, partition }) => h("div", null, named(topic), `-${partition}`)));
  write(fields.coordinator, `broker ${each.coordinator}`);
  row.abort.hidden = each.state !== "Ongoing";
  updateAge(row);
}

function updateAge(row) {
  const { fields, shown } = row;
  const isRunning = isOpen(shown) && shown.started_ms >= 0;
  const ageMs = nowMs() - shown.started_ms;
  write(fields.age, isRunning ? duration(Math.max(0, ageMs)) : "–");
  fields.age.classList.toggle("warn", isRunning && ageMs > shown.timeout_ms / 2);
}
