"""The entries of .index, .timeindex and .txnindex files, in file order and with their positions.

Entries are read in windows. The zeros that Kafka preallocates after the last entry of .index and .timeindex are not
entries; they stay in the file after an unclean shutdown.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.formats import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, TXN_INDEX_ENTRY, EntryLayout

from .kinds import Kind
from .reading import ReadOnlyFile

LAYOUTS = {
    Kind.OFFSET_INDEX: OFFSET_INDEX_ENTRY,
    Kind.TIME_INDEX: TIME_INDEX_ENTRY,
    Kind.TXN_INDEX: TXN_INDEX_ENTRY,
}
_WINDOW_ENTRIES = 8192


class IndexEntry(NamedTuple):
    """An entry at byte `at` of its file. `fields` are in the order of the layout; offsets are relative."""

    at: int
    fields: tuple[int, ...]


class IndexFile:
    """The layout of an index file. `padding_bytes` are zeros after the last entry, `rest_bytes` part of an entry."""

    def __init__(self, file: ReadOnlyFile, kind: Kind) -> None:
        self.file = file
        self.layout: EntryLayout = LAYOUTS[kind]
        whole = file.size // self.layout.size_bytes * self.layout.size_bytes
        self.rest_bytes = file.size - whole
        used = whole if kind is Kind.TXN_INDEX else self._without_padding(whole)
        self.padding_bytes = whole - used
        self.size_bytes = used

    def _without_padding(self, whole: int) -> int:
        size = self.layout.size_bytes
        if whole == size:
            return whole  # a single entry may consist of zeros
        end = whole
        while end > 0:
            start = max(0, end - _WINDOW_ENTRIES * size)
            left = self.file.read(end - start, start).rstrip(b"\0")
            if left:
                return start + -(-len(left) // size) * size
            end = start
        return 0

    def __len__(self) -> int:
        return self.size_bytes // self.layout.size_bytes

    def __iter__(self) -> Iterator[IndexEntry]:
        size = self.layout.size_bytes
        for start in range(0, self.size_bytes, _WINDOW_ENTRIES * size):
            window = self.file.read(min(_WINDOW_ENTRIES * size, self.size_bytes - start), start)
            window = window[: len(window) // size * size]
            for number, fields in enumerate(self.layout.struct.iter_unpack(window)):
                yield IndexEntry(start + number * size, fields)

    def last(self) -> IndexEntry | None:
        """Return the last entry; None if there is none."""
        at = self.size_bytes - self.layout.size_bytes
        if at < 0:
            return None
        return IndexEntry(at, self.layout.struct.unpack(self.file.read(self.layout.size_bytes, at)))
