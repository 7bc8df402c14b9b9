"""The transaction index of a segment: the transactions whose abort markers lie in it.

A read_committed fetch names the aborted transactions that reach into what it returns, so that the client can drop
their data. A commit leaves no entry. The file is made when the first entry is written: most segments have none.

    version int16 (0) | producer id int64 | first offset int64 | last offset int64 | last stable offset int64

34 bytes, big endian, in the order in which the markers were written, so `last offset` (that of the marker) rises from
entry to entry. `last stable offset` is the one the log had once the marker was written: a search for what reaches
below some offset may stop at the first entry whose last stable offset is not below it, because whatever aborts later
began at or above it. What stays of an interrupted write, less than an entry, is ignored and overwritten.

The entries are kept as their bytes, read on first use: 34 bytes for one, and no system call for a fetch. What cannot be
written to the file stays in memory and is written later: by then the marker is in the log, and a crash rebuilds the
index from it.
"""

import logging
import os
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kafkalet.formats import TXN_INDEX_ENTRY, TXN_INDEX_VERSION

from .files import File, explain
from .values import AbortedTransaction

_log = logging.getLogger(__name__)

_ENTRY = TXN_INDEX_ENTRY.struct
ENTRY_BYTES = _ENTRY.size
_LAST_OFFSET = Struct(">q")
_LAST_OFFSET_AT = 18


class CorruptTransactionIndex(Exception):
    """The file is not what this segment can have written; it is rebuilt from the records."""


class AbortedSearch(NamedTuple):
    """What one segment's index knows of a range."""

    aborted: list[AbortedTransaction]
    complete: bool
    """True: no later segment has an entry that reaches into the range."""


class TransactionIndex:
    """The aborted transactions of the segment that begins at `base_offset`."""

    __slots__ = ("_file", "_is_too_long", "_loaded", "_written", "base_offset")

    def __init__(self, file: File, base_offset: int) -> None:
        self._file = file
        self.base_offset = base_offset
        self._loaded: bytearray | None = None
        self._written = 0
        """How many bytes of `_loaded` are in the file."""
        self._is_too_long = False
        """The file holds more than `_written` bytes."""

    @property
    def path(self) -> str:
        return self._file.path

    def __len__(self) -> int:
        return len(self._entries) // ENTRY_BYTES

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """All entries (Kafka's allAbortedTxns). Raises CorruptTransactionIndex for an entry of a later version."""
        return self._from(0)

    @property
    def last_offset(self) -> int:
        """The offset of the last marker; -1 while there is none."""
        return self._last_offset(len(self) - 1) if self._entries else -1

    @property
    def _entries(self) -> bytearray:
        if self._loaded is None:
            self._loaded = bytearray()
            if os.path.exists(self._file.path):
                data = self._file.read(self._file.size(), 0)
                self._loaded += data[: len(data) // ENTRY_BYTES * ENTRY_BYTES]
            self._written, self._is_too_long = len(self._loaded), False
        return self._loaded

    def _last_offset(self, entry: int) -> int:
        offset: int = _LAST_OFFSET.unpack_from(self._entries, entry * ENTRY_BYTES + _LAST_OFFSET_AT)[0]
        return offset

    def _from(self, first: int) -> Iterator[AbortedTransaction]:
        for version, *fields in _ENTRY.iter_unpack(self._entries[first * ENTRY_BYTES :]):
            if version != TXN_INDEX_VERSION:
                raise CorruptTransactionIndex(f"{self.path} has an entry of version {version}")
            yield AbortedTransaction(*fields)

    def append(self, aborted: AbortedTransaction) -> None:
        """Write an entry at the end. Its marker lies behind all markers before it."""
        entries = self._entries
        assert aborted.last_offset > self.last_offset, f"{aborted} is not behind the last offset {self.last_offset}"
        entries += _ENTRY.pack(TXN_INDEX_VERSION, *aborted)
        self._try_to_write()

    def collect(self, fetch_offset: int, upper_bound: int) -> AbortedSearch:
        """The transactions that reach into `fetch_offset` to `upper_bound` (exclusive), in the order of their markers
        (Kafka's collectAbortedTxns)."""
        aborted = []
        # What ended below the fetch offset can be passed over: its last stable offset is no reason to stop either.
        first = bisect_left(range(len(self)), fetch_offset, key=self._last_offset)
        for transaction in self._from(first):
            if transaction.first_offset < upper_bound:
                aborted.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return AbortedSearch(aborted, complete=True)
        return AbortedSearch(aborted, complete=False)

    def truncate_to(self, offset: int) -> None:
        """Forget the markers at `offset` and above."""
        self._cut(bisect_left(range(len(self)), offset, key=self._last_offset))

    def reset(self) -> None:
        """Forget everything; the file stays, empty, where there is one."""
        self._cut(0)

    def _cut(self, entries: int) -> None:
        size = entries * ENTRY_BYTES
        if size < len(self._entries):
            del self._entries[size:]
            if self._written > size:
                self._written, self._is_too_long = size, True
            self._try_to_write()

    def check(self) -> None:
        """Raises CorruptTransactionIndex unless every marker may lie in this segment (Kafka's sanityCheck and more)."""
        before = self.base_offset - 1
        for transaction in self:
            if transaction.last_offset < self.base_offset:
                raise CorruptTransactionIndex(f"{self.path} has {transaction}, below its segment")
            if transaction.last_offset <= before:
                raise CorruptTransactionIndex(f"{self.path} has {transaction} behind a marker at {before}")
            if not 0 <= transaction.first_offset <= transaction.last_offset or transaction.producer_id < 0:
                raise CorruptTransactionIndex(f"{self.path} has {transaction}, which is none")
            before = transaction.last_offset

    def write(self) -> None:
        """Bring the file up to date. It is not forced to the disk."""
        if self._loaded is None:
            return
        if self._written < len(self._loaded):
            self._file.write(bytes(self._loaded[self._written :]), self._written)
            self._written = len(self._loaded)
        if self._is_too_long:
            self._file.truncate(self._written)
            self._is_too_long = False

    def _try_to_write(self) -> None:
        try:
            self.write()
        except OSError as error:
            _log.warning("%s; its entries are kept in memory until they can be written", explain(error))

    def flush(self) -> None:
        """Force the entries to the disk."""
        self.write()
        if os.path.exists(self._file.path):
            self._file.sync()

    def close(self) -> None:
        """Give descriptor and memory back; the next use reads the file again. What is not written is lost."""
        self._loaded = None
        self._file.close()

    def remove(self) -> None:
        """Delete the file, if it was ever made."""
        self._loaded = bytearray()
        if os.path.exists(self._file.path):
            self._file.remove()

    def rename(self, path: str) -> None:
        """Take another name. A file that was never made will be made under it."""
        if os.path.exists(self._file.path):
            self._file.rename(path)
        else:
            self._file.moved(path)
