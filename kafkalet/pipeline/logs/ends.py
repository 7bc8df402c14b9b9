"""Where a log ends: for a reader who sees everything, and for one who sees only what was committed.

log_end_offset      the offset behind the last entry that lies whole in the last segment. What follows it, the first
                    part of an entry, is on its way, or was when the broker was killed; a start of the broker cuts it
                    off. `log_end` tells where that is.
last_stable_offset  the first offset of the oldest open transaction, else the log end offset. Files do not say what is
                    replicated: the high watermark of a partition with replicas may be lower (`replication-offset-
                    checkpoint`, which lags behind a running broker).

Which transactions are open say the newest snapshot of the producers' states, and the entries behind it.
"""

from __future__ import annotations

from kafkalet.pipeline.decoding.transactions import AbortedTransactions

from .directory import PartitionLog
from .indexed import IndexedSegment, floor_segment
from .tail import LogEnd, log_end
from .transactions import OpenTransactions, aborted_transactions, open_transactions

__all__ = [
    "AbortedTransactions",
    "LogEnd",
    "OpenTransactions",
    "aborted_transactions",
    "last_stable_offset",
    "log_end",
    "log_end_offset",
    "open_transactions",
]


def log_end_offset(log: PartitionLog, *, lenient: bool = False) -> int:
    """The offset that the next record would get. Raises as `log_end`."""
    return log_end(log, lenient=lenient).offset


def last_stable_offset(log: PartitionLog, *, lenient: bool = False, within_entry: bool = False) -> int:
    """What a read_committed reader sees: everything below.

    Where a transaction is open that began below the log start offset (DeleteRecords), it is the log start offset; with
    `within_entry`, as Kafka 4 has it, the first offset of the entry that holds it. Raises CorruptFile unless `lenient`.
    """
    end = log_end_offset(log, lenient=lenient)
    open_now = open_transactions(log, lenient=lenient)
    if not open_now.first_offset.size:
        return end
    first = int(open_now.first_offset[0])
    if first >= log.log_start_offset:
        return min(first, end)
    if within_entry:
        return min(_first_offset_of_entry(log, lenient), end)
    return min(log.log_start_offset, end)


def _first_offset_of_entry(log: PartitionLog, lenient: bool) -> int:
    """Of the entry that holds the log start offset."""
    start = log.log_start_offset
    segment = IndexedSegment(log, log.segments[floor_segment(log, start)], lenient=lenient)
    head = segment.entry_with(start)
    return start if head is None else min(start, head.base_offset)
