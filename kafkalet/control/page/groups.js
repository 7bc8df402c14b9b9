// Groups: members, assignment, and lag for each partition; for share groups, the state of the records.

import * as api from "./api.js";
import * as live from "./live.js";
import { fill, h, keyed, named, number, plural, write } from "./dom.js";
import { attempt, confirmed, problem } from "./notices.js";

export function create(section, { setCount }) {
  const filter = h("input", { type: "search", placeholder: "Filter groups", "data-search": true, "aria-label": "Filter groups", "aria-keyshortcuts": "/" });
  const list = h("div", { class: "topics" });
  const empty = h("p", { class: "empty" });
  section.append(h("div", { class: "bar-of-tools" }, h("h2", null, "Groups"), filter), list, empty);

  function draw() {
    const all = [...live.items("groups"), ...live.items("share_groups")];
    setCount(all.length);
    const groups = all.filter((group) => group.group_id.toLowerCase().includes(filter.value.toLowerCase()));
    keyed(
      list,
      groups,
      (group) => `${isShare(group) ? "share" : ""} ${group.group_id}`,
      (group) => (isShare(group) ? createShareGroup(group) : createGroup(group)),
      (element, group) => (isShare(group) ? updateShareGroup(element, group) : updateGroup(element, group)),
    );
    empty.hidden = groups.length > 0;
    write(empty, all.length === 0 ? "No groups yet. A group appears when its first consumer joins or commits." : `No group contains “${filter.value}”.`);
  }

  filter.addEventListener("input", draw);
  live.on(["groups", "share_groups"], draw);
  draw();
  return { show() {} };
}

function isShare(group) {
  return group.positions !== undefined;
}

function createGroup({ group_id: id }) {
  const heads = [["Committed", "n"], ["End", "n"], ["Lag", "n"], [h("span", { class: "hidden" }, "Progress"), "progress"], ["Consumer", ""]];
  return createArticle(id, "groups", "Rebalance", "rebalance", heads);
}

function createShareGroup({ group_id: id }) {
  const heads = ["Start", "End", "Lag", "Available", "Acquired", "Acknowledged", "Archived"].map((text) => [text, "n"]);
  return createArticle(id, "share-groups", "Expire locks", "expire-locks", heads);
}

/** Create the article of a group, whose first button does `action`, with the columns `heads` after that of the partition. */
function createArticle(id, collection, title, action, heads) {
  const place = api.path("v1", collection, id);
  const error = problem();
  const state = h("span", { class: "tag" });
  const facts = h("span", { class: "facts" });
  const lag = h("span");
  const offsets = h("tbody");
  const members = h("tbody");
  const noMembers = h("p", { class: "null pad" }, "No members.");
  const membersTable = h(
    "table",
    { class: "members" },
    h("thead", null, h("tr", null, ["Member", "Client", "Host", "Assignment", ""].map((text) => h("th", { scope: "col" }, text)))),
    members,
  );
  const act = (path, body) => () => attempt(error, () => api.post(`${place}/${path}`, body));
  const first = h("button", { type: "button", onclick: act(action) }, title);
  const toStart = h("button", { type: "button", onclick: act("seek", { offset: "earliest" }) }, "Seek to the earliest");
  const toEnd = h("button", { type: "button", onclick: act("seek", { offset: "latest" }) }, "Seek to the latest");
  const remove = h(
    "button",
    {
      type: "button",
      class: "plain",
      "aria-label": `Delete group ${id}`,
      onclick: async () => (await confirmed(`Delete group ${id} and its offsets?`, "Delete")) && attempt(error, () => api.remove(place)),
    },
    "Delete",
  );
  const element = h(
    "article",
    { class: "topic group", "aria-label": `Group ${id}` },
    h("header", null, h("h3", { class: "mono" }, h("button", { type: "button", class: "heading", "data-row": true, "aria-expanded": "true", onclick: toggle }, id)), state, facts, lag, first, toStart, toEnd, remove),
    error,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "lags" },
          h(
            "thead",
            null,
            h("tr", null, h("th", { scope: "col" }, "Partition"), heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text))),
          ),
          offsets,
        ),
      ),
      h("div", { class: "scroll" }, membersTable, noMembers),
    ),
  );

  function toggle(event) {
    const isOpen = event.currentTarget.getAttribute("aria-expanded") === "true";
    event.currentTarget.setAttribute("aria-expanded", String(!isOpen));
    element.querySelector(".columns").hidden = isOpen;
  }

  return Object.assign(element, { parts: { error, state, facts, lag, offsets, members, membersTable, noMembers, first, toStart, toEnd, remove, place } });
}

