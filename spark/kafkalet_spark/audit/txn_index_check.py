"""Check that each .txnindex lists exactly the aborted transactions whose markers are in its segment.

An index entry contains the producer ID, the first offset of the transaction, the offset of the marker, and the last
stable offset after the marker was appended. Aborted transactions without data have no entry. After compaction, an entry
still has the original first offset, and after retention, its first offset may be below the log start. The log cleaner
drops the entries of transactions that ended below the log start offset (LocalLog.collectAbortedTransactions).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkalet_spark.logs.files import UnreadableFile
from kafkalet_spark.logs.indexes import TXN_ENTRY

from .findings import Findings
from .index_files import read_entries, torn_bytes
from .transaction_history import ABORTED, Transactions, has_data


class SegmentExtent(NamedTuple):
    """A segment and its offsets, from `base_offset` to `end_offset` (exclusive)."""

    log_path: str
    path: str
    base_offset: int
    end_offset: int
    is_damaged: bool
    """Whether part of the log is unreadable, so that markers may be missing."""


class Entry(NamedTuple):
    """An entry of the index."""

    position: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def check_transaction_index(
    segment: SegmentExtent,
    transactions: Transactions,
    log_begins_at: int,
    log_start_offset: int,
    compacted_up_to: int,
    before_offset: int | None,
    findings: Findings,
) -> int:
    """Compare one file with the `transactions` of the log, and return the number of its entries."""
    rows, torn, is_there = np.empty(0, TXN_ENTRY), 0, False
    try:
        rows = read_entries(segment.path, TXN_ENTRY, is_padded=False)
        torn = torn_bytes(segment.path, TXN_ENTRY)
        is_there = True
        findings.checked["transaction index files"] += 1
        findings.checked["transaction index entries"] += rows.size
    except FileNotFoundError:
        pass
    except UnreadableFile as error:
        findings.skip(error.path, error.reason)
        return 0
    if torn:
        reason = f"the index ends with an incomplete entry of {torn} bytes"
        findings.add("txn-index", reason, fault="torn-txnindex", file=segment.path)
    entries = [Entry(at * TXN_ENTRY.itemsize, *map(int, row)) for at, row in enumerate(rows.tolist())]
    if before_offset is not None:
        entries = [entry for entry in entries if entry.last_offset < before_offset]
    here = (transactions["last_offset"] >= segment.base_offset) & (transactions["last_offset"] < segment.end_offset)
    aborted = transactions[here & (transactions["result"] == ABORTED)]
    by_marker = {int(row["last_offset"]): row for row in aborted}
    seen: set[int] = set()
    previous = -1
    reach = _Reach(log_begins_at, compacted_up_to, min(log_start_offset, compacted_up_to))
    for entry in entries:
        message = _wrong(entry, by_marker.get(entry.last_offset), segment, reach)
        if entry.last_offset <= previous:
            message = f"the entry of the marker at {entry.last_offset} follows that of the marker at {previous}"
        if message:
            findings.add("txn-index", message, file=segment.path, position=entry.position, offset=entry.last_offset)
        seen.add(entry.last_offset)
        previous = max(previous, entry.last_offset)
    needed = has_data(aborted) & (aborted["last_offset"] >= reach.unknown_up_to)
    lacking = [row for row in aborted[needed] if int(row["last_offset"]) not in seen]
    if lacking and not is_there:
        count, first = len(lacking), lacking[0]
        what = "an aborted transaction ends" if count == 1 else f"{count} aborted transactions end"
        reason = f"the file is missing, but {what} in the segment, the first at {first['last_offset']}"
        offset = int(first["last_offset"])
        findings.add("txn-index", reason, fault="no-txnindex", file=segment.path, offset=offset)
        return 0
    for row in lacking:
        span = f"{row['first_offset']} to {row['last_offset']}"
        findings.add(
            "txn-index",
            f"the aborted transaction of producer {row['producer_id']}, {span}, has no entry in {segment.path}",
            fault="no-txn-entry",
            file=segment.log_path,
            position=int(row["position"]),
            offset=int(row["last_offset"]),
        )
    return len(entries)


class _Reach(NamedTuple):
    """Which offsets may be missing from the log."""

    log_begins_at: int
    compacted_up_to: int
    unknown_up_to: int
    """The log cleaner knows no transactions that ended below this offset, and may have removed their markers."""


def _wrong(entry: Entry, transaction: np.void | None, segment: SegmentExtent, reach: _Reach) -> str | None:
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
