"""One round of the cleaner: clean one log (Kafka's Cleaner).

    1.  The newest offset of each key in the dirty segments is put into the offset map. Records of aborted transactions
        do not count. If the map gets full, the round ends there.
    2.  All segments up to there, including clean ones, are copied into new ones without the unneeded records.
        Neighboring segments are combined as far as segment.bytes and segment.index.bytes allow.
    3.  Each new segment replaces the old ones under Kafka's file names, so that a crash at any moment loses nothing:

            00000000000000000000.log.cleaned    being written; synced to disk when it is complete
            00000000000000000000.log.swap       complete; the old files are renamed to .deleted
            00000000000000000000.log

Steps 1 and 2 run in a thread, which has its own descriptors, and which may be aborted at every batch. Step 3 runs in
the event loop.
"""

import contextlib
import math
import os
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kafkalet.clock import elapsed_s
from kafkalet.formats import CLEANED
from kafkalet.protocol.records.batch import INT32, LENGTH_AT, LOG_OVERHEAD, UP_TO_MAGIC, Batch, batches
from kafkalet.storage import scan
from kafkalet.storage.cleaner_state import Cleaning
from kafkalet.storage.config import END_OF_ROUND, HIGH_WATERMARK, LogConfig
from kafkalet.storage.files import File, Files
from kafkalet.storage.index import MAX_RELATIVE_OFFSET, IndexPool
from kafkalet.storage.local_log import segment_of
from kafkalet.storage.log import Log
from kafkalet.storage.segment import SUFFIXES, Segment, file_name
from kafkalet.storage.values import AbortedTransaction
from kafkalet.tasks.task import pause

from .offset_map import OffsetMap
from .record_filter import CannotClean, LastRecord, RecordFilter
from .selection import LogToClean
from .transactions import CleanedTransactions

MAX_OPEN_FILES = 8
"""The number of descriptors of the thread."""


class CleanerSettings(NamedTuple):
    """The broker properties that affect a round."""

    dedupe_buffer_bytes: int = 128 << 20
    """log.cleaner.dedupe.buffer.size, divided by the number of threads."""
    load_factor: float = 0.9
    """log.cleaner.io.buffer.load.factor"""
    io_buffer_bytes: int = 256 << 10
    """log.cleaner.io.buffer.size, divided by the number of threads and by two: one buffer is for reading, one for
    writing. Before Kafka 3.9, there is at most one index entry per write."""
    max_message_bytes: int = 1048588
    """message.max.bytes: the buffers may grow to this size."""
    max_bytes_per_second: float = math.inf
    """log.cleaner.io.max.bytes.per.second: how much is read and written on average."""


class Round(NamedTuple):
    """The result of a round."""

    first_dirty_offset: int
    """The first dirty offset before the round."""
    end_offset: int
    """The first dirty offset after the round."""
    bytes_before: int
    bytes_after: int
    """The sizes of the segments that were cleaned, and of those that replace them."""
    records_before: int
    records_after: int
    """The numbers of records in them, except in batches that were removed as a whole."""


class _Source(NamedTuple):
    """A segment to read in the thread, with everything that the thread must not look up itself."""

    path: str
    size_bytes: int
    position: int = 0
    """The position from which the segment is read."""
    end_offset: int = 0
    """The offset at which the segment ends: the base offset of the next one, or the end of the dirty part."""
    keeps_legacy_tombstones: bool = True


class _Cleaned(NamedTuple):
    """A segment that the thread has written."""

    size_bytes: int
    records_read: int
    records_written: int


