"""Control records, which brokers write to a log and which consumers do not return to the application.

    key      version (int16) type (int16)

    COMMIT, ABORT    the end of a transaction (KIP-98); value: version (int16) coordinator epoch (int32).
                     The batch is transactional and has the producer id and epoch, but no sequence.
    LEADER_CHANGE    a new leader of a KRaft quorum. Readers skip this record.

A control batch has exactly one record, or none if log compaction has removed it.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

from .batch import CONTROL, TRANSACTIONAL
from .build import frame_batch
from .record import Record

_KEY = Struct(">hh")
_END_MARKER = Struct(">hi")
_END_MARKER_RECORD = Struct(">B3xBhhBhiB")  # lengths and deltas are one-byte varints


class ControlType(IntEnum):
    """The types of control records, with the numbers that identify them in the key. Clients ignore unknown types."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndMarker(NamedTuple):
    """A transaction marker: COMMIT or ABORT, and the epoch of the coordinator that wrote it."""

    type: ControlType
    coordinator_epoch: int


def control_type(record: Record) -> ControlType:
    """Return the type of a control record. Raises KafkaError(INVALID_RECORD) if its key is invalid."""
    version, number = _unpack(_KEY, record.key, "control record key")
    if version < 0:
        raise KafkaError(Code.INVALID_RECORD, f"Invalid version found for control record: {version}")
    return ControlType(number) if number in ControlType.__members__.values() else ControlType.UNKNOWN


def read_end_marker(record: Record) -> EndMarker:
    """Decode a transaction marker.

    Raises KafkaError with INVALID_RECORD if the key or value is invalid, or with UNKNOWN_SERVER_ERROR for any other
    type of control record.
    """
    kind = control_type(record)
    if kind not in (ControlType.COMMIT, ControlType.ABORT):
        raise KafkaError(
            Code.UNKNOWN_SERVER_ERROR, f"Invalid control record type for end transaction marker {kind.name}"
        )
    version, coordinator_epoch = _unpack(_END_MARKER, record.value, "end transaction marker")
    if version < 0:
        raise KafkaError(Code.INVALID_RECORD, f"Invalid version found for end transaction marker: {version}")
    return EndMarker(kind, coordinator_epoch)


def _unpack(layout: Struct, data: bytes | None, what: str) -> tuple[int, int]:
    """Unpack two numbers. Any bytes after them, which a later version may add, are ignored."""
    if data is None or len(data) < layout.size:
        size = 0 if data is None else len(data)
        raise KafkaError(
            Code.INVALID_RECORD,
            f"Invalid value size found for {what}. Must have at least {layout.size} bytes, but found only {size}",
        )
    first, second = layout.unpack_from(data)
    return first, second


def build_end_marker(
    marker: EndMarker,
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Build the control batch that ends a transaction (MemoryRecords.withEndTransactionMarker)."""
    payload = _END_MARKER_RECORD.pack(16 << 1, 4 << 1, 0, marker.type, 6 << 1, 0, marker.coordinator_epoch, 0)
    return frame_batch(
        payload,
        1,
        attributes=TRANSACTIONAL | CONTROL,
        base_offset=base_offset,
        last_offset_delta=0,
        leader_epoch=leader_epoch,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
