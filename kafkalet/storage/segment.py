"""A segment: one .log file and its three indexes.

    00000000000000000042.log         entries with offsets from 42 up to the base offset of the next segment
    00000000000000000042.index       written at the next roll, flush or close, like .timeindex
    00000000000000000042.txnindex    created with the first aborted transaction

Only the last segment of a log takes appends. `should_roll` tells when it is full. A segment has no knowledge of the
other segments, or of the offsets that limit readers.
"""

from __future__ import annotations

import logging
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakMethod

from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import ENTRY_HEAD, HEADER_SIZE, LOG_OVERHEAD, NO_TIMESTAMP, Batch

from . import scan
from .config import LogConfig
from .files import Buffer, FileRange, Files, explain
from .index import IndexPool, OutOfOrder
from .offset_index import OffsetIndex
from .time_index import TimeIndex
from .txn_index import CorruptTransactionIndex, TransactionIndex
from .values import LogOffsetMetadata, ReadResult, TimestampOffset

_LOG = logging.getLogger(__name__)

SMALL_READ_BYTES = 16 * 1024
"""The result of a read of up to this many bytes may be bytes instead of a file range."""
READERS = 64
"""How many readers of a segment can continue without a search."""

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")


def file_name(offset: int, suffix: str) -> str:
    """Return Kafka's name for a segment or snapshot file: the offset in twenty digits, and a suffix."""
    return f"{offset:020d}{suffix}"


def _call(method: WeakMethod[Callable[[], None]]) -> None:
    alive = method()
    if alive is not None:
        alive()


class IndexFull(Exception):
    """An index has no room for an entry that is due."""


