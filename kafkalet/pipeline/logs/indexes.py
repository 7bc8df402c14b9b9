"""The indexes of a segment as columns: .index, .timeindex and .txnindex, read from files and made for files.

All numbers are big-endian, offsets in the first two relative to the base offset of the segment.

    .index       relative offset int32 | position int32
                 the append that begins at `position` ends in that offset (before 0.10.1: begins with it), so whatever
                 holds a larger offset lies at `position` or behind it
    .timeindex   timestamp int64 | relative offset int32
                 no record up to the entry that holds that offset is later than `timestamp`; the last one of a segment
                 that takes no more appends is its largest timestamp
    .txnindex    version int16 (0) | producer id | first offset | last offset | last stable offset, int64 each
                 an aborted transaction whose marker, at the last offset, lies in the segment; none: no file

Entries rise from one to the next: offsets and positions in .index, timestamps in .timeindex (offsets do not fall), last
offsets in .txnindex. The first two may end in zeros, which Kafka allocates ahead (`segment.index.bytes`) and cuts off
when the segment is rolled or closed; so a file of entries ends at its last byte that is not zero. A single entry of
zeros counts where it is all there is: a .timeindex may say (0, base offset).

What breaks a rule is a `CorruptFile` with the position of the entry. No checksum covers an index: that its entries
point to the right places can only be told from the log.
"""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats
from kafkalet.pipeline.decoding.aborted import AbortedTransactions

from .files import CorruptFile, read_whole

MAX_RELATIVE_OFFSET = (1 << 31) - 1
OFFSET_ENTRY = np.dtype(list(formats.OFFSET_INDEX_ENTRY.fields.items()))
TIME_ENTRY = np.dtype(list(formats.TIME_INDEX_ENTRY.fields.items()))
TXN_ENTRY = np.dtype(list(formats.TXN_INDEX_ENTRY.fields.items()))
OFFSET_ENTRY_BYTES = OFFSET_ENTRY.itemsize
TXN_ENTRY_BYTES = TXN_ENTRY.itemsize

Column = NDArray[np.int64]


class OffsetIndex(NamedTuple):
    """Absolute offsets, and positions in the .log."""

    offset: Column
    position: Column

    def lookup(self, offset: int) -> int:
        """A position at or before the entry that holds `offset`; the last that is known to be, 0 if none is."""
        slot = int(np.searchsorted(self.offset, offset, "right")) - 1
        return int(self.position[slot]) if slot >= 0 else 0


class TimeIndex(NamedTuple):
    """Timestamps in milliseconds, and absolute offsets."""

    timestamp: Column
    offset: Column

    @property
    def largest(self) -> int:
        """The last timestamp; -1 where there is none."""
        return int(self.timestamp[-1]) if self.timestamp.size else -1

    def last_offset_until(self, timestamp_ms: int) -> int:
        """No entry that ends before this offset is later than `timestamp_ms`, nor as late, unless it is that of the
        offset; -1 where nothing is known."""
        slot = int(np.searchsorted(self.timestamp, timestamp_ms, "right")) - 1
        return int(self.offset[slot]) if slot >= 0 else -1

    def last_offset_before(self, timestamp_ms: int) -> int:
        """Every record up to this offset is earlier than `timestamp_ms`; -1 where nothing is known."""
        slot = int(np.searchsorted(self.timestamp, timestamp_ms, "left")) - 1
        return int(self.offset[slot]) if slot >= 0 else -1


class TransactionIndex(NamedTuple):
    """What a .txnindex holds."""

    aborted: AbortedTransactions
    last_stable_offset: Column
    """What the log's was after each marker."""


NO_OFFSETS = OffsetIndex(np.empty(0, np.int64), np.empty(0, np.int64))
NO_TIMES = TimeIndex(*NO_OFFSETS)
NO_ABORTED = AbortedTransactions(*NO_OFFSETS, np.empty(0, np.int64))
NO_TRANSACTIONS = TransactionIndex(NO_ABORTED, np.empty(0, np.int64))


# -- reading


def read_offset_index(path: str, base_offset: int) -> OffsetIndex:
    """The entries of an .index. Raises CorruptFile, also where there is no file."""
    entries = _read_padded(path, OFFSET_ENTRY)
    offset = entries["offset"].astype(np.int64)
    position = entries["position"].astype(np.int64)
    _refuse(path, OFFSET_ENTRY, offset < 0, "the offset {} relative to the base is below it", offset)
    _refuse(path, OFFSET_ENTRY, position < 0, "the position {} can not be", position)
    _refuse(path, OFFSET_ENTRY, _falls(offset, strictly=True), "offset {} is not above the one before", offset)
    _refuse(path, OFFSET_ENTRY, _falls(position, strictly=True), "position {} is not behind the one before", position)
    return OffsetIndex(offset + base_offset, position)


def check_positions(path: str, index: OffsetIndex, log_bytes: int) -> None:
    """Refuse entries that point behind the end of the log, which has so many bytes: at least since the index was read.

    Raises CorruptFile.
    """
    reason = f"position {{}} is not in the log, which has {log_bytes} bytes"
    _refuse(path, OFFSET_ENTRY, index.position >= log_bytes, reason, index.position)


