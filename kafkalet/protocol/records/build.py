"""Builds batches and message sets from records, byte-for-byte identical to those of Kafka's MemoryRecordsBuilder.

The base timestamp is the timestamp of the first record, and the max timestamp is the largest timestamp (at least -1).
With LogAppendTime, the records of a batch keep their own timestamps, and the max timestamp is the append time.
Compressed data may differ from the output of the Java libraries.
"""

from collections.abc import Iterable, Sequence
from struct import Struct

from .batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    TimestampType,
)
from .codecs import Codec, compress
from .crc32c import crc32c
from .legacy import encode_message
from .record import Headers, Record, encode_records

_HEAD = Struct(">qiibI")  # the fields from base offset to crc
_TAIL = Struct(">hiqqqhii")  # the fields from attributes to count; the checksum covers them and the records

JOINED_BYTES = 16 * 1024
"""Up to this size, copying the records takes less time than a second checksum in pure Python (4 µs)."""


def numbered(rows: Iterable[tuple[int, bytes | None, bytes | None, Headers]], first_offset: int = 0) -> list[Record]:
    """Convert (timestamp, key, value, headers) rows to records with consecutive offsets, starting at `first_offset`."""
    return [Record(offset, *row) for offset, row in enumerate(rows, first_offset)]


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    append_time: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    last_offset: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Build a batch of format 2. The offsets of the records are absolute and not below `base_offset`.

    `last_offset`, `base_timestamp` and `max_timestamp` override the values derived from the records. A compacted batch
    keeps its last offset even if no record is left, so `last_offset` is needed for a batch without records
    (DefaultRecordBatch.writeEmptyHeader). `delete_horizon_ms` replaces the base timestamp. `append_time` is used only
    with LogAppendTime. Raises KafkaError as `compress` does.
    """
    if last_offset is None:
        last_offset = records[-1].offset if records else base_offset - 1
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    elif base_timestamp is None:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = append_time
    elif max_timestamp is None:
        max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
        max_timestamp = max(max_timestamp, NO_TIMESTAMP)
    attributes = (
        codec
        | (LOG_APPEND_TIME if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL if is_transactional else 0)
        | (CONTROL if is_control else 0)
        | (DELETE_HORIZON if delete_horizon_ms is not None else 0)
    )
    payload = encode_records(records, base_offset, base_timestamp)
    if codec and records:
        payload = compress(codec, payload, level)
    return frame_batch(
        payload,
        len(records),
        attributes=attributes,
        base_offset=base_offset,
        last_offset_delta=last_offset - base_offset,
        leader_epoch=leader_epoch,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def frame_batch(
    payload: bytes,
    count: int,
    *,
    attributes: int,
    base_offset: int,
    last_offset_delta: int,
    leader_epoch: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytes:
    """Build a batch of format 2 from a `payload` of `count` encoded, possibly compressed records."""
    tail = _TAIL.pack(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    length = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    if len(payload) > JOINED_BYTES:
        head = _HEAD.pack(base_offset, length, leader_epoch, 2, crc32c(payload, crc32c(tail)))
        return b"".join((head, tail, payload))
    rest = tail + payload
    return _HEAD.pack(base_offset, length, leader_epoch, 2, crc32c(rest)) + rest


def build_message_set(
    magic: int,
    records: Sequence[Record],
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    base_offset: int = 0,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    append_time: int = NO_TIMESTAMP,
) -> bytes:
    """Build a message set of format 0 or 1 (`magic`): one message per record, or one compressed wrapper.

    A wrapper has the offset of its last message. The offsets of the inner messages are relative to `base_offset` in
    format 1 and absolute in format 0. With LogAppendTime, all messages have the timestamp `append_time`. Headers are
    dropped. The result is empty if there are no records.
    """
    attributes = LOG_APPEND_TIME if magic and timestamp_type is TimestampType.LOG_APPEND_TIME else 0
    first = base_offset if magic and codec else 0
    messages = [
        encode_message(
            record.offset - first,
            magic,
            attributes,
            append_time if attributes else record.timestamp,
            record.key,
            record.value,
        )
        for record in records
    ]
    if codec is Codec.NONE or not records:
        return b"".join(messages)
    timestamp = append_time if attributes else max(NO_TIMESTAMP, *(record.timestamp for record in records))
    value = compress(codec, b"".join(messages), level, magic)
    return encode_message(records[-1].offset, magic, attributes | codec, timestamp, None, value)
