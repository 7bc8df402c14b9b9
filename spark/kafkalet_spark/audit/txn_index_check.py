"""Check that each .txnindex lists exactly the aborted transactions whose markers are in its segment.

An index entry contains the producer ID, the first offset of the transaction, the offset of the marker, and the last
stable offset after the marker was appended. Aborted transactions without data have no entry. After compaction, an entry
still has the original first offset, and after retention, its first offset may be below the log start. The log cleaner
drops the entries of transactions that ended below the log start offset (LocalLog.collectAbortedTransactions).
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from kafkalet.inspection.kinds import Kind
from kafkalet_spark.logs.indexes import TXN_ENTRY_BYTES

from .findings import Findings
from .index_files import check_layout
from .offset_chain import OffsetChain
from .transaction_history import ABORTED, Transactions, has_data


class SegmentExtent(NamedTuple):
    """A segment and its offsets, from `base_offset` to `end_offset` (exclusive)."""

    log_path: str
    path: str
    """The path of its .txnindex."""
    base_offset: int
    end_offset: int
    is_damaged: bool
    """Whether part of the log is unreadable, so that markers may be missing."""


class Reach(NamedTuple):
    """Which offsets may be missing from the log."""

    log_begins_at: int
    compacted_up_to: int
    unknown_up_to: int
    """The log cleaner knows no transactions that ended below this offset, and may have removed their markers."""
    before_offset: int | None
    """The offset at which the audit of a live log ends (exclusive)."""

    @classmethod
    def of(cls, chain: OffsetChain, log_start_offset: int, before_offset: int | None) -> Reach:
        unknown_up_to = min(log_start_offset, chain.compacted_up_to)
        return cls(chain.log_begins_at, chain.compacted_up_to, unknown_up_to, before_offset)


class Entry(NamedTuple):
    """An entry of the index."""

    position: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def check_transaction_index(
    segment: SegmentExtent, transactions: Transactions, reach: Reach, findings: Findings
) -> None:
    """Compare the transaction index of a segment with the `transactions` of the log."""
    rows = check_layout(segment.path, Kind.TXN_INDEX, findings, is_reported=True, is_closed=True)
    if rows is None and os.path.lexists(segment.path):
        return  # it cannot be read, which is reported
    here = (transactions["last_offset"] >= segment.base_offset) & (transactions["last_offset"] < segment.end_offset)
    aborted = transactions[here & (transactions["result"] == ABORTED)]
    needed = aborted[has_data(aborted) & (aborted["last_offset"] >= reach.unknown_up_to)]
    if rows is None:
        _report_missing_file(segment, needed, findings)
        return
    findings.checked["transaction index entries"] += rows.size
    entries = [Entry(at * TXN_ENTRY_BYTES, *map(int, row)) for at, row in enumerate(rows.tolist())]
    if reach.before_offset is not None:
        entries = [entry for entry in entries if entry.last_offset < reach.before_offset]
    _check_entries(entries, aborted, segment, reach, findings)
    listed = {entry.last_offset for entry in entries}
    for row in needed:
        if int(row["last_offset"]) not in listed:
            _report_missing_entry(segment, row, findings)


def _check_entries(
    entries: list[Entry], aborted: Transactions, segment: SegmentExtent, reach: Reach, findings: Findings
) -> None:
    by_marker = {int(row["last_offset"]): row for row in aborted}
    previous = -1
    for entry in entries:
        message = _wrong(entry, by_marker.get(entry.last_offset), segment, reach)
        if entry.last_offset <= previous:
            message = f"the entry of the marker at {entry.last_offset} follows that of the marker at {previous}"
        if message:
            findings.add("txn-index", message, file=segment.path, position=entry.position, offset=entry.last_offset)
        previous = max(previous, entry.last_offset)


def _report_missing_file(segment: SegmentExtent, needed: Transactions, findings: Findings) -> None:
    if needed.size:
        offset = int(needed["last_offset"][0])
        what = "an aborted transaction ends" if needed.size == 1 else f"{needed.size} aborted transactions end"
        message = f"the file is missing, but {what} in the segment, the first at {offset}"
        findings.add("txn-index", message, fault="no-txnindex", file=segment.path, offset=offset)


def _report_missing_entry(segment: SegmentExtent, transaction: np.void, findings: Findings) -> None:
    span = f"{transaction['first_offset']} to {transaction['last_offset']}"
    findings.add(
        "txn-index",
        f"the aborted transaction of producer {transaction['producer_id']}, {span}, has no entry in {segment.path}",
        fault="no-txn-entry",
        file=segment.log_path,
        position=int(transaction["position"]),
        offset=int(transaction["last_offset"]),
    )


def _wrong(entry: Entry, transaction: np.void | None, segment: SegmentExtent, reach: Reach) -> str | None:
    """Compare an entry with the transaction whose marker is at its last offset. Return what is wrong, or None."""
    if entry.version != 0:
        return f"the entry has version {entry.version}"
    if transaction is None:
        return None if segment.is_damaged else f"there is no abort marker at offset {entry.last_offset}"
    if entry.producer_id != int(transaction["producer_id"]):
        owner = int(transaction["producer_id"])
        return f"the marker at {entry.last_offset} belongs to producer {owner}, not {entry.producer_id}"
    if min(entry.first_offset, entry.last_stable_offset) < 0:
        return f"the first offset is {entry.first_offset} and the last stable offset {entry.last_stable_offset}"
    first = int(transaction["first_offset"])
    lost_up_to = max(reach.log_begins_at, reach.compacted_up_to)
    may_reach_back = segment.is_damaged or entry.first_offset < lost_up_to
    may_begin_later = first < reach.unknown_up_to and entry.first_offset < entry.last_offset
    if entry.first_offset != first and not (may_reach_back if entry.first_offset < first else may_begin_later):
        return f"the transaction that ends at {entry.last_offset} begins at {first}, not {entry.first_offset}"
    stable = int(transaction["last_stable_offset"])
    reaches_back = may_reach_back or first < reach.compacted_up_to
    # The first batches of another transaction may have been removed.
    reaches_back |= entry.last_stable_offset < min(max(stable, reach.log_begins_at), lost_up_to)
    if entry.last_stable_offset != stable and not reaches_back:
        return f"the last stable offset after {entry.last_offset} was {stable}, not {entry.last_stable_offset}"
    return None
