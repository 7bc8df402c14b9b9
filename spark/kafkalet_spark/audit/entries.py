"""The valid entries of a chunk: record batches, and messages in formats 0 and 1."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.wire import Buffer
from kafkalet_spark.decoding.batches import Batches
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.decoding.records import Records, decode_all

Int64s = NDArray[np.int64]

MAX_RECORD_BYTES = 16 << 20
"""The maximum size in bytes of the decompressed records in memory."""


class Entries(NamedTuple):
    """Entries in `buffer`, in file order."""

    path: str
    buffer: Buffer
    batches: Batches
    position: Int64s
    """Positions in the file."""
    first_offset: Int64s
    """The first offset of each entry, counting deleted records. The header of a compressed entry of format 0 or 1 does
    not contain it, so it is taken from the records."""

    @property
    def span(self) -> Int64s:
        """The number of offsets that each entry spans."""
        return self.batches.last_offset - self.first_offset + 1

    @property
    def end(self) -> Int64s:
        return self.position + self.batches.size

    def before(self, offset: int) -> Entries:
        """Return the leading entries that begin below `offset`."""
        behind = np.flatnonzero(self.batches.base_offset >= offset)
        if behind.size == 0:
            return self
        kept = slice(0, int(behind[0]))
        return Entries(self.path, self.buffer, self.batches.take(kept), self.position[kept], self.first_offset[kept])


def entries_of(path: str, position: int, buffer: Buffer, batches: Batches) -> Entries:
    """Return the entries of a chunk whose buffer begins at `position` in the file."""
    first_offset = batches.base_offset.copy()
    wrappers = np.flatnonzero((batches.magic < 2) & (batches.codec != 0))
    for row in wrappers.tolist():
        try:
            for records in decode_all(buffer, batches.take(slice(row, row + 1)), ()):
                first_offset[row] = min(first_offset[row], records.offset.min(initial=first_offset[row]))
        except Unreadable:
            continue  # The record checks report this entry.
    return Entries(path, buffer, batches, position + batches.position, first_offset)


class Broken(NamedTuple):
    """An entry with a valid checksum but unreadable records."""

    row: int
    reason: str


def records_of(entries: Entries, want: Collection[str]) -> Iterator[Records | Broken]:
    """Decode the records of all entries, a few MiB at a time, and yield a Broken for each entry that cannot be decoded.

    `row` is the index of an entry in `entries`.
    """
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