async def clean(found: LogToClean, cleaning: Cleaning, settings: CleanerSettings, now_ms: int) -> Round:
    """Clean a log. Return the result of the round.

    Raises CleaningAborted, CannotClean, KafkaError for corrupt entries, and OSError. Segments that have been replaced
    by then stay replaced.
    """
    log, end = found.log, found.first_uncleanable_offset
    offsets = OffsetMap(settings.dedupe_buffer_bytes, settings.load_factor)
    throttle = Throttle(settings.max_bytes_per_second, cleaning)
    await cleaning.step(_OffsetMapStep(log, found.first_dirty_offset, end, offsets, cleaning, throttle).run)
    config, end_offset = log.config, offsets.latest_offset + 1
    legacy_horizon_ms = 0
    if clean_segments := log.segments.between(0, found.first_dirty_offset):
        legacy_horizon_ms = clean_segments[-1].modified_ms - config.delete_retention_ms
    keeps_before = {HIGH_WATERMARK: log.high_watermark, END_OF_ROUND: end}.get(config.keeps_empty_batch_before, -1)
    record_filter = RecordFilter(
        offsets,
        CleanedTransactions(),
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        sets_horizons=config.sets_delete_horizons,
        keeps_before=keeps_before,
    )
    sync = partial(_sync, log.local.environment.files, log.directory)
    bytes_before = bytes_after = records_before = records_after = 0
    for group in group_by_size(log.segments.between(0, end_offset), config, end):
        bytes_before += sum(segment.size_bytes for segment in group)
        record_filter.last_records = {
            entry.producer_id: LastRecord(entry.last_data_offset, entry.producer_epoch)
            for entry in log.active_producers()
        }
        step = _CopyStep(log, group, record_filter, legacy_horizon_ms, cleaning, settings, throttle)
        cleaning.discard = step.discard
        cleaned = await cleaning.step(step.run)
        replacement, snapshots = log.replace_segments(step.open(log), group)
        cleaning.discard = replacement.complete
        await cleaning.step(sync)
        while replacement.set_aside():
            await pause()
            cleaning.check()
        await cleaning.step(sync)
        replacement.finish()
        cleaning.discard = lambda: None
        await cleaning.step(partial(sync, snapshots))
        bytes_after += cleaned.size_bytes
        records_before += cleaned.records_read
        records_after += cleaned.records_written
    return Round(found.first_dirty_offset, end_offset, bytes_before, bytes_after, records_before, records_after)


class Throttle:
    """Limits the average rate of a round (Kafka's Throttler). Used by the thread."""

    def __init__(self, bytes_per_second: float, cleaning: Cleaning) -> None:
        self._bytes_per_second = bytes_per_second
        self._cleaning = cleaning
        self._began_s: float | None = None
        self._bytes = 0

    def used(self, size_bytes: int) -> None:
        """Count bytes that were read or written, and wait until the average rate is low enough again."""
        if self._began_s is None:
            self._began_s = elapsed_s()
        self._bytes += size_bytes
        ahead_s = self._bytes / self._bytes_per_second - (elapsed_s() - self._began_s)
        if ahead_s > 0.01:
            self._cleaning.pause(ahead_s)


def aborted_transactions(log: Log, offset: int, end: int) -> Sequence[AbortedTransaction]:
    """Return the aborted transactions that begin before `end` and whose markers are in the segment of `offset` or in
    later ones (LocalLog.collectAbortedTransactions).
    """
    segment = log.segments.floor(offset)
    return [] if segment is None else log.local.aborted_transactions(log.log_start_offset, end, segment)