class EntryLocation(NamedTuple):
    """The position and size of an entry in bytes, and its offsets."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class Segment:
    """One segment. Positions and sizes are bytes in its .log file."""

    __slots__ = (
        *("__weakref__", "_bytes_since_index_entry", "_created_ms", "_file", "_files", "_first_timestamp"),
        *("_has_remains", "_indexes_are_full", "_interval_bytes", "_is_damaged", "_is_modified", "_is_protected"),
        *("_is_recovered", "_jitter_ms", "_largest", "_located", "_maxima", "_next_positions", "base_offset", "clock"),
        *("modified_ms", "offset_index", "size_bytes", "time_index", "txn_index"),
    )

    def __init__(
        self,
        directory: str,
        base_offset: int,
        config: LogConfig,
        files: Files,
        pool: IndexPool,
        clock: Clock,
        *,
        new: bool,
        suffix: str = "",
        stem: str = "",
    ) -> None:
        """Create an empty segment, or open an existing one if `new` is False. `stem` replaces the offset in the names
        of its files."""
        stem = stem or file_name(base_offset, "")
        paths = [os.path.join(directory, stem + kind + suffix) for kind in SUFFIXES]
        self.base_offset = base_offset
        self.clock = clock
        self._files = files
        self._file = files.file(paths[0])
        max_index_bytes = config.segment_index_bytes
        self.offset_index = OffsetIndex(files, pool, paths[1], base_offset, max_index_bytes, new=new)
        self.time_index = TimeIndex(files, pool, paths[2], base_offset, max_index_bytes, new=new)
        self.txn_index = TransactionIndex(files.file(paths[3]), base_offset)
        build_again = WeakMethod(self._rebuild_indexes)  # weak, so that the indexes do not keep the segment's file open
        self.offset_index.rebuild = self.time_index.rebuild = lambda: _call(build_again)
        self._interval_bytes = config.index_interval_bytes
        self._jitter_ms = config.draw_jitter_ms()
        self._bytes_since_index_entry = 0
        self._indexes_are_full: bool | None = None
        """None means unknown, until the indexes are checked."""
        self._located: EntryLocation | None = None
        """The entry found by the last lookup: readers often look up the same entry again."""
        self._next_positions: dict[int, int] = {}
        """The positions after the entries found last, where readers often continue.

        The keys are the offsets after the entries.
        """
        self._first_timestamp: int | None = None
        """The largest timestamp of the first append, from which the age is counted; None if unknown."""
        self._largest: TimestampOffset | None = TimestampOffset(NO_TIMESTAMP, base_offset) if new else None
        """The largest timestamp, and the last offset of the first entry with it; None if not read from the index
        yet."""
        self._maxima: array[int] | None = array("q") if new else None
        """The largest timestamp up to each entry of the offset index; None if unknown."""
        self._created_ms = clock.now_ms()
        self._has_remains = False
        """Whether the file may contain part of a failed append after the last entry."""
        self._is_damaged = False
        """Whether an entry header in the .log is invalid; the indexes then cannot be checked against the log."""
        self._is_modified = new
        self._is_recovered = False
        self._is_protected = not new and not files.system.can_append(paths[0])
        """Whether the file must not become longer."""
        if new:
            self._file.create()
            self.size_bytes = 0
            self.modified_ms = self._created_ms
        else:
            status = files.system.status(paths[0])
            self.size_bytes = status.st_size
            self.modified_ms = status.st_mtime_ns // 1_000_000

    def __repr__(self) -> str:
        return f"<Segment at {self.base_offset}, {self.size_bytes} bytes>"

    @property
    def path(self) -> str:
        """The path of the .log file."""
        return self._file.path

    @property
    def is_modified(self) -> bool:
        """Whether the segment has been created, changed or recovered since it was opened or closed."""
        return self._is_modified or self._is_recovered

    # Timestamps

    @property
    def largest(self) -> TimestampOffset:
        """The largest timestamp and the last offset of the first entry with it; (-1, base offset) if there is none."""
        if self._largest is None:
            last = self.time_index.last_entry
            if last.timestamp < 0 <= self.first_timestamp:  # the index was lost
                self._rebuild_indexes()
            else:
                self._largest = last
        assert self._largest is not None
        return self._largest

    @property
    def largest_timestamp(self) -> int:
        """The timestamp for lookups and retention; the time of the last modification if no record has a timestamp."""
        timestamp = self.largest.timestamp
        return timestamp if timestamp >= 0 else self.modified_ms

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first append (of the first entry, if reopened); -1 if there is none."""
        if self._first_timestamp is None:
            for _, batch in self.heads():
                self._first_timestamp = batch.max_timestamp
                break
        return NO_TIMESTAMP if self._first_timestamp is None else self._first_timestamp

    # Append and roll

    def should_roll(self, config: LogConfig, size_bytes: int, max_timestamp: int, last_offset: int) -> bool:
        """Return whether an append with this size and these largest values needs a new segment (LogSegment.shouldRoll).

        The age is the difference between the timestamps of the new append and the first one. If the first append has no
        timestamp, the age is the time since the segment was created.
        """
        size = self.size_bytes
        if size > config.segment_bytes - size_bytes:
            return True
        if size > 0:
            if self._is_protected:
                return True
            first = self.first_timestamp
            waited_ms = max_timestamp - first if first >= 0 else self.clock.now_ms() - self._created_ms
            if waited_ms > config.max_segment_ms - self._jitter_ms:
                return True
        return self.indexes_are_full or not self.offset_index.can_hold(last_offset)

    @property
    def indexes_are_full(self) -> bool:
        """Whether an index has no room for another entry."""
        if self._indexes_are_full is None:
            self._indexes_are_full = self.offset_index.is_full or self.time_index.is_full
        return self._indexes_are_full

    def append(self, data: Buffer, last_offset: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Append entries. `last_offset` is their largest offset.

        `offset_of_max_timestamp` is the last offset of the first entry with `max_timestamp`. A failed append changes
        nothing, except that the file may be longer than the segment until `_truncate_remains`.
        """
        position = self.size_bytes
        self._append(data, last_offset)
        if position == 0:
            self._first_timestamp = max_timestamp
        self.note(position, len(data), last_offset, max_timestamp, offset_of_max_timestamp)

    def append_each(self, data: Buffer, heads: Iterable[Batch]) -> None:
        """Append entries, given their headers. An index entry may be added for each of them.

        Raises IndexFull, after the data has been written, if an index entry is due but there is no room for it.
        """
        position, last_offset = self.size_bytes, self.base_offset
        entries = [(head.size, head.last_offset, head.max_timestamp) for head in heads]
        self._append(data, max(last_offset for _, last_offset, _ in entries))
        if position == 0:
            self._first_timestamp = max(max_timestamp for _, _, max_timestamp in entries)
        for size, last_offset, max_timestamp in entries:
            self.require_index_room()
            self.note(position, size, last_offset, max_timestamp, last_offset)
            position += size

    def require_index_room(self) -> None:
        """Raise IndexFull if an index entry is due for the next entry but there is no room for it."""
        if self._bytes_since_index_entry > self._interval_bytes and self.indexes_are_full:
            raise IndexFull(f"Attempt to append to a full index: {self.offset_index.path} or {self.time_index.path}")

    def _append(self, data: Buffer, last_offset: int) -> None:
        """Write entries after the last one. If that fails, nothing has changed."""
        position = self.size_bytes
        if not self.offset_index.can_hold(last_offset):
            raise ValueError(f"offset {last_offset} does not fit into the segment at {self.base_offset}")
        if self._has_remains:
            self._truncate_remains()
        try:
            self._file.write(data, position)
        except OSError:
            self._has_remains = True
            with suppress(OSError):
                self._truncate_remains()
            raise
        self.size_bytes = position + len(data)
        self._modified()

    def _truncate_remains(self) -> None:
        """Remove data that a failed append wrote after the last entry."""
        if self._has_remains:
            self._file.truncate(self.size_bytes)
            self._has_remains = False

    def note(self, position: int, size: int, last_offset: int, max_timestamp: int, offset_of_max: int) -> None:
        """Update the largest timestamp, and index the `size` bytes at `position` if an index entry is due."""
        largest = self._largest or self.largest
        if max_timestamp > largest.timestamp:
            self._largest = largest = TimestampOffset(max_timestamp, offset_of_max)
        if self._bytes_since_index_entry > self._interval_bytes and not self.indexes_are_full:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*largest[:2])
            if self._maxima is not None:
                self._maxima.append(largest.timestamp)
            self._bytes_since_index_entry = 0
            self._indexes_are_full = None
        self._bytes_since_index_entry += size

    def end_appends(self) -> None:
        """Complete the indexes and write all files when the log rolls."""
        self.time_index.maybe_append(*self.largest[:2], closing=True)
        self._indexes_are_full = None
        self.write()
        self._allow_unload()

    def complete_indexes(self) -> None:
        """Complete rebuilt indexes and write them to their files; on failure they stay in memory.

        As in Kafka, they are not flushed to disk before the log is (LocalLog.flush).
        """
        self._is_recovered = True
        self.time_index.maybe_append(*self.largest[:2], closing=True)
        self._indexes_are_full = None
        try:
            self.write()
        except OSError as error:
            self._files.on_failure(error)
            _LOG.warning("%s; the index stays in memory until it can be written", explain(error))
        self._allow_unload()

    def _allow_unload(self) -> None:
        if len(self.time_index) >= len(self.offset_index):
            self._maxima = None  # timestamps never decreased, so the time index is already complete
        self.offset_index.allow_unload()
        self.time_index.allow_unload()

    def begin_appends(self, config: LogConfig) -> None:
        """Make this the active segment (again): keep the indexes in memory and let them grow."""
        for index in (self.offset_index, self.time_index):
            index.keep_loaded()
            index.max_entries = config.segment_index_bytes // index.ENTRY_BYTES
        self._indexes_are_full = None

    # Read

    def heads(self, position: int = 0) -> Iterator[tuple[int, Batch]]:
        """Iterate over the positions and headers of the entries, starting at `position`."""
        return scan.heads(self._file, position, self.size_bytes)

    def entries(self, position: int = 0) -> Iterator[tuple[int, Batch]]:
        """Iterate over the positions and complete entries, starting at `position`."""
        return scan.entries(self._file, position, self.size_bytes)

    def entry(self, position: int, size: int) -> Batch:
        return scan.entry(self._file, position, size)

    def locate(self, offset: int) -> EntryLocation | None:
        """Return the first entry whose last offset is `offset` or larger; None if there is none."""
        found = self._located
        if found is not None and found.base_offset <= offset <= found.last_offset:
            return found
        start, named = self.offset_index.entry_before(offset)
        near = scan.find(self._file, start, self.size_bytes, offset)
        if near is not None and self.base_offset <= near[0] <= named:
            return self._found(*near[1:])
        end = self.size_bytes
        for position, head in self._heads_near(offset):
            if head.last_offset >= offset:
                return self._found(position, head.size, head.base_offset, head.last_offset)
            end = position + head.size
        if end < self.size_bytes and not self._is_damaged:  # Kafka stops reading there, without an error
            self._is_damaged = True
            _LOG.error("%s: cannot read offset %d: the entry at position %d is incomplete", self.path, offset, end)
        return None

    def _found(self, position: int, size: int, base_offset: int, last_offset: int) -> EntryLocation:
        """Remember the entry that a lookup has found, and where the next one begins."""
        self._located = EntryLocation(position, size, base_offset, last_offset)
        self._expect(last_offset + 1, position + size)
        return self._located

    def _expect(self, offset: int, position: int) -> None:
        """Remember the position of `offset`, at which a reader is expected to continue."""
        following = self._next_positions
        if offset not in following:
            if len(following) >= READERS:
                del following[next(iter(following))]
            following[offset] = position

    def _heads_near(self, offset: int) -> Iterator[tuple[int, Batch]]:
        """Iterate over positions and headers, starting with an entry that begins at or before `offset`.

        An index entry holds the last offset of an append and the position of its first batch. If that batch is not at
        the position, the index is corrupt and is rebuilt.
        """
        position = self.offset_index.lookup(offset)
        heads = self.heads(position)
        if position and not self._is_damaged:
            named = self.offset_index.offset_at(position)
            try:
                first = next(heads, None)
            except KafkaError:
                first = None
            if first is not None and named is not None and self.base_offset <= first[1].base_offset <= named:
                yield first
            else:
                heads = self._heads_after_rebuilding(offset, position)
        yield from heads

    def _heads_after_rebuilding(self, offset: int, position: int) -> Iterator[tuple[int, Batch]]:
        """Do the work of `_heads_near` if the index points to a wrong `position`, or if the log is corrupt there."""
        try:
            for _ in self.heads():
                pass
        except KafkaError as error:
            _LOG.error("%s", error.message)
            self._is_damaged = True
            return self.heads(position)
        _LOG.warning("%s points to a wrong position; rebuilding it from the log", self.offset_index.path)
        self._rebuild_indexes()
        return self.heads(self.offset_index.lookup(offset))

    def check_marker(self, offset: int) -> None:
        """Raise CorruptTransactionIndex unless there is a control batch at `offset`."""
        for _, head in self._heads_near(offset):
            if head.last_offset >= offset:
                if head.base_offset == offset and head.is_control:
                    return
                break
        raise CorruptTransactionIndex(f"{self.txn_index.path} has a marker at {offset}, but the log has none there")

    def position_before(self, timestamp: int, offset: int) -> int:
        """Return a position before the first entry with a last offset >= `offset` and a timestamp >= `timestamp`.

        The time index gets no entries while timestamps do not increase. If a single early record has a late timestamp,
        a lookup in the time index would therefore lead to a scan of all later records. The running maxima, if known,
        avoid that.
        """
        indexed = self.time_index.lookup(timestamp)
        near = max(indexed.offset, offset)
        first = next(self._heads_near(near), None)
        position = self.offset_index.lookup(near) if first is None else first[0]
        if self._maxima:
            last_earlier = bisect_left(self._maxima, timestamp) - 1
            if last_earlier >= 0:
                position = max(position, self.offset_index.position(last_earlier))
        return position

    def read(self, offset: int, max_bytes: int, max_position: int | None, at_least_one: bool) -> ReadResult | None:
        """Read from the first entry whose last offset is `offset` or larger; return None if there is none.

        The result ends at `max_position` (None: nothing may be read) and after `max_bytes`, which may cut an entry;
        with `at_least_one` the first entry is complete, whatever its size. Raises KafkaError(UNKNOWN_SERVER_ERROR) for
        a negative `max_bytes`.
        """
        if max_bytes < 0:
            raise KafkaError(
                Code.UNKNOWN_SERVER_ERROR, f"Invalid max size {max_bytes} for log read from segment {self}"
            )
        if max_position is not None and max_bytes <= SMALL_READ_BYTES and offset in self._next_positions:
            following = self._read_on(offset, max_bytes, max_position, at_least_one)
            if following is not None:
                return following
        found = self.locate(offset)
        if found is None:
            return None
        position, size = found.position, found.size
        metadata = LogOffsetMetadata(offset, self.base_offset, position)
        limit = max(max_bytes, size) if at_least_one else max_bytes
        if limit == 0 or max_position is None:
            return ReadResult(metadata, b"")
        length = min(max_position - position, limit)
        return ReadResult(metadata, FileRange(self._file, position, length) if length > 0 else b"", limit < size)

    def _read_on(self, offset: int, max_bytes: int, max_position: int, at_least_one: bool) -> ReadResult | None:
        """Read an entry whose position is known because a reader has read the one before it.

        No search is needed, and one system call reads the header and the records. Return None if that is not possible.
        """
        position = self._next_positions[offset]
        readable = max_position - position
        if readable < ENTRY_HEAD.size:
            return None
        data = self._file.read(min(max(max_bytes, ENTRY_HEAD.size), readable), position)
        if len(data) < ENTRY_HEAD.size:
            return None
        base_offset, length, magic, last_offset_delta = ENTRY_HEAD.unpack_from(data)
        size, last_offset = length + LOG_OVERHEAD, base_offset + last_offset_delta
        if magic != 2 or size < HEADER_SIZE or last_offset < offset or size > self.size_bytes - position:
            return None
        self._expect(last_offset + 1, position + size)
        wanted = min(max(max_bytes, size) if at_least_one else max_bytes, readable)
        if wanted > len(data):
            data = self._file.read(wanted, position)
        return ReadResult(
            LogOffsetMetadata(offset, self.base_offset, position),
            data if wanted == len(data) else data[:wanted],
            not at_least_one and 0 < max_bytes < size,
        )

    def next_offset(self) -> int:
        """Return the offset after the last entry, reading from the last index entry onwards.

        Raises KafkaError(CORRUPT_MESSAGE) if the last entry is not complete.
        """
        offset, end = self.base_offset, 0
        for position, batch in self._heads_near(self.offset_index.last_offset):
            offset, end = batch.next_offset, position + batch.size
        if end != self.size_bytes:
            raise KafkaError(
                Code.CORRUPT_MESSAGE,
                f"{self.path} ends with {self.size_bytes - end} bytes at position {end} that are not a complete entry",
            )
        return offset

    # Truncate

    def truncate_to(self, offset: int) -> int:
        """Remove the entry that contains `offset`, and everything after it. Return the number of bytes removed."""
        found = self.locate(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        if self._maxima is not None:
            del self._maxima[len(self.offset_index) :]
        dropped = 0 if found is None else self.cut(found.position)
        if self.size_bytes == 0:
            self._created_ms = self.clock.now_ms()
            self._first_timestamp = None
        self._bytes_since_index_entry = 0
        self._indexes_are_full = None
        if self.largest.timestamp >= 0:
            self._largest = self._find_largest()
        return dropped

    def cut(self, size_bytes: int) -> int:
        """Truncate the .log to `size_bytes`. Return the number of bytes removed."""
        dropped = self.size_bytes - size_bytes
        self._located = None
        self._next_positions.clear()
        if dropped > 0:
            self._file.truncate(size_bytes)
            self.size_bytes = size_bytes
            self._has_remains = False
            self._modified()
        return dropped

    def clear_indexes(self) -> None:
        """Clear the indexes before they are rebuilt from the entries (`note`)."""
        self.offset_index.clear()
        self.time_index.clear()
        self.txn_index.reset()
        self._maxima = array("q")
        self._largest = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        self._bytes_since_index_entry = 0
        self._indexes_are_full = None

    def check_time_index(self) -> None:
        """Rebuild the indexes if the time index lacks the entry that closing adds. Raises KafkaError."""
        if self._find_largest()[:2] != self.largest[:2]:
            _LOG.warning("%s is not complete; rebuilding it from the log", self.time_index.path)
            self._rebuild_indexes()

    def _rebuild_indexes(self) -> None:
        """Rebuild .index and .timeindex from the entries, up to the first invalid header."""
        self.offset_index.clear()
        self.time_index.clear()
        self._maxima = array("q")
        self._largest = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        self._bytes_since_index_entry = 0
        self._indexes_are_full = None
        try:
            for position, head in self.heads():
                if not self.offset_index.can_hold(head.last_offset):
                    raise OutOfOrder(f"offset {head.last_offset} at {position} is too far from {self.base_offset}")
                self.note(position, head.size, head.last_offset, head.max_timestamp, head.last_offset)
        except KafkaError as error:
            _LOG.error("%s", error.message)
            self._is_damaged = True
        except OutOfOrder as error:
            _LOG.error("%s is damaged: %s", self.path, error)
            self._is_damaged = True
        else:
            self.time_index.maybe_append(*self.largest[:2], closing=True)
        try:
            self.write()
        except OSError as error:
            self._files.on_failure(error)
            _LOG.warning("%s; the index stays in memory until it can be written", explain(error))
        self.offset_index.is_built()
        self.time_index.is_built()

    def _modified(self) -> None:
        self.modified_ms = self.clock.now_ms()
        self._is_modified = True

    def _find_largest(self) -> TimestampOffset:
        largest = self.time_index.last_entry
        for _, batch in self._heads_near(largest.offset):
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampOffset(batch.max_timestamp, batch.last_offset)
        return largest

    # Files

    def write(self) -> None:
        """Write all changes to the files, without fsync."""
        self._truncate_remains()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.write()

    def sync_truncation(self) -> None:
        """Write all changes, and flush them to disk.

        Otherwise, truncated data could reappear, even after later entries.
        """
        self.write()
        if self._files.durable:
            descriptors = self._files.descriptors(self.paths)
            try:
                for descriptor in descriptors:
                    descriptor.force()
            finally:
                for descriptor in descriptors:
                    descriptor.close()

    @property
    def paths(self) -> tuple[str, str, str, str]:
        """The paths of the .log file and the indexes; some of the files may not exist."""
        return self._file.path, self.offset_index.path, self.time_index.path, self.txn_index.path

    def images(self) -> Iterator[tuple[str, bytes]]:
        """Return the names and contents that the files would have after `close`, without closing the segment."""
        contents = [
            self._file.read(self.size_bytes, 0) if self.size_bytes else b"",
            self.offset_index.image(),
            self.time_index.closed_image(*self.largest[:2]),
            self.txn_index.image(),
        ]
        for path, content in zip(self.paths, contents, strict=True):
            if content or path != self.txn_index.path:
                yield os.path.basename(path), content

    def complete_time_index(self) -> None:
        """Add the last entry of a closed segment, unless the time index has it."""
        if self._largest is not None:
            self.time_index.maybe_append(*self._largest[:2], closing=True)

    def close(self) -> None:
        """Complete and write the indexes, and close the descriptors. The segment can still be read."""
        self.complete_time_index()
        self.write()
        if self.size_bytes == 0:
            self._file.fileno()  # creates the file if nothing was written
        self.release()
        if self._is_modified:  # the given clock may differ from the file system's clock
            self._files.system.set_modified(self._file.path, self.modified_ms)
            self._is_modified = False
        self._is_recovered = False

    def release(self) -> None:
        """Close the descriptors without writing anything."""
        self._file.close()
        self.txn_index.close()
        self.offset_index.forget()
        self.time_index.forget()

    def rename(self, suffix: str) -> None:
        """Append `suffix` to the names of the files."""
        self._file.rename(self._file.path + suffix)
        self.offset_index.rename(self.offset_index.path + suffix)
        self.time_index.rename(self.time_index.path + suffix)
        self.txn_index.rename(self.txn_index.path + suffix)

    def change_suffix(self, old: str, new: str) -> None:
        """Replace the suffix `old` of the names of the files by `new`; either may be empty."""
        self._file.rename(self._file.path.removesuffix(old) + new)
        self.offset_index.rename(self.offset_index.path.removesuffix(old) + new)
        self.time_index.rename(self.time_index.path.removesuffix(old) + new)
        self.txn_index.rename(self.txn_index.path.removesuffix(old) + new)

    def moved(self, directory: str) -> None:
        """Update the paths after the directory was renamed."""
        self._file.moved(os.path.join(directory, os.path.basename(self._file.path)))
        for index in (self.offset_index, self.time_index):
            index.path = os.path.join(directory, os.path.basename(index.path))
        self.txn_index.rename(os.path.join(directory, os.path.basename(self.txn_index.path)))

    def remove(self) -> None:
        """Delete the files. File ranges that were read earlier stay readable."""
        self._file.remove()
        self.offset_index.remove()
        self.time_index.remove()
        self.txn_index.remove()
