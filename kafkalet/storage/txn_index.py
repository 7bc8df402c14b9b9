"""The transaction index of a segment: the transactions whose abort markers are in the segment.

The response to a read_committed fetch lists the aborted transactions that overlap the returned records, so that the
client can drop their data. Commits have no entry. The file is created with the first entry; most segments have none.

    version int16 (0) | producer id int64 | first offset int64 | last offset int64 | last stable offset int64

Entries have 34 bytes, big endian, in the order of the markers, so `last offset` (that of the marker) increases from
entry to entry. `last stable offset` is the log's last stable offset after the marker was written. A search for
transactions that overlap a range may stop at the first entry whose last stable offset is at or above the end of the
range, because every transaction that aborts later began at or above it. A partial entry left by an interrupted write is
ignored and overwritten.

Entries are loaded on first use and kept in memory in binary form, so a fetch needs no system call. Entries that
cannot be written stay in memory and are written later: their markers are already in the log, and after a crash the
index is rebuilt from the log.
"""

import logging
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kafkalet.formats import TXN_INDEX_ENTRY, TXN_INDEX_VERSION

from .files import File, explain
from .values import AbortedTransaction

_LOG = logging.getLogger(__name__)

_ENTRY = TXN_INDEX_ENTRY.struct
ENTRY_BYTES = _ENTRY.size
_LAST_OFFSET = Struct(">q")
_LAST_OFFSET_AT = 18


class CorruptTransactionIndex(Exception):
    """The file does not match the segment; it is rebuilt from the records."""


class AbortedSearch(NamedTuple):
    """The result of a search in one segment's index."""

    aborted: list[AbortedTransaction]
    complete: bool
    """Whether no entry of a later segment can overlap the range."""


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
        """Whether the file is longer than `_written`."""

    @property
    def path(self) -> str:
        return self._file.path

    def __len__(self) -> int:
        return len(self._entries) // ENTRY_BYTES

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """Iterate over all entries (Kafka's allAbortedTxns). Raises CorruptTransactionIndex for an unknown version."""
        return self._from(0)

    @property
    def is_empty(self) -> bool:
        return not self._entries

    @property
    def last_offset(self) -> int:
        """The offset of the last marker; -1 if there are no entries."""
        return self._last_offset(len(self) - 1) if self._entries else -1

    @property
    def _entries(self) -> bytearray:
        if self._loaded is None:
            self._loaded = bytearray()
            if self._file.exists():
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
        """Append an entry. Its marker must be above all earlier ones."""
        entries = self._entries
        assert aborted.last_offset > self.last_offset, f"{aborted} is not above the last offset {self.last_offset}"
        entries += _ENTRY.pack(TXN_INDEX_VERSION, *aborted)
        self._try_to_write()

    def collect(self, fetch_offset: int, upper_bound: int) -> AbortedSearch:
        """Return the transactions that overlap the range `fetch_offset` to `upper_bound` (exclusive), in marker order.

        This is Kafka's collectAbortedTxns.
        """
        if not self._entries:  # as in most segments
            return AbortedSearch([], complete=False)
        aborted = []
        # Skip entries below the fetch offset. They cannot end the search either: their last stable offset is too low.
        first = bisect_left(range(len(self)), fetch_offset, key=self._last_offset)
        for transaction in self._from(first):
            if transaction.first_offset < upper_bound:
                aborted.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return AbortedSearch(aborted, complete=True)
        return AbortedSearch(aborted, complete=False)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries whose markers are at `offset` or above."""
        self._cut(bisect_left(range(len(self)), offset, key=self._last_offset))

    def reset(self) -> None:
        """Remove all entries; an existing file is kept, empty."""
        self._cut(0)

    def _cut(self, entries: int) -> None:
        size = entries * ENTRY_BYTES
        if size < len(self._entries):
            del self._entries[size:]
            if self._written > size:
                self._written, self._is_too_long = size, True
            self._try_to_write()

    def check(self) -> None:
        """Raise CorruptTransactionIndex unless all entries fit the segment (Kafka's sanityCheck, and more)."""
        before = self.base_offset - 1
        for transaction in self:
            if transaction.last_offset < self.base_offset:
                raise CorruptTransactionIndex(f"{self.path} has {transaction}, which ends below the segment")
            if transaction.last_offset <= before:
                raise CorruptTransactionIndex(f"{self.path} has {transaction} after a marker at {before}")
            if not 0 <= transaction.first_offset <= transaction.last_offset or transaction.producer_id < 0:
                raise CorruptTransactionIndex(f"{self.path} has {transaction}, which is invalid")
            before = transaction.last_offset

    def write(self) -> None:
        """Write all changes to the file, without fsync."""
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
            self._file.report(error)
            _LOG.warning("%s; its entries stay in memory until they can be written", explain(error))

    def image(self) -> bytes:
        """Return the contents of the file after a flush."""
        return bytes(self._entries)

    def close(self) -> None:
        """Release the descriptor and the memory; the next use reads the file again. Unwritten entries are lost."""
        self._loaded = None
        self._file.close()

    def remove(self) -> None:
        """Delete the file if it exists."""
        self._loaded = bytearray()
        if self._file.exists():
            self._file.remove()

    def rename(self, path: str) -> None:
        """Rename the file. If it does not exist yet, only its path changes."""
        if self._file.exists():
            self._file.rename(path)
        else:
            self._file.moved(path)
