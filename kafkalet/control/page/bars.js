// Partitions as bars: log start offset, last stable offset, high watermark and log end offset on one scale.

import { fill, h, number, plural } from "./dom.js";

/** The parts of a log, from its beginning to its end. `of` returns the first and the next offset. */
const PARTS = [
  { name: "deleted", text: "deleted", of: (p) => [0, p.log_start_offset] },
  { name: "stable", text: "stable", of: (p) => [p.log_start_offset, p.last_stable_offset] },
  { name: "unstable", text: "in open transactions", of: (p) => [p.last_stable_offset, p.high_watermark] },
  { name: "unreplicated", text: "not replicated", of: (p) => [p.high_watermark, p.log_end_offset] },
];

export const OFFSETS = [
  ["log_start_offset", "log start"],
  ["last_stable_offset", "last stable"],
  ["high_watermark", "high watermark"],
  ["log_end_offset", "log end"],
];

/** Return the first and the last offset of the scale for partitions. It begins at 0 unless the logs would be slivers. */
export function scaleOf(partitions) {
  const led = partitions.filter((partition) => partition.log_end_offset !== null);
  const end = Math.max(1, ...led.map((partition) => partition.log_end_offset));
  const start = Math.min(end, ...led.map((partition) => partition.log_start_offset));
  const first = start > end / 2 ? Math.max(0, Math.floor(start - (end - start) / 4)) : 0;
  return [first, Math.max(end, first + 1)];
}

/** Return the parts of a partition that are not empty, as { name, text, first, next }. */
export function partsOf(partition) {
  if (partition.log_end_offset === null) return [];
  return PARTS.map(({ name, text, of }) => {
    const [first, next] = of(partition);
    return { name, text, first, next: Math.max(first, next) };
  }).filter(({ first, next }) => next > first);
}

/** Describe a partition in words, for screen readers and titles. */
export function described(partition) {
  if (partition.log_end_offset === null) return "without a leader";
  const offsets = OFFSETS.map(([field, text]) => `${text} ${number(partition[field])}`).join(", ");
  const parts = partsOf(partition)
    .filter(({ name }) => name !== "stable")
    .map(({ first, next, text }) => `${plural(next - first, "offset")} ${text}`);
  return [offsets, ...parts].join("; ");
}

/** Create a bar; `drawBar` fills it. With `isLarge`, the parts have labels inside and the offsets are marked. */
export function bar(isLarge = false) {
  return h("div", { class: isLarge ? "bar large" : "bar", role: "img" });
}

export function drawBar(element, partition, [first, last]) {
  const text = described(partition);
  const drawn = `${text} ${first} ${last}`;
  if (element.drawn === drawn) return;
  element.drawn = drawn;
  element.setAttribute("aria-label", text);
  element.title = text;
  const place = (offset) => (100 * (Math.min(Math.max(offset, first), last) - first)) / (last - first);
  const parts = partsOf(partition).map((part) => {
    const piece = h("span", { class: `part ${part.name}` });
    const left = place(part.first);
    const width = place(part.next) - left;
    piece.style.left = `${left}%`;
    piece.style.width = `${width}%`;
    const count = plural(part.next - part.first, "offset");
    if (element.classList.contains("large") && width > 34) piece.append(h("span", null, `${count} ${part.text}`));
    return piece;
  });
  fill(element, parts);
}

/** The legend of the bars. */
export function legend() {
  return swatches(PARTS, "Legend of the bars");
}

/** A list of parts with their colors. */
export function swatches(parts, label) {
  return h(
    "ul",
    { class: "legend", "aria-label": label },
    parts.map(({ name, text }) => h("li", null, h("span", { class: `swatch part ${name}`, "aria-hidden": "true" }), text)),
  );
}
