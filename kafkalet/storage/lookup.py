"""Finding offsets by timestamp.

A timestamp of 0 or more finds the first record, in offset order, that is not deleted and has this timestamp or a later
one:

1. the first segment whose largest timestamp is late enough; deleted records count, and later segments are not searched;
2. in that segment, the first entry whose largest timestamp is late enough, starting from a position that the indexes
   provide;
3. in that entry, decompressed if needed, the first record that is late enough and not below the log start offset; if
   there is none, the entries after it.

Searching the records of one entry may take seconds, so a large entry is searched in a thread. The log may change in the
meantime: the lookup goes on after that entry if the log still has it, and otherwise begins again.

Negative timestamps have special meanings (ListOffsetsRequest). Sources: UnifiedLog.fetchOffsetByTimestamp and
legacyFetchOffsetsBefore, LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import LOG_APPEND_TIME, NO_LEADER_EPOCH, NO_TIMESTAMP, Batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.effort import batch_takes_long
from kafkalet.tasks.task import in_thread

from .config import BATCH, COMPRESSED_BATCH
from .log import Log
from .segment import Segment
from .values import UNKNOWN_OFFSET, TimestampOffset

LATEST = -1
"""The log end offset (consumers get the high watermark or the last stable offset instead)."""
EARLIEST = -2
"""The log start offset."""
MAX_TIMESTAMP = -3
"""The first record with the largest timestamp, even if it is deleted (KIP-734)."""
EARLIEST_LOCAL = -4
"""The first offset on the local disk (KIP-405)."""
LATEST_TIERED = -5
"""The last offset in remote storage (KIP-1005)."""
EARLIEST_PENDING_UPLOAD = -6
"""The first offset that is not in remote storage yet (KIP-1023)."""

_NOT_TIERED = TimestampOffset(NO_TIMESTAMP, UNKNOWN_OFFSET, NO_LEADER_EPOCH)


class _Entry(NamedTuple):
    """An entry that may have the record, and its place."""

    segment: Segment
    position: int
    batch: Batch

    @property
    def is_current(self) -> bool:
        """Whether its segment still has the entry."""
        try:
            at, head = next(self.segment.heads(self.position))
            batch = self.segment.entry(at, head.size)
        except (KafkaError, StopIteration):  # the segment was truncated
            return False
        return (batch.base_offset, batch.crc) == (self.batch.base_offset, self.batch.crc)


def earliest(log: Log) -> TimestampOffset:
    """Return the log start offset."""
    # The first epoch may begin above the log start offset: older records have a format without epochs.
    first = log.epochs.earliest
    epoch = first.epoch if first is not None and first.start_offset <= log.log_start_offset else NO_LEADER_EPOCH
    return TimestampOffset(NO_TIMESTAMP, log.log_start_offset, epoch)


async def find(log: Log, timestamp: int) -> TimestampOffset | None:
    """Return the offset for a time or a special timestamp other than LATEST; None if no record is late enough.

    The timestamp in the result is the record's, or -1 if no record was searched for. Raises KafkaError
    (UNSUPPORTED_FOR_MESSAGE_FORMAT) for a log of format 0, which has no timestamps, and ValueError for other negative
    timestamps.
    """
    if timestamp >= 0:
        return await find_time(log, timestamp)
    if timestamp == EARLIEST:
        return earliest(log)
    _check_format(log)
    if timestamp == EARLIEST_LOCAL:
        return earliest(log) if log.local.tier is None else _with_epoch(log, log.local_log_start_offset)
    if timestamp == MAX_TIMESTAMP:
        return await _latest_record(log)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _bound_of_tier(log, timestamp)
    raise ValueError(f"the special timestamp {timestamp} is not supported")


def _bound_of_tier(log: Log, timestamp: int) -> TimestampOffset:
    """Return the last offset in remote storage, or the first one that is not there yet
    (UnifiedLog.fetchEarliestPendingUploadOffset)."""
    tier = log.local.tier
    end = 0 if tier is None else tier.end_offset
    if tier is not None and timestamp == EARLIEST_PENDING_UPLOAD and not end:
        return earliest(log) if log.local_log_start_offset == log.log_start_offset else _NOT_TIERED
    if not end:
        return _NOT_TIERED
    return _with_epoch(log, end - 1 if timestamp == LATEST_TIERED else max(end, log.log_start_offset))


def _with_epoch(log: Log, offset: int) -> TimestampOffset:
    """Return an offset with its leader epoch (LeaderEpochFileCache.epochForOffset)."""
    epochs = [each.epoch for each in log.epochs.entries if each.start_offset <= offset]
    return TimestampOffset(NO_TIMESTAMP, offset, epochs[-1] if epochs else NO_LEADER_EPOCH)


async def find_time(log: Log, timestamp: int) -> TimestampOffset | None:
    """Return the first record, in offset order, at or after `timestamp`, which may be negative."""
    _check_format(log)
    entry = None
    while (entry := _next_entry(log, timestamp, entry)) is not None:
        found = await _search(entry.batch, partial(_first_reaching, entry.batch, timestamp, log.log_start_offset))
        if found is not None:
            return found
    return None


def _check_format(log: Log) -> None:
    if log.config.record_version == 0:
        raise KafkaError(
            Code.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"Cannot search offsets based on timestamp because the message format of {log.name} has none",
        )


def legacy_offsets_before(log: Log, timestamp: int, max_num_offsets: int, now_ms: int) -> list[int]:
    """Return the result of ListOffsets v0: up to `max_num_offsets` base offsets of segments, in descending order.

    Only segments last modified at or before `timestamp` count. LATEST selects all segments and the log end offset,
    EARLIEST only the first segment. Offsets below the log start are raised to it, so one may occur more than once.
    Record timestamps are ignored.
    """
    start = log.local_log_start_offset
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


def _next_entry(log: Log, timestamp: int, searched: _Entry | None) -> _Entry | None:
    """Run steps 1 and 2 of the search described above: return the first entry that is late enough, after `searched`."""
    for segment in _segments_reaching(log, timestamp):
        if searched is not None and searched.is_current:
            if searched.segment.base_offset > segment.base_offset:
                continue
            start = searched.position + searched.batch.size if searched.segment is segment else None
        else:
            start = None
        if start is None:
            start = segment.position_before(timestamp, log.log_start_offset)
        for at, head in segment.heads(start):
            if head.max_timestamp >= timestamp and head.last_offset >= log.log_start_offset:
                return _Entry(segment, at, segment.entry(at, head.size))
    return None


def _segments_reaching(log: Log, timestamp: int) -> Iterator[Segment]:
    """Yield the first remote segment that is late enough and has records that are not deleted, and the first local one
    (RemoteLogManager.findOffsetByTimestamp)."""
    if log.local.tier is not None:
        first_local = log.segments.first.base_offset
        for each in log.local.tier.valid:
            if each.start_offset >= first_local:
                break
            if each.max_timestamp_ms >= timestamp and each.end_offset >= log.log_start_offset:
                found = log.local.tier.segments.get(each.start_offset)
                assert found is not None
                yield found
                break
    if (local := log.segments.first_reaching(timestamp)) is not None:
        yield local


async def _search(batch: Batch, search: Callable[[], TimestampOffset | None]) -> TimestampOffset | None:
    """Return what `search` finds in `batch`; run it in a thread if it takes long."""
    return await in_thread(search, droppable=True) if batch_takes_long(batch) else search()


def _first_reaching(entry: Batch, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
    for record in entry.iterate():
        if record.timestamp >= timestamp and record.offset >= log_start_offset:
            return TimestampOffset(record.timestamp, record.offset, entry.leader_epoch)
    return None


async def _latest_record(log: Log) -> TimestampOffset | None:
    segment = log.segments.with_largest_timestamp()
    largest = segment.largest
    for at, head in segment.heads(segment.offset_index.lookup(largest.offset)):
        if head.max_timestamp == largest.timestamp:
            entry = segment.entry(at, head.size)
            place = log.config.place_of_max_timestamp
            is_unread = entry.codec is not Codec.NONE or entry.attributes & LOG_APPEND_TIME
            if place == BATCH or (place == COMPRESSED_BATCH and is_unread):
                is_unset = place == BATCH and largest.timestamp == NO_TIMESTAMP
                offset = entry.base_offset if is_unset else entry.last_offset
                return TimestampOffset(largest.timestamp, offset, entry.leader_epoch)
            return await _search(entry, partial(_first_with, entry, largest.timestamp))
    return None


def _first_with(batch: Batch, timestamp: int) -> TimestampOffset | None:
    """Return the first record of `batch` with its largest timestamp (RecordBatch.offsetOfMaxTimestamp)."""
    if batch.magic == 0:
        return None
    for record in batch.iterate():
        if record.timestamp == timestamp:
            return TimestampOffset(timestamp, record.offset, batch.leader_epoch)
    return None
