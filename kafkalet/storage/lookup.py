"""An offset for a time.

A timestamp of 0 or more asks for the first record, in the order of offsets, that is as late or later and not deleted:

1. the first segment whose largest timestamp is late enough; deleted records count, and later segments are never tried;
2. in it the first entry of the log whose largest timestamp is late enough, looked for from a position that the indexes
   know to be before it;
3. in that entry, decompressed where need be, the first record that is late enough and not below the log start offset;
   where there is none, the entries behind it.

To look through the records of one entry may take seconds. A caller that cannot spend them passes a dictionary for what
is `known`, catches `LongSearch`, has its `call` made in another thread, notes the result in the dictionary, and asks
again.

Negative timestamps have names (ListOffsetsRequest). Sources: UnifiedLog.fetchOffsetByTimestamp and
legacyFetchOffsetsBefore, LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import NO_LEADER_EPOCH, NO_TIMESTAMP, Batch
from kafkalet.protocol.records.effort import batch_takes_long

from .log import Log
from .segment import Segment
from .values import UNKNOWN_OFFSET, TimestampOffset

LATEST = -1
"""The log end offset (a broker tells consumers high watermark or last stable offset instead)."""
EARLIEST = -2
"""The log start offset."""
MAX_TIMESTAMP = -3
"""The first record with the largest timestamp, even if it is deleted (KIP-734)."""
EARLIEST_LOCAL = -4
"""The first offset that is not only in tiered storage (KIP-405): the log start offset, for there is no such storage."""
LATEST_TIERED = -5
"""The last offset in tiered storage (KIP-1005): none."""
EARLIEST_PENDING_UPLOAD = -6
"""The first offset that is not in tiered storage yet (KIP-1023): none is ever to be."""

_NOT_TIERED = TimestampOffset(NO_TIMESTAMP, UNKNOWN_OFFSET, NO_LEADER_EPOCH)


EntryKey = tuple[int, int]
"""Base offset and checksum of an entry."""
Known = dict[EntryKey, TimestampOffset | None]


class LongSearch(Exception):
    """The records of an entry have to be looked through, and they are many.

    `call` does that, without touching the log; its result belongs under `key`.
    """

    def __init__(self, key: EntryKey, call: Callable[[], TimestampOffset | None]) -> None:
        super().__init__(key)
        self.key = key
        self.call = call


def find(log: Log, timestamp: int, known: Known | None = None) -> TimestampOffset | None:
    """The offset for `timestamp`, a time or one of the names above but LATEST; None where no record is late enough.

    The timestamp of the answer is that of the record found; -1 where none was looked for. Raises KafkaError:
    UNSUPPORTED_FOR_MESSAGE_FORMAT where a time is asked of a log of format 0, which has none. Raises ValueError for
    another negative timestamp, and LongSearch if `known` is given and has to be added to.
    """
    if timestamp >= 0:
        return find_time(log, timestamp, known)
    if timestamp != EARLIEST:
        _check_format(log)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        # The first epoch may begin above the log start: what lies below is of an older format and has none.
        first = log.epochs.earliest
        epoch = first.epoch if first is not None and first.start_offset <= log.log_start_offset else NO_LEADER_EPOCH
        return TimestampOffset(NO_TIMESTAMP, log.log_start_offset, epoch)
    if timestamp == MAX_TIMESTAMP:
        return _latest_record(log, known)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOT_TIERED
    raise ValueError(f"no offset is found by the special timestamp {timestamp}")


def find_time(log: Log, timestamp: int, known: Known | None = None) -> TimestampOffset | None:
    """The first record, in the order of offsets, that is as late as `timestamp` or later, whatever its sign."""
    _check_format(log)
    segment = log.segments.first_reaching(timestamp)
    return None if segment is None else _search(segment, timestamp, log.log_start_offset, known)


def _check_format(log: Log) -> None:
    if log.config.record_version == 0:
        raise KafkaError(
            Code.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"Cannot search offsets based on timestamp because the message format of {log.name} has none",
        )


def legacy_offsets_before(log: Log, timestamp: int, max_num_offsets: int, now_ms: int) -> list[int]:
    """What ListOffsets v0 answers: up to `max_num_offsets` offsets at which segments start, the last first.

    They are those of the segments that were last modified at `timestamp` or before; LATEST takes all, and the log end
    offset before them; EARLIEST only the first. An offset below the log start is lifted there, so it can come more than
    once. Record timestamps play no part.
    """
    start = log.log_start_offset
    times = [(max(segment.base_offset, start), segment.modified_ms) for segment in log.segments]
    if log.segments.active.size_bytes > 0:
        times.append((log.log_end_offset, now_ms))
    if timestamp == LATEST:
        count = len(times)
    elif timestamp == EARLIEST:
        count = 1
    else:
        count = next((at + 1 for at in reversed(range(len(times))) if times[at][1] <= timestamp), 0)
    chosen = [offset for offset, _ in times[max(count - max_num_offsets, 0) : count]]
    return sorted(chosen, reverse=True)


def _search(segment: Segment, timestamp: int, log_start_offset: int, known: Known | None) -> TimestampOffset | None:
    """Steps 2 and 3."""
    for at, head in segment.heads(segment.position_before(timestamp, log_start_offset)):
        if head.max_timestamp >= timestamp and head.last_offset >= log_start_offset:
            entry = segment.entry(at, head.size)
            found = _look(entry, partial(_first_reaching, entry, timestamp, log_start_offset), known)
            if found is not None:
                return found
    return None


def _look(entry: Batch, search: Callable[[], TimestampOffset | None], known: Known | None) -> TimestampOffset | None:
    """What `search` finds in `entry`, or has found there."""
    if known is None or not batch_takes_long(entry):
        return search()
    key = (entry.base_offset, entry.crc)
    if key not in known:
        raise LongSearch(key, search)
    return known[key]


def _first_reaching(entry: Batch, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
    for record in entry.iterate():
        if record.timestamp >= timestamp and record.offset >= log_start_offset:
            return TimestampOffset(record.timestamp, record.offset, entry.leader_epoch)
    return None


def _latest_record(log: Log, known: Known | None) -> TimestampOffset | None:
    segment = log.segments.with_largest_timestamp()
    largest = segment.largest
    for at, head in segment.heads(segment.offset_index.lookup(largest.offset)):
        if head.max_timestamp == largest.timestamp:
            entry = segment.entry(at, head.size)
            return _look(entry, partial(_first_with, entry, largest.timestamp), known)
    return None


def _first_with(batch: Batch, timestamp: int) -> TimestampOffset | None:
    """The first record of `batch` that has its largest timestamp (RecordBatch.offsetOfMaxTimestamp)."""
    if batch.magic == 0:
        return None
    for record in batch.iterate():
        if record.timestamp == timestamp:
            return TimestampOffset(timestamp, record.offset, batch.leader_epoch)
    return None
