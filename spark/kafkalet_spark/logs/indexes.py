"""Read and write the indexes of a segment as columns: .index, .timeindex and .txnindex.

All numbers are big-endian. Offsets in .index and .timeindex are relative to the base offset of the segment.

    .index       relative offset int32 | position int32
                 the last offset of the append that begins at `position` (before 0.10.1: its first offset), so larger
                 offsets are found at or after `position`
    .timeindex   timestamp int64 | relative offset int32
                 the largest timestamp of all records up to the log entry that holds the offset. The last timestamp is
                 the largest in the segment, except in the active segment
    .txnindex    version int16 (0) | producer id | first offset | last offset | last stable offset, int64 each
                 an aborted transaction whose marker is in this segment, at the last offset. There is no file if the
                 segment has no such markers

Entries are in ascending order: by offset and position in .index, by timestamp in .timeindex (where offsets may repeat),
and by last offset in .txnindex. An .index or .timeindex may end in zeros: Kafka preallocates the file
(`segment.index.bytes`) and truncates it when the segment is rolled or closed. The entries therefore end at the last
byte that is not zero. A file that consists of a single all-zero entry is valid: a .timeindex may hold (0, base offset).

If an entry breaks these rules, `CorruptFile` is raised with the position of the entry. Indexes have no checksum, so
only the log can show whether their entries point to the right places.
"""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats
from kafkalet_spark.decoding.aborted import AbortedTransactions

from .files import CorruptFile, read_whole

MAX_RELATIVE_OFFSET = (1 << 31) - 1
OFFSET_ENTRY = np.dtype(list(formats.OFFSET_INDEX_ENTRY.fields.items()))
TIME_ENTRY = np.dtype(list(formats.TIME_INDEX_ENTRY.fields.items()))
TXN_ENTRY = np.dtype(list(formats.TXN_INDEX_ENTRY.fields.items()))
OFFSET_ENTRY_BYTES = OFFSET_ENTRY.itemsize
TXN_ENTRY_BYTES = TXN_ENTRY.itemsize

Column = NDArray[np.int64]


class OffsetIndex(NamedTuple):
    """The entries of an .index: absolute offsets, and their positions in the .log file."""

    offset: Column
    position: Column

    def lookup(self, offset: int) -> int:
        """Return the last indexed position at or before the entry that holds `offset`; 0 if there is none."""
        slot = int(np.searchsorted(self.offset, offset, "right")) - 1
        return int(self.position[slot]) if slot >= 0 else 0


class TimeIndex(NamedTuple):
    """The entries of a .timeindex: timestamps in milliseconds, and absolute offsets."""

    timestamp: Column
    offset: Column

    @property
    def largest(self) -> int:
        """The last timestamp; -1 if the index is empty."""
        return int(self.timestamp[-1]) if self.timestamp.size else -1

    def last_offset_until(self, timestamp_ms: int) -> int:
        """Return the offset of the last index entry whose timestamp is at most `timestamp_ms`; -1 if there is none.

        All records in log entries that end before that offset are older than `timestamp_ms`.
        """
        slot = int(np.searchsorted(self.timestamp, timestamp_ms, "right")) - 1
        return int(self.offset[slot]) if slot >= 0 else -1

    def last_offset_before(self, timestamp_ms: int) -> int:
        """Return an offset such that every record up to and including it is older than `timestamp_ms`; -1 if none is
        known."""
        slot = int(np.searchsorted(self.timestamp, timestamp_ms, "left")) - 1
        return int(self.offset[slot]) if slot >= 0 else -1


class TransactionIndex(NamedTuple):
    """The content of a .txnindex file."""

    aborted: AbortedTransactions
    last_stable_offset: Column
    """The last stable offset of the log after each marker."""


NO_OFFSETS = OffsetIndex(np.empty(0, np.int64), np.empty(0, np.int64))
NO_TIMES = TimeIndex(*NO_OFFSETS)
NO_ABORTED = AbortedTransactions(*NO_OFFSETS, np.empty(0, np.int64))
NO_TRANSACTIONS = TransactionIndex(NO_ABORTED, np.empty(0, np.int64))


# Reading


def read_offset_index(path: str, base_offset: int) -> OffsetIndex:
    """Read an .index file. Raises CorruptFile if the file is invalid or does not exist."""
    entries = _read_padded(path, OFFSET_ENTRY)
    offset = entries["offset"].astype(np.int64)
    position = entries["position"].astype(np.int64)
    _refuse(path, OFFSET_ENTRY, offset < 0, "relative offset {} is negative", offset)
    _refuse(path, OFFSET_ENTRY, position < 0, "position {} is negative", position)
    _refuse(path, OFFSET_ENTRY, _falls(offset, strictly=True), "offset {} is not above the previous one", offset)
    _refuse(path, OFFSET_ENTRY, _falls(position, strictly=True), "position {} is not above the previous one", position)
    return OffsetIndex(offset + base_offset, position)


def check_positions(path: str, index: OffsetIndex, log_bytes: int) -> None:
    """Raise CorruptFile if an entry points past the end of the log.

    `log_bytes` must be the size of the .log file, measured after the index was read.
    """
    reason = f"position {{}} is past the end of the log, which has {log_bytes} bytes"
    _refuse(path, OFFSET_ENTRY, index.position >= log_bytes, reason, index.position)


