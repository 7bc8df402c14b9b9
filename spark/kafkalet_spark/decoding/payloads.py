"""Locate the records sections of batches: in the original buffer or, if any of them is compressed, in a new buffer.

The decompressed records of many batches share one buffer (a piece), because decoding them together is cheaper. The size
of a piece is bounded: it is complete as soon as its memory cost reaches `max_bytes`, so it exceeds this limit by one
batch at most.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE
from kafkalet.protocol.records.codecs import Codec, decompress
from kafkalet.protocol.wire import Buffer

from .batches import Batches, Int64s
from .exactly import Unreadable

RECORD_BYTES = 100
"""The memory cost of decoding a record, in addition to its own bytes: one number in each of about a dozen columns."""


class Payloads(NamedTuple):
    """The records sections of some format 2 batches. There is one row per batch that has records."""

    buffer: Buffer
    row: Int64s  # index of the batch
    start: Int64s  # position in `buffer`
    end: Int64s

    def part(self, first: int, behind: int) -> "Payloads":
        """Return a range of the rows."""
        return Payloads(self.buffer, self.row[first:behind], self.start[first:behind], self.end[first:behind])


def payloads(
    buffer: Buffer, batches: Batches, rows: Int64s, max_bytes: int, limit: int
) -> Iterator[Payloads | Unreadable]:
    """Yield the payloads of these rows, in order and in pieces of about `max_bytes`. Batches without records are left
    out.

    If a batch cannot be decompressed, or exceeds `limit` bytes when decompressed, an Unreadable is yielded in its
    place.
    """
    rows = rows[batches.count[rows] != 0]
    start, end = batches.position[rows] + HEADER_SIZE, batches.end[rows]
    columns_bytes = np.maximum(batches.count[rows], 0) * np.int64(RECORD_BYTES)
    if batches.codec[rows].any():
        yield from _decompressed(buffer, batches, rows, columns_bytes, max_bytes, limit)
        return
    for some in slices(end - start + columns_bytes, max_bytes):
        first = int(start[some.start])
        view = memoryview(buffer)[first : int(end[some.stop - 1])]
        yield Payloads(view, rows[some], start[some] - first, end[some] - first)


def slices(cost: Int64s, max_bytes: int) -> Iterator[slice]:
    """Split rows that have these costs into slices whose total cost is about `max_bytes`."""
    piece = (np.cumsum(cost) - cost) // max_bytes
    bounds = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), cost.size]
    for first, behind in pairwise(bounds):
        if behind > first:
            yield slice(first, behind)


def _decompressed(
    buffer: Buffer, batches: Batches, rows: Int64s, columns_bytes: Int64s, max_bytes: int, limit: int
) -> Iterator[Payloads | Unreadable]:
    view = memoryview(buffer)
    chosen = batches.take(rows)
    sections: list[Buffer] = []
    done = cost = 0
    for index, (position, end, codec, more) in enumerate(
        zip(chosen.position.tolist(), chosen.end.tolist(), chosen.codec.tolist(), columns_bytes.tolist(), strict=True)
    ):
        section: Buffer = view[position + HEADER_SIZE : end]
        if codec:
            try:
                section = decompress(Codec.of(codec), section, limit)
            except KafkaError as error:
                if sections:
                    yield _together(sections, rows[done:index])
                yield Unreadable(position, end - position, error.message or error.code.name)
                sections, done, cost = [], index + 1, 0
                continue
        sections.append(section)
        cost += len(section) + more
        if cost >= max_bytes:
            yield _together(sections, rows[done : index + 1])
            sections, done, cost = [], index + 1, 0
    if sections:
        yield _together(sections, rows[done:])


def _together(sections: list[Buffer], rows: Int64s) -> Payloads:
    ends = np.cumsum([len(section) for section in sections], dtype=np.int64)
    return Payloads(b"".join(sections), rows, np.append(0, ends[:-1]), ends)
