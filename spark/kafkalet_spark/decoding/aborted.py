"""Find the batches of aborted transactions, which consumers with read_committed skip.

A transaction ends with a marker from its producer, which is a control batch with one record. Kafka writes markers
uncompressed, and their lengths and deltas are one-byte varints, so the type is at a fixed position. Markers with any
other layout are decoded in full.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE, Batch
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.protocol.wire import Buffer

from .batches import Batches

Int64s = NDArray[np.int64]

_KEY_LENGTH_AT = HEADER_SIZE + 4  # after the record's length, attributes and two deltas
_VARINTS_AT = (HEADER_SIZE, HEADER_SIZE + 2, HEADER_SIZE + 3)
_TYPE_AT = _KEY_LENGTH_AT + 3
_KEY_LENGTH = 4 << 1  # 4 as a varint


class AbortedTransactions(NamedTuple):
    """Aborted transactions as columns. `last_offset` is the offset of the marker."""

    producer_id: Int64s
    first_offset: Int64s
    last_offset: Int64s

    def take(self, rows: Any) -> AbortedTransactions:
        """Return the rows selected by indexes or a mask."""
        return AbortedTransactions(*(column[rows] for column in self))


def is_aborted(batches: Batches, aborted: AbortedTransactions) -> NDArray[np.bool_]:
    """Mark the batches that hold records of an aborted transaction. The markers themselves are not marked."""
    found = np.zeros(batches.position.size, np.bool_)
    candidates = batches.is_transactional & ~batches.is_control
    for producer_id in np.intersect1d(aborted.producer_id, batches.producer_id[candidates]):
        its = aborted.producer_id == producer_id
        order = np.argsort(aborted.first_offset[its])
        first, last = aborted.first_offset[its][order], aborted.last_offset[its][order]
        mine = np.flatnonzero(candidates & (batches.producer_id == producer_id))
        which = np.searchsorted(first, batches.base_offset[mine], side="right") - 1
        inside = (which >= 0) & (batches.base_offset[mine] <= last[which])
        found[mine[inside]] = True
    return found


def abort_markers(buffer: Buffer, batches: Batches) -> Int64s:
    """Return the indexes of the batches that are ABORT markers."""
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
        return ControlType.UNKNOWN  # the error is reported when the records are decoded