def group_by_size(segments: Sequence[Segment], config: LogConfig, end: int) -> list[list[Segment]]:
    """Group neighboring segments that are combined into one (Cleaner.groupSegmentsBySize).

    `end` is the first uncleanable offset. Offsets of a new segment must be representable relative to its first one.
    """
    groups: list[list[Segment]] = []
    sizes = [0, 0, 0]
    limits = config.segment_bytes, config.segment_index_bytes, config.segment_index_bytes
    for at, segment in enumerate(segments):
        own = segment.size_bytes, segment.offset_index.file_size_bytes, segment.time_index.file_size_bytes
        segment_end = segments[at + 1].base_offset if at + 1 < len(segments) else end
        if (
            groups
            and all(size + more <= limit for size, more, limit in zip(sizes, own, limits, strict=True))
            and (not segment.size_bytes or segment_end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(segment)
            sizes = [size + more for size, more in zip(sizes, own, strict=True)]
        else:
            groups.append([segment])
            sizes = list(own)
    return groups


def _position_of(offset: int, segment: Segment) -> int:
    """Return a position at or before the entry with this offset."""
    return segment.offset_index.lookup(offset) if offset > segment.base_offset else 0


def _sync(files: Files, directory: str, snapshots: Sequence[str] = ()) -> None:
    """Sync the new names to disk, and delete the producer snapshots of segments that no longer exist."""
    if files.durable:
        files.sync_directory(directory)
    for path in snapshots:
        with contextlib.suppress(FileNotFoundError):
            files.system.unlink(path)


def _files_for_thread(log: Log) -> Files:
    """Return a pool of descriptors that only one thread uses."""
    files = log.local.environment.files
    return Files(durable=files.durable, max_open=MAX_OPEN_FILES, system=files.system)


class _OffsetMapStep:
    """Builds the offset map. Created in the event loop, run in a thread (Cleaner.buildOffsetMap)."""

    def __init__(
        self, log: Log, start: int, end: int, offsets: OffsetMap, cleaning: Cleaning, throttle: Throttle
    ) -> None:
        self._throttle = throttle
        self._files = _files_for_thread(log)
        self._start = start
        self._offsets = offsets
        self._cleaning = cleaning
        dirty = log.segments.between(start, end)
        ends = [*(segment.base_offset for segment in dirty[1:]), end]
        self._sources = [
            _Source(segment.path, segment.size_bytes, _position_of(start, segment), segment_end)
            for segment, segment_end in zip(dirty, ends, strict=False)
        ]
        self._transactions = CleanedTransactions()
        self._transactions.add(aborted_transactions(log, start, end))

    def run(self) -> None:
        try:
            for source in self._sources:
                if not self._add_segment(source):
                    return
                self._offsets.latest_offset = source.end_offset - 1  # even if offsets are missing at the end
        finally:
            self._files.close()

    def _add_segment(self, source: _Source) -> bool:
        """Add the records of a segment. Return False if the map is full."""
        offsets, start, transactions = self._offsets, self._start, self._transactions
        for _, batch in scan.entries(self._files.file(source.path), source.position, source.size_bytes):
            self._cleaning.check()
            self._throttle.used(batch.size)
            if batch.is_control:
                transactions.read_control_batch(batch)
            elif not transactions.read_batch(batch):
                records = batch.records()
                if batch.base_offset < start or batch.magic < 2:
                    records = [record for record in records if record.offset >= start]
                if not offsets.put_all(records):
                    return False
            if batch.last_offset >= start:
                offsets.latest_offset = batch.last_offset
        return True


class _CopyStep:
    """Copies the records that stay from a group of segments into a new one. Created in the event loop, run in a thread.

    Kafka's Cleaner.cleanSegments and cleanInto.
    """

    def __init__(
        self,
        log: Log,
        group: Sequence[Segment],
        record_filter: RecordFilter,
        legacy_horizon_ms: int,
        cleaning: Cleaning,
        settings: CleanerSettings,
        throttle: Throttle,
    ) -> None:
        self._throttle = throttle
        self._files = _files_for_thread(log)
        self._directory, self._base_offset, self._config = log.directory, group[0].base_offset, log.config
        self._clock = log.local.environment.clock
        self._modified_ms = group[-1].modified_ms
        self._filter = record_filter
        self._cleaning = cleaning
        self._settings = settings
        self._sources = [
            _Source(segment.path, segment.size_bytes, keeps_legacy_tombstones=segment.modified_ms > legacy_horizon_ms)
            for segment in group
        ]
        following = log.segments.higher(group[-1].base_offset)
        assert following is not None, f"{log.name}: the active segment is never cleaned"
        record_filter.transactions.add(aborted_transactions(log, group[0].base_offset, following.base_offset))
        self._records_written = 0

    @property
    def _paths(self) -> list[str]:
        names = [file_name(self._base_offset, suffix) + CLEANED for suffix in SUFFIXES]
        return [os.path.join(self._directory, name) for name in names]

    def discard(self) -> None:
        """Delete the files of the new segment if they exist."""
        for path in self._paths:
            with contextlib.suppress(OSError):
                self._files.system.unlink(path)

    def open(self, log: Log) -> Segment:
        """Open the complete segment for the log."""
        environment = log.local.environment
        return segment_of(environment, self._directory, self._base_offset, self._config, new=False, suffix=CLEANED)

    def run(self) -> _Cleaned:
        self.discard()
        try:
            return self._write()
        except BaseException:
            self._files.close()
            self.discard()
            raise

    def _write(self) -> _Cleaned:
        cleaned = Segment(
            self._directory,
            self._base_offset,
            self._config,
            self._files,
            IndexPool(),
            self._clock,
            new=True,
            suffix=CLEANED,
        )
        records_before = self._filter.records_read
        self._filter.transactions.keep = cleaned.txn_index.append
        for source in self._sources:
            self._filter.keeps_legacy_tombstones = source.keeps_legacy_tombstones
            file = self._files.file(source.path)
            self._copy(file, source.size_bytes, cleaned)
            file.close()
        cleaned.end_appends()
        cleaned.close()
        self._files.close()
        self._sync()
        return _Cleaned(cleaned.size_bytes, self._filter.records_read - records_before, self._records_written)

    def _copy(self, file: File, size_bytes: int, cleaned: Segment) -> None:
        """Copy a segment in pieces, as Kafka does: the size of a piece determines where index entries are."""
        position, capacity = 0, self._settings.io_buffer_bytes
        while position < size_bytes:
            self._cleaning.check()
            piece = file.read(min(capacity, size_bytes - position), position)
            self._throttle.used(len(piece))
            copied = self._copy_piece(piece, capacity, cleaned)
            position += copied
            if not copied:
                capacity = self._larger(capacity, piece, size_bytes - position, f"{file.path} at position {position}")

    def _copy_piece(self, piece: bytes, capacity: int, cleaned: Segment) -> int:
        """Append the remaining records of the complete batches in `piece`. Return the number of bytes read."""
        output: list[bytes | memoryview] = []
        read = size = 0
        max_offset = -1
        for batch in batches(piece):
            self._cleaning.check()
            retained = self._filter.filter(batch)
            read += batch.size
            if retained is None:
                continue
            output.append(retained.data)
            size += len(retained.data)
            self._records_written += retained.records
            max_offset = max(max_offset, retained.max_offset)
            if size > capacity:  # a batch can grow; Kafka then writes what it has before it continues
                break
        if output:
            if max_offset - self._base_offset > MAX_RELATIVE_OFFSET:
                raise CannotClean(f"offset {max_offset} is too large for the segment at {self._base_offset}")
            self._append(output, max_offset, cleaned)
            self._throttle.used(size)
        return read

    def _append(self, output: Sequence[bytes | memoryview], max_offset: int, cleaned: Segment) -> None:
        data, heads = b"".join(output), [Batch(each) for each in output]
        if self._config.indexes_each_batch:
            cleaned.append_each(data, heads)
        else:
            cleaned.require_index_room()
            latest = max(heads, key=lambda head: head.max_timestamp)
            cleaned.append(data, max_offset, latest.max_timestamp, latest.last_offset)

    def _larger(self, capacity: int, piece: bytes, left: int, place: str) -> int:
        """Return a larger size for the pieces, because the next batch does not fit (Cleaner.growBuffersOrFail)."""
        largest = self._config.max_message_bytes
        if capacity >= largest:
            size = LOG_OVERHEAD + INT32.unpack_from(piece, LENGTH_AT)[0] if len(piece) >= UP_TO_MAGIC else 0
            if size <= capacity or size > left:
                raise CannotClean(f"{place} has {left} bytes that are not a complete batch")
            largest = size
        largest = max(largest, self._settings.max_message_bytes)
        if capacity >= largest:
            raise CannotClean(f"This log contains a message larger than maximum allowable size of {largest}.")
        return min(capacity * 2, largest)

    def _sync(self) -> None:
        """Flush the new files to disk if the broker is durable, and give them the time of the last old segment."""
        system = self._files.system
        log_path, offset_index_path, time_index_path, _ = self._paths
        for descriptor in self._files.descriptors(self._paths) if self._files.durable else ():
            try:
                descriptor.force()
            finally:
                descriptor.close()
        for path in (log_path, offset_index_path, time_index_path):
            system.set_modified(path, self._modified_ms)
