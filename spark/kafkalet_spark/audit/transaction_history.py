"""Reconstruct the transactions of a log from the runs of its producers.

A transaction begins with a producer's first transactional batch and ends with its marker. A transaction without a
marker is open. The last stable offset, at which read_committed consumers stop, is the smallest first offset of the open
transactions. A marker without data ends a transaction that wrote nothing to this partition, or whose data was removed
by compaction or retention.

If a log does not begin at offset 0, the start of each producer's first transaction is unknown, because earlier batches
may have been deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .findings import Findings
from .producer_runs import ABORT, COMMIT, DATA, TRANSACTIONAL, Runs

OPEN, ABORTED, COMMITTED, ENDED = range(4)
"""ENDED means that compaction has removed the record of the marker, so the result is unknown."""
RESULTS = ("open", "aborted", "committed", "ended")
NONE = -1

TRANSACTION = np.dtype(
    [
        ("producer_id", "i8"),
        ("producer_epoch", "i2"),  # epoch of its data batches
        ("first_offset", "i8"),  # offset of the marker if there is no data
        ("last_offset", "i8"),  # offset of the marker; -1 if open
        ("result", "i1"),
        ("records", "i8"),
        ("bytes", "i8"),
        ("first_timestamp", "i8"),
        ("last_timestamp", "i8"),
        ("first_stretch", "i4"),
        ("first_position", "i8"),
        ("stretch", "i4"),  # stretch of the marker
        ("position", "i8"),  # position of the marker
        ("last_stable_offset", "i8"),  # last stable offset of the log after the marker was appended
        ("begins_here", "?"),  # whether its first batch is in the log
    ]
)
Transactions = NDArray[np.void]


def transactions_of(runs: Runs, log_begins_at: int, paths: Sequence[str], findings: Findings) -> Transactions:
    """Return the transactions, sorted by first offset. `runs` covers the whole log, by producer and offset."""
    _report_outside(runs, paths, findings)
    runs = runs[runs["kind"] != DATA]
    if runs.size == 0:
        return np.empty(0, TRANSACTION)
    is_marker = runs["kind"] >= ABORT
    new_producer = np.append(True, np.diff(runs["producer_id"]) != 0)
    starts = np.flatnonzero(new_producer | np.append(True, is_marker[:-1]))
    ends = np.append(starts[1:], runs.size) - 1
    first, last = runs[starts], runs[ends]
    ended = last["kind"] >= ABORT
    found = np.empty(starts.size, TRANSACTION)
    found["producer_id"] = first["producer_id"]
    found["producer_epoch"] = first["producer_epoch"]
    found["first_offset"] = first["first_offset"]
    found["last_offset"] = np.where(ended, last["first_offset"], NONE)
    found["result"] = np.select(
        [~ended, last["kind"] == ABORT, last["kind"] == COMMIT], [OPEN, ABORTED, COMMITTED], ENDED
    )
    data = np.where(is_marker, 0, 1)
    found["records"] = np.add.reduceat(runs["records"] * data, starts)
    found["bytes"] = np.add.reduceat(runs["bytes"] * data, starts)
    found["first_timestamp"], found["last_timestamp"] = first["first_timestamp"], last["timestamp"]
    found["first_stretch"], found["first_position"] = first["stretch"], first["position"]
    found["stretch"] = np.where(ended, last["stretch"], NONE)
    found["position"] = np.where(ended, last["position"], NONE)
    found["begins_here"] = ~new_producer[starts] | (log_begins_at == 0)
    found = found[np.argsort(found["first_offset"], kind="stable")]
    found["last_stable_offset"] = _last_stable_offsets(found)
    return found


def has_data(transactions: Transactions) -> NDArray[np.bool_]:
    """Return a Boolean mask that selects the transactions with batches in the log."""
    is_bare: NDArray[np.bool_] = transactions["first_offset"] == transactions["last_offset"]
    return ~is_bare


def last_stable_offset(transactions: Transactions, log_end_offset: int) -> int:
    """Return the first offset of the oldest open transaction, or else the log end offset."""
    still = transactions[transactions["result"] == OPEN]["first_offset"]
    return int(still.min()) if still.size else log_end_offset


def _report_outside(runs: Runs, paths: Sequence[str], findings: Findings) -> None:
    """Report non-transactional batches of producers that have an open transaction."""
    numbers = np.arange(runs.size)

    def last(wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.maximum.accumulate(np.where(wanted, numbers, NONE))

    begins = last(np.append(True, np.diff(runs["producer_id"]) != 0)[: runs.size])
    written = last(runs["kind"] == TRANSACTIONAL)
    is_open = (written > last(runs["kind"] >= ABORT)) & (written >= begins)
    for at in np.flatnonzero(is_open & (runs["kind"] == DATA)).tolist():
        run = runs[at]
        findings.add(
            "transaction",
            f"producer {run['producer_id']} wrote outside its open transaction",
            file=paths[run["stretch"]],
            position=int(run["position"]),
            offset=int(run["first_offset"]),
        )


def _last_stable_offsets(transactions: Transactions) -> NDArray[np.int64]:
    """Return the last stable offset of the log after each marker was appended: the first offset of the oldest other
    transaction that was still open, or else the offset after the marker."""
    result = np.full(transactions.size, NONE, np.int64)
    starts = transactions["first_offset"].tolist()
    markers = transactions["last_offset"].tolist()
    with_data = has_data(transactions)
    begun = iter([row for row in range(transactions.size) if with_data[row]])
    upcoming = next(begun, None)
    still_open: list[tuple[int, int]] = []
    for row in np.argsort(transactions["last_offset"], kind="stable").tolist():
        marker = markers[row]
        if marker == NONE:
            continue
        while upcoming is not None and starts[upcoming] < marker:
            heapq.heappush(still_open, (starts[upcoming], upcoming))
            upcoming = next(begun, None)
        while still_open and markers[still_open[0][1]] != NONE and markers[still_open[0][1]] <= marker:
            heapq.heappop(still_open)
        result[row] = still_open[0][0] if still_open else marker + 1
    return result
