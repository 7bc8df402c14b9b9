"""Where transactions were aborted, as far as an answer to Fetch tells.

Under read_committed a broker says which aborted transactions reach into the offsets of its answer: whose they are and
where they began, but not where they end. That says the log: a transaction ends with the first ABORT marker of its
producer behind its beginning, which is in the answer, or in a later one.

A marker is a control batch with one record. Written by Kafka it is uncompressed and has all its lengths and deltas in
one byte each, so that its type lies at a known place; one that looks otherwise is decoded with more effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.decoding.batches import Batches
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE, NO_PRODUCER_ID, Batch
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.protocol.wire import Buffer

Int64s = NDArray[np.int64]

_KEY_LENGTH_AT = HEADER_SIZE + 4  # behind the length of the record, its attributes and two deltas
_VARINTS_AT = (HEADER_SIZE, HEADER_SIZE + 2, HEADER_SIZE + 3)
_TYPE_AT = _KEY_LENGTH_AT + 3
_KEY_LENGTH = 4 << 1  # as a varint
LAST = np.iinfo(np.int64).max
"""Where a transaction ends whose marker is not there."""


class Aborted(NamedTuple):
    """Aborted transactions in columns, by their first offsets; `last_offset` is that of the marker, or LAST."""

    producer_id: Int64s
    first_offset: Int64s
    last_offset: Int64s


def aborted_in(buffer: Buffer, batches: Batches, begun: Sequence[tuple[int, int]]) -> Aborted:
    """The transactions (producer id, first offset) of an answer, with the ends that its batches tell."""
    columns = np.array(begun, np.int64).reshape(-1, 2)
    producer_id, first_offset = columns[np.argsort(columns[:, 1], kind="stable")].T
    markers = batches.take(abort_markers(buffer, batches))
    return Aborted(producer_id, first_offset, _ends(producer_id, first_offset, markers))


def _ends(producer_id: Int64s, first_offset: Int64s, markers: Batches) -> Int64s:
    """The offset of the first marker of the same producer behind each offset, or LAST.

    All are put in one order, by producer and offset; there the marker wanted is the next one, if it is of the producer.
    """
    producers = np.concatenate((markers.producer_id, producer_id))
    offsets = np.concatenate((markers.base_offset, first_offset))
    order = np.lexsort((offsets, producers))
    place = np.where(order < markers.base_offset.size, np.arange(order.size), order.size)
    following = np.minimum.accumulate(place[::-1])[::-1]
    ends = np.append(offsets[order], LAST)[following]
    ends[np.append(producers[order], NO_PRODUCER_ID)[following] != producers[order]] = LAST
    in_place = np.empty_like(ends)
    in_place[order] = ends
    return in_place[markers.base_offset.size :]


def abort_markers(buffer: Buffer, batches: Batches) -> Int64s:
    """The rows of the batches that are ABORT markers."""
    rows: Int64s = np.flatnonzero(batches.is_control & (batches.producer_id >= 0) & (batches.count > 0))
    if not rows.size:
        return rows
    position, size = batches.position[rows], batches.size[rows]
    data = np.frombuffer(buffer, np.uint8)
    known = (size > _TYPE_AT + 1) & (batches.codec[rows] == 0)
    for place in _VARINTS_AT:
        known &= data[np.where(known, position + place, 0)] < 0x80
    known &= data[np.where(known, position + _KEY_LENGTH_AT, 0)] == _KEY_LENGTH
    types = np.full(rows.size, ControlType.UNKNOWN, np.int64)
    at = position[known] + _TYPE_AT
    types[known] = data[at].astype(np.int64) << 8 | data[at + 1]
    for odd in np.flatnonzero(~known):
        types[odd] = _decoded_type(buffer, int(position[odd]))
    aborts: Int64s = rows[types == ControlType.ABORT]
    return aborts


def _decoded_type(buffer: Buffer, position: int) -> ControlType:
    try:
        return control_type(Batch(buffer, position).records()[0])
    except KafkaError:
        return ControlType.UNKNOWN  # what is wrong with it, whoever decodes it will say