function updateGroup(element, group) {
  if (element.shown === group) return;
  updateArticle(element, group, `${group.protocol} protocol`);
  const owners = new Map(group.members.flatMap((member) => member.assignment.map(({ topic, partition }) => [`${topic}-${partition}`, member])));
  keyed(element.parts.offsets, group.offsets, ({ topic, partition }) => `${topic}-${partition}`, createOffset, (row, each) => updateOffset(row, each, owners));
}

function updateShareGroup(element, group) {
  if (element.shown === group) return;
  updateArticle(element, group, "share group");
  keyed(element.parts.offsets, group.positions, ({ topic, partition }) => `${topic}-${partition}`, createPosition, updatePosition);
}

function updateArticle(element, group, kind) {
  element.shown = group;
  const { parts } = element;
  write(parts.state, group.state);
  parts.state.className = `tag ${group.state.toLowerCase()}`;
  write(parts.facts, `${kind} · ${plural(group.members.length, "member")}`);
  write(parts.lag, `lag ${number(group.lag)}`);
  parts.lag.className = group.lag > 0 ? "warn" : "good";
  const isEmpty = group.members.length === 0;
  parts.first.hidden = isEmpty;
  for (const button of [parts.toStart, parts.toEnd, parts.remove]) button.hidden = !isEmpty;
  parts.membersTable.hidden = isEmpty;
  parts.noMembers.hidden = !isEmpty;
  keyed(
    parts.members,
    group.members,
    (member) => JSON.stringify([member.member_id, member.instance_id, member.client_id, member.host]),
    (member) => createMember(member, parts),
    (row, member) => {
      const byTopic = new Map();
      for (const { topic, partition } of member.assignment) byTopic.set(topic, [...(byTopic.get(topic) ?? []), partition]);
      fill(row.assignment, byTopic.size === 0 ? "none" : [...byTopic].map(([topic, partitions]) => h("div", null, named(topic), `: ${partitions.join(", ")}`)));
    },
  );
}

function createOffset({ topic, partition }) {
  const cells = [1, 2, 3].map(() => h("td", { class: "n mono" }));
  const part = h("span", { class: "part stable" });
  const owner = h("td");
  const row = h("tr", null, h("th", { scope: "row", class: "mono" }, named(topic), `-${partition}`), cells, h("td", null, h("div", { class: "bar" }, part)), owner);
  return Object.assign(row, { numbers: cells, done: part, owner });
}

function updateOffset(row, each, owners) {
  const [committed, end, lag] = row.numbers;
  write(committed, number(each.committed));
  write(end, number(each.end));
  write(lag, number(each.lag));
  lag.classList.toggle("warn", each.lag > 0);
  row.done.style.width = `${each.end === 0 ? 100 : (100 * Math.max(0, each.end - each.lag)) / each.end}%`;
  const owner = owners.get(`${each.topic}-${each.partition}`)?.client_id ?? "–";
  if (row.owner.textContent !== owner) fill(row.owner, named(owner));
}

function createPosition({ topic, partition }) {
  const cells = POSITION.map(() => h("td", { class: "n mono" }));
  const row = h("tr", null, h("th", { scope: "row", class: "mono" }, named(topic), `-${partition}`), cells);
  return Object.assign(row, { numbers: cells });
}

const POSITION = ["start_offset", "end", "lag", "available", "acquired", "acknowledged", "archived"];

function updatePosition(row, each) {
  POSITION.forEach((name, at) => write(row.numbers[at], number(each[name])));
  row.numbers[2].classList.toggle("warn", each.lag > 0);
}

function createMember(member, { place, error }) {
  const assignment = h("td", { class: "mono wrap" });
  const evict = h(
    "button",
    { type: "button", "aria-label": `Evict ${member.member_id}`, onclick: () => attempt(error, () => api.post(`${place}/evict`, { member_id: member.member_id })) },
    "Evict",
  );
  const name = member.instance_id ?? member.member_id;
  const row = h("tr", null, h("th", { scope: "row", class: "mono", title: member.member_id }, named(name)), h("td", null, named(member.client_id)), h("td", { class: "mono" }, member.host), assignment, h("td", { class: "n" }, evict));
  return Object.assign(row, { assignment });
}
