"""The sound entries of a chunk, with what an audit wants to know of them besides their headers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.decoding.batches import Batches
from kafkalet.pipeline.decoding.exactly import Unreadable
from kafkalet.pipeline.decoding.records import Records, decode_all
from kafkalet.protocol.wire import Buffer

Int64s = NDArray[np.int64]

MAX_RECORD_BYTES = 16 << 20
"""How much of decompressed records is held at a time."""


class Entries(NamedTuple):
    """Entries that lie in `buffer`, in the order in which they lie."""

    path: str
    buffer: Buffer
    batches: Batches
    position: Int64s
    """In the file."""
    first_offset: Int64s
    """Of the records in them, deleted ones included: a wrapper of formats 0 and 1 does not say it itself."""

    @property
    def span(self) -> Int64s:
        """How many offsets an entry takes up."""
        return self.batches.last_offset - self.first_offset + 1

    @property
    def end(self) -> Int64s:
        return self.position + self.batches.size

    def before(self, offset: int) -> Entries:
        """The entries that begin below `offset`, up to the first one that does not."""
        behind = np.flatnonzero(self.batches.base_offset >= offset)
        if behind.size == 0:
            return self
        kept = slice(0, int(behind[0]))
        return Entries(self.path, self.buffer, self.batches.take(kept), self.position[kept], self.first_offset[kept])


def entries_of(path: str, position: int, buffer: Buffer, batches: Batches) -> Entries:
    """The entries of a chunk whose buffer begins at `position` of the file."""
    first_offset = batches.base_offset.copy()
    wrappers = np.flatnonzero((batches.magic < 2) & (batches.codec != 0))
    for row in wrappers.tolist():
        try:
            for records in decode_all(buffer, batches.take(slice(row, row + 1)), ()):
                first_offset[row] = min(first_offset[row], records.offset.min(initial=first_offset[row]))
        except Unreadable:
            continue  # it is found again where the records are checked
    return Entries(path, buffer, batches, position + batches.position, first_offset)


class Broken(NamedTuple):
    """An entry with the right checksum whose records no consumer could read."""

    row: int
    reason: str


def records_of(entries: Entries, want: Collection[str]) -> Iterator[Records | Broken]:
    """The records of all entries, some MiB at a time; `row` counts in `entries`. Broken entries come in between."""
    batches = entries.batches
    count = batches.position.size
    done = 0
    while done < count:
        rest = batches.take(slice(done, count))
        start = done
        try:
            for records in decode_all(entries.buffer, rest, want, MAX_RECORD_BYTES):
                if records.row.size:
                    done = start + int(records.row[-1]) + 1
                    yield records._replace(row=records.row + np.int32(start))
            return
        except Unreadable as error:
            bad = int(np.searchsorted(batches.position, error.position))
            reason = error.reason
        if bad > done:
            for records in decode_all(entries.buffer, batches.take(slice(done, bad)), want, MAX_RECORD_BYTES):
                yield records._replace(row=records.row + np.int32(done))
        yield Broken(bad, reason)
        done = bad + 1
