// The live state of the brokers, from the stream of events. Panels read it and are notified of changes.

import { follow } from "./api.js";

/** The kinds of events with a state, and the field that identifies an item of each. */
const KEYS = { brokers: "node_id", topics: "name", groups: "group_id", share_groups: "group_id", transactions: "transactional_id", faults: "id" };

const listeners = new Map();
const state = new Map(Object.keys(KEYS).map((kind) => [kind, new Map()]));
let frame = null;
let topicsArrived;

/** Resolves when the topics are known. */
export const hasTopics = new Promise((resolve) => (topicsArrived = resolve));
const changed = new Set();

/** Return the items of a kind, sorted by their key. */
export function items(kind) {
  const key = KEYS[kind];
  return [...state.get(kind).values()].sort((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0));
}

/** Return the item of a kind with a key, or undefined. */
export function item(kind, key) {
  return state.get(kind)?.get(key);
}

/**
 * Call a function after changes of the given kinds, at most once for each frame. For `requests` and `clock`, which have
 * no items, it is called with the data of each event, and whether the event is the first of a connection.
 */
export function on(kinds, listener) {
  for (const kind of kinds) {
    if (!listeners.has(kind)) listeners.set(kind, new Set());
    listeners.get(kind).add(listener);
  }
}

/** Follow the events. `onState(isConnected, error)` is called when the connection opens or ends. */
export function start(onState) {
  let isFirst = new Set();
  follow(
    "/v1/events",
    (kind, data) => {
      apply(kind, data, isFirst.has(kind));
      isFirst.delete(kind);
    },
    (isConnected, error) => {
      isFirst = new Set([...Object.keys(KEYS), "requests", "clock"]);
      onState(isConnected, error);
    },
  );
}

function apply(kind, data, isWhole) {
  const known = state.get(kind);
  if (known === undefined) {
    for (const listener of listeners.get(kind) ?? []) listener(data, isWhole);
    return;
  }
  if (isWhole) known.clear();
  for (const removed of data.removed) known.delete(removed);
  for (const each of data[kind]) known.set(each[KEYS[kind]], each);
  if (kind === "topics") topicsArrived();
  changed.add(kind);
  frame ??= setTimeout(tell, 30);
}

function tell() {
  frame = null;
  const called = new Set();
  for (const kind of changed) for (const listener of listeners.get(kind) ?? []) called.add(listener);
  changed.clear();
  for (const listener of called) listener();
}
