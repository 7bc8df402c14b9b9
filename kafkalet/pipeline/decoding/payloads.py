"""Where the records of batches lie: in the buffer itself, or, once one of the batches is compressed, in a new one.

Decompressed records of many batches go into one buffer, for what is decoded together is decoded cheaply. How much that
is, is bounded: a piece is closed as soon as it holds `max_bytes`, so it never holds more than that and one batch.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE
from kafkalet.protocol.records.codecs import LIMIT, Codec, decompress
from kafkalet.protocol.wire import Buffer

from .batches import Batches, Int64s
from .unreadable import Unreadable


class Payloads(NamedTuple):
    """The records of some batches of format 2 which have any: a row for each batch."""

    buffer: Buffer
    row: Int64s  # of the batch
    start: Int64s  # in `buffer`
    end: Int64s


def payloads(buffer: Buffer, batches: Batches, rows: Int64s, max_bytes: int, limit: int = LIMIT) -> Iterator[Payloads]:
    """The payloads of these rows, in order, in pieces of about `max_bytes`; batches without records are left out.

    Raises Unreadable for what cannot be decompressed, or not to less than `limit` bytes.
    """
    rows = rows[batches.count[rows] != 0]
    codec = batches.codec
    pending: list[int] = []
    sections: list[Buffer] = []
    held = 0
    for row, number in zip(rows.tolist(), codec[rows].tolist(), strict=True):
        start, end = int(batches.position[row]) + HEADER_SIZE, int(batches.position[row] + batches.size[row])
        pending.append(row)
        if number:
            section = _decompressed(buffer, start, end, number, limit)
            sections.append(section)
            held += len(section)
        else:
            sections.append(memoryview(buffer)[start:end])
            held += end - start
        if held >= max_bytes:
            yield _piece(buffer, batches, pending, sections)
            pending, sections, held = [], [], 0
    if pending:
        yield _piece(buffer, batches, pending, sections)


def _piece(buffer: Buffer, batches: Batches, rows: list[int], sections: list[Buffer]) -> Payloads:
    row = np.array(rows, np.int64)
    if not batches.codec[row].any():
        return Payloads(buffer, row, batches.position[row] + HEADER_SIZE, batches.end[row])
    ends = np.cumsum([len(section) for section in sections])
    return Payloads(b"".join(sections), row, np.append(0, ends[:-1]), ends)


def _decompressed(buffer: Buffer, start: int, end: int, number: int, limit: int) -> bytes:
    try:
        return decompress(Codec.of(number), memoryview(buffer)[start:end], limit)
    except KafkaError as error:
        raise Unreadable(start - HEADER_SIZE, end - start + HEADER_SIZE, error.message or error.code.name) from None