def read_time_index(path: str, base_offset: int) -> TimeIndex:
    """The entries of a .timeindex. Raises CorruptFile, also where there is no file."""
    entries = _read_padded(path, TIME_ENTRY)
    timestamp = entries["timestamp"].astype(np.int64)
    offset = entries["offset"].astype(np.int64)
    _refuse(path, TIME_ENTRY, timestamp < 0, "the timestamp {} can not be", timestamp)
    _refuse(path, TIME_ENTRY, offset < 0, "the offset {} relative to the base is below it", offset)
    _refuse(path, TIME_ENTRY, _falls(timestamp, strictly=True), "timestamp {} is not after the last", timestamp)
    _refuse(path, TIME_ENTRY, _falls(offset, strictly=False), "offset {} is below the one before", offset)
    return TimeIndex(timestamp, offset + base_offset)


def read_transaction_index(path: str, base_offset: int) -> TransactionIndex:
    """The entries of a .txnindex; none where there is no file. Raises CorruptFile."""
    try:
        data = read_whole(existing(path))
    except FileNotFoundError:
        return NO_TRANSACTIONS
    entries = _whole_entries(path, data, TXN_ENTRY)
    first, last = entries["first"].astype(np.int64), entries["last"].astype(np.int64)
    version = entries["version"]
    _refuse(path, TXN_ENTRY, version != formats.TXN_INDEX_VERSION, "version {} is not known", version)
    _refuse(path, TXN_ENTRY, last < base_offset, f"the marker at {{}} lies below the segment at {base_offset}", last)
    _refuse(path, TXN_ENTRY, (first < 0) | (first >= last), "the first offset {} is not before the marker", first)
    _refuse(path, TXN_ENTRY, _falls(last, strictly=True), "the marker at {} is not behind the one before", last)
    aborted = AbortedTransactions(entries["producer_id"].astype(np.int64), first, last)
    return TransactionIndex(aborted, entries["last_stable"].astype(np.int64))


def existing(path: str) -> str:
    """`path`, or the file that is about to get that name: a crash may have come between the renames of a compacted
    segment's log and its index."""
    return path if os.path.exists(path) or not os.path.exists(path + ".swap") else path + ".swap"


def _read_padded(path: str, entry: np.dtype[Any]) -> NDArray[Any]:
    """The entries up to the zeros that were allocated ahead."""
    try:
        with open(existing(path), "rb", buffering=0) as file:
            file_bytes = os.fstat(file.fileno()).st_size
            data = os.pread(file.fileno(), _written_bytes(file.fileno(), file_bytes), 0)
    except FileNotFoundError:
        raise CorruptFile(path, 0, "there is no such file") from None
    size = entry.itemsize
    if file_bytes % size:
        raise _torn(path, file_bytes, size)
    used = size if file_bytes == size else -(-len(data.rstrip(b"\0")) // size) * size
    return np.frombuffer(data[:used].ljust(used, b"\0"), entry)


def _written_bytes(descriptor: int, file_bytes: int) -> int:
    """Up to where the file was ever written. What was allocated ahead is a hole, and need not be read."""
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
    return CorruptFile(path, whole, f"{file_bytes - whole} bytes are less than an entry of {size}")


def _falls(column: Column, *, strictly: bool) -> NDArray[np.bool_]:
    """Which entries do not rise (with `strictly`), or fall, from the one before."""
    falls = np.zeros(column.size, np.bool_)
    falls[1:] = column[1:] <= column[:-1] if strictly else column[1:] < column[:-1]
    return falls


def _refuse(path: str, entry: np.dtype[Any], wrong: NDArray[Any], reason: str, column: NDArray[Any]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise CorruptFile(path, row * entry.itemsize, reason.format(column[row]))


# -- writing


def offset_index_bytes(base_offset: int, offset: Column, position: Column) -> bytes:
    """The content of an .index. ValueError for an offset that is too far from the base, or a position from 2 GiB on."""
    entries = np.empty(offset.size, OFFSET_ENTRY)
    entries["offset"] = _relative(offset, base_offset)
    entries["position"] = _relative(position, 0)
    return entries.tobytes()


def time_index_bytes(base_offset: int, timestamp_ms: Column, offset: Column) -> bytes:
    """The content of a .timeindex. ValueError for an offset that is too far from the base."""
    entries = np.empty(offset.size, TIME_ENTRY)
    entries["timestamp"] = timestamp_ms
    entries["offset"] = _relative(offset, base_offset)
    return entries.tobytes()


def transaction_index_bytes(aborted: AbortedTransactions, last_stable_offset: Column) -> bytes:
    """The content of a .txnindex."""
    entries = np.empty(aborted.last_offset.size, TXN_ENTRY)
    entries["version"] = formats.TXN_INDEX_VERSION
    entries["producer_id"], entries["first"], entries["last"] = aborted
    entries["last_stable"] = last_stable_offset
    return entries.tobytes()


def _relative(numbers: Column, base: int) -> Column:
    relative = np.asarray(numbers, np.int64) - base
    if relative.size and (relative.min() < 0 or relative.max() > MAX_RELATIVE_OFFSET):
        raise ValueError(f"{numbers.min()} to {numbers.max()} do not fit into four bytes above {base}")
    return relative