def read_time_index(path: str, base_offset: int) -> TimeIndex:
    """Read a .timeindex file. Raises CorruptFile if the file is invalid or does not exist."""
    entries = _read_padded(path, TIME_ENTRY)
    timestamp = entries["timestamp"].astype(np.int64)
    offset = entries["offset"].astype(np.int64)
    _refuse(path, TIME_ENTRY, timestamp < 0, "timestamp {} is negative", timestamp)
    _refuse(path, TIME_ENTRY, offset < 0, "relative offset {} is negative", offset)
    _refuse(path, TIME_ENTRY, _falls(timestamp, strictly=True), "timestamp {} is not above the previous one", timestamp)
    _refuse(path, TIME_ENTRY, _falls(offset, strictly=False), "offset {} is below the previous one", offset)
    return TimeIndex(timestamp, offset + base_offset)


def read_transaction_index(path: str, base_offset: int) -> TransactionIndex:
    """Read a .txnindex file; empty if the file does not exist. Raises CorruptFile."""
    try:
        data = read_whole(existing(path))
    except FileNotFoundError:
        return NO_TRANSACTIONS
    entries = _whole_entries(path, data, TXN_ENTRY)
    first, last = entries["first"].astype(np.int64), entries["last"].astype(np.int64)
    version = entries["version"]
    _refuse(path, TXN_ENTRY, version != formats.TXN_INDEX_VERSION, "version {} is not supported", version)
    _refuse(path, TXN_ENTRY, last < base_offset, f"the marker at {{}} is below the base offset {base_offset}", last)
    _refuse(path, TXN_ENTRY, (first < 0) | (first >= last), "first offset {} is not below that of the marker", first)
    _refuse(path, TXN_ENTRY, _falls(last, strictly=True), "marker offset {} is not above the previous one", last)
    aborted = AbortedTransactions(entries["producer_id"].astype(np.int64), first, last)
    return TransactionIndex(aborted, entries["last_stable"].astype(np.int64))


def existing(path: str) -> str:
    """Return `path`, or `path` with the suffix .swap if only that file exists: a crash may occur after the .log file of
    a compacted segment was renamed and before its index was renamed."""
    return path if os.path.exists(path) or not os.path.exists(path + ".swap") else path + ".swap"


def _read_padded(path: str, entry: np.dtype[Any]) -> NDArray[Any]:
    """Read the entries of an index, without the preallocated zeros at its end."""
    try:
        with open(existing(path), "rb", buffering=0) as file:
            file_bytes = os.fstat(file.fileno()).st_size
            data = os.pread(file.fileno(), _written_bytes(file.fileno(), file_bytes), 0)
    except FileNotFoundError:
        raise CorruptFile(path, 0, "the file does not exist") from None
    size = entry.itemsize
    if file_bytes % size:
        raise _torn(path, file_bytes, size)
    used = size if file_bytes == size else -(-len(data.rstrip(b"\0")) // size) * size
    return np.frombuffer(data[:used].ljust(used, b"\0"), entry)


def _written_bytes(descriptor: int, file_bytes: int) -> int:
    """Return the position after the last data in a sparse file. Preallocated space is a hole and need not be read."""
    end = 0
    try:
        while end < file_bytes:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
    except OSError as error:
        return end if error.errno == errno.ENXIO else file_bytes
    return end


def _whole_entries(path: str, data: bytes, entry: np.dtype[Any]) -> NDArray[Any]:
    if len(data) % entry.itemsize:
        raise _torn(path, len(data), entry.itemsize)
    return np.frombuffer(data, entry)


def _torn(path: str, file_bytes: int, size: int) -> CorruptFile:
    whole = file_bytes // size * size
    return CorruptFile(path, whole, f"{file_bytes - whole} trailing bytes; an entry has {size}")


def _falls(column: Column, *, strictly: bool) -> NDArray[np.bool_]:
    """Mark the entries that are less than their predecessor or, if `strictly`, not greater than it."""
    falls = np.zeros(column.size, np.bool_)
    falls[1:] = column[1:] <= column[:-1] if strictly else column[1:] < column[:-1]
    return falls


def _refuse(path: str, entry: np.dtype[Any], wrong: NDArray[Any], reason: str, column: NDArray[Any]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise CorruptFile(path, row * entry.itemsize, reason.format(column[row]))


# Writing


def offset_index_bytes(base_offset: int, offset: Column, position: Column) -> bytes:
    """Return the content of an .index file. Raises ValueError if an offset is too far from the base offset, or if a
    position is 2 GiB or more."""
    entries = np.empty(offset.size, OFFSET_ENTRY)
    entries["offset"] = _relative(offset, base_offset)
    entries["position"] = _relative(position, 0)
    return entries.tobytes()


def time_index_bytes(base_offset: int, timestamp_ms: Column, offset: Column) -> bytes:
    """Return the content of a .timeindex file. Raises ValueError if an offset is too far from the base offset."""
    entries = np.empty(offset.size, TIME_ENTRY)
    entries["timestamp"] = timestamp_ms
    entries["offset"] = _relative(offset, base_offset)
    return entries.tobytes()


def transaction_index_bytes(aborted: AbortedTransactions, last_stable_offset: Column) -> bytes:
    """Return the content of a .txnindex file."""
    entries = np.empty(aborted.last_offset.size, TXN_ENTRY)
    entries["version"] = formats.TXN_INDEX_VERSION
    entries["producer_id"], entries["first"], entries["last"] = aborted
    entries["last_stable"] = last_stable_offset
    return entries.tobytes()


def _relative(numbers: Column, base: int) -> Column:
    relative = np.asarray(numbers, np.int64) - base
    if relative.size and (relative.min() < 0 or relative.max() > MAX_RELATIVE_OFFSET):
        raise ValueError(f"{numbers.min()} to {numbers.max()} do not fit into int32 relative to {base}")
    return relative
