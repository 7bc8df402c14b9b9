"""The plots of one log. Each has a bounded number of marks and is omitted if it would be empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .drawings import Axis, Plot, Tick, duration, linear, logarithmic, moment, number, sizes, times
from .facts import heaviest
from .partition_audit import PartitionFacts
from .series import NEVER, Bins
from .transaction_history import OPEN, RESULTS

MOST_SPANS = 300
LANES = 12
KEYS = 20


class Picture(NamedTuple):
    """A plot with its title, an explanation and a legend."""

    title: str
    explanation: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()
    """CSS classes of marks, with their labels."""


def pictures(facts: PartitionFacts) -> Iterator[Picture]:
    """Yield the plots of one log."""
    for draw in (_offsets_over_time, _throughput, _lateness, _append_lag, _transactions, _keys):
        picture = draw(facts)
        if picture is not None:
            yield picture


def _span(facts: PartitionFacts) -> tuple[int, int]:
    return facts.chain.log_begins_at, max(facts.log_end_offset, facts.chain.log_begins_at + 1)


def _timed(facts: PartitionFacts) -> Bins | None:
    bins = facts.by_offset
    rows = bins.rows[bins.rows["smallest"] != NEVER]
    return Bins(bins.shift, rows) if rows.size else None


def _pieces(bins: Bins, low: int, high: int) -> tuple[list[int], list[int]]:
    """Return the start and end of each bin. Each bin extends to the next: a batch is counted where it begins."""
    starts = np.maximum(bins.start, low).tolist()
    return starts, [*starts[1:], high]


def _offsets_over_time(facts: PartitionFacts) -> Picture | None:
    bins = _timed(facts)
    if bins is None:
        return None
    low, high = _span(facts)
    plot = Plot(
        times(int(bins.rows["smallest"].min()), int(bins.rows["largest"].max())),
        linear(low, high, "offset"),
        f"Offsets of {facts.log.name} by record timestamp",
    )
    for first, last, row in zip(*_pieces(bins, low, high), bins.rows, strict=True):
        times_told = f"{moment(int(row['smallest']))} to {moment(int(row['largest']))}"
        title = f"offsets {first:,} to {last - 1:,}: {times_told}"
        plot.box(int(row["smallest"]), int(row["largest"]), first, last, "data", title)
    return Picture(
        "Offsets over time",
        "Each bar is a range of offsets, as wide as the range of its timestamps. It is thin if they are in order.",
        plot.svg(),
    )


def _throughput(facts: PartitionFacts) -> Picture | None:
    bins = facts.by_time
    if bins.rows.size == 0:
        return None
    seconds = bins.width / 1000
    rates = bins.rows["bytes"] / seconds
    begin, end = int(bins.start[0]), int(bins.start[-1]) + bins.width
    plot = Plot(
        times(begin, end),
        sizes(float(rates.max()), "bytes/s"),
        f"Throughput of {facts.log.name} by record timestamp",
    )
    starts = bins.start.tolist()
    plot.steps(zip(starts, [start + bins.width for start in starts], rates.tolist(), strict=True), "data")
    records = bins.rows["records"] / seconds
    return Picture(
        "Throughput",
        f"Batch bytes by timestamp, in intervals of {duration(bins.width)}."
        f" The maximum is {number(float(records.max()))} records per second.",
        plot.svg(),
    )


def _lateness(facts: PartitionFacts) -> Picture | None:
    bins = _timed(facts)
    if bins is None or not bins.rows["lateness_ms"].any():
        return None
    return Picture(
        "Lateness",
        f"How much earlier the timestamp of a batch is than the latest one before it. {facts.times.steps_back:,}"
        f" records are earlier than the previous record. The largest lateness is"
        f" {duration(facts.times.worst_lateness_ms)}, at offset {facts.times.worst_at:,}.",
        _by_offset(facts, bins, "lateness_ms", "late", "Lateness of the batches").svg(),
    )


def _append_lag(facts: PartitionFacts) -> Picture | None:
    bins = facts.by_offset
    bins = Bins(bins.shift, bins.rows[bins.rows["append_lag_ms"] != NEVER])
    if bins.rows.size == 0:
        return None
    return Picture(
        "Lag from event to append",
        "The time from the producer's timestamp of the first record of a batch to its append by the broker.",
        _by_offset(facts, bins, "append_lag_ms", "late", "Lag of the batches").svg(),
    )


def _by_offset(facts: PartitionFacts, bins: Bins, name: str, kind: str, label: str) -> Plot:
    low, high = _span(facts)
    values = np.maximum(bins.rows[name], 0)
    plot = Plot(
        linear(low, high, "offset"),
        logarithmic(float(values.max()), "at most", duration),
        f"{label} of {facts.log.name} by offset",
    )
    plot.steps(zip(*_pieces(bins, low, high), values.tolist(), strict=True), kind)
    return plot


def _transactions(facts: PartitionFacts) -> Picture | None:
    transactions = facts.transactions
    if transactions.size == 0:
        return None
    low, high = _span(facts)
    ends = np.where(transactions["result"] == OPEN, high, transactions["last_offset"] + 1)
    length = ends - transactions["first_offset"] + np.where(transactions["result"] == OPEN, high, 0)
    shown = np.sort(np.argsort(-length, kind="stable")[:MOST_SPANS])
    spans = [(int(transactions["first_offset"][row]), int(ends[row])) for row in shown.tolist()]
    lanes = _lanes(spans)
    count_of_lanes = min(max(lanes) + 1, LANES)
    plot = Plot(
        linear(low, high, "offset"),
        Axis(0, count_of_lanes, (), "side by side"),
        f"Transactions of {facts.log.name} by offset",
        height=46 + max(18 * count_of_lanes, 36),
    )
    for row, lane, (first, end) in zip(shown.tolist(), lanes, spans, strict=True):
        one = transactions[row]
        result = RESULTS[one["result"]]
        title = (
            f"{result}: producer {one['producer_id']}, epoch {one['producer_epoch']}, offsets {first:,} to {end - 1:,},"
            f" {one['records']:,} records"
        )
        top = count_of_lanes - lane % LANES
        plot.box(first, end, top - 0.8, top, result, title)
    count = transactions.size
    which = f"all {count:,}" if count <= MOST_SPANS else f"the open and the longest, {shown.size} of {count:,}"
    return Picture(
        "Transactions",
        f"Each bar extends from the first batch to the marker; {which} are shown. Open transactions extend to the end"
        f" of the log, and read_committed consumers stop at their first offset.",
        plot.svg(),
        (("committed", "committed"), ("aborted", "aborted"), ("open", "open")),
    )


def _lanes(spans: list[tuple[int, int]]) -> list[int]:
    """Return the first free lane for each span. Spans must be sorted by their start."""
    free_from: list[int] = []
    lanes = []
    for first, end in spans:
        lane = next((lane for lane, free in enumerate(free_from) if free <= first), len(free_from))
        if lane == len(free_from):
            free_from.append(0)
        free_from[lane] = end
        lanes.append(lane)
    return lanes


def _keys(facts: PartitionFacts) -> Picture | None:
    keys = heaviest(facts, KEYS)
    with_key = facts.keys.records - facts.keys.without_key
    if not keys or not with_key:
        return None
    rows = len(keys)
    ticks = tuple(Tick(rows - at - 0.5, _shortened(key)) for at, (key, _) in enumerate(keys))
    plot = Plot(
        linear(0, 100 * keys[0][1] / facts.keys.records, "% of records", lambda value: f"{value:g} %"),
        Axis(0, rows, ticks, ""),
        f"The most frequent keys of {facts.log.name}",
        height=46 + 17 * rows,
    )
    for at, (key, count) in enumerate(keys):
        share = 100 * count / facts.keys.records
        plot.box(0, share, rows - at - 0.85, rows - at - 0.15, "data", f"{key}: {count:,} records, {share:.3g} %")
    about = "" if facts.keys.distinct_is_exact else "about "
    error = f" Counts may be too low by {facts.keys.too_low_by:,}." if facts.keys.too_low_by else ""
    return Picture(
        "Most frequent keys",
        f"There are {about}{facts.keys.distinct:,} keys; {facts.keys.without_key:,} records have no key.{error}",
        plot.svg(),
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 11 else text[:10] + "…"
