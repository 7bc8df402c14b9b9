"""From one format to another: for consumers that know only old ones, and for producers that know only old ones.

Down, on fetch (RecordsUtil, LazyDownConversionRecords; Kafka up to 3.9). What old formats lack gets lost: headers,
control batches, and in format 0 timestamps. A batch that is not compressed becomes one message a record, from the fetch
offset on; a compressed one becomes one wrapper with all its records. zstd is refused.

An answer announces its size before anything but the first batch has been converted, and Kafka announces the size of
the unconverted data, or that of the first converted batch if it is larger. What is converted is cut off there, in the
middle of a message if it comes to that, and the next fetch goes on; what is missing is filled up with messages that
claim to be longer than the answer, which consumers drop like any that is cut off. If all data vanished in the
conversion, twelve bytes of such a message remain. Chunks of 128 KiB are converted at a time, which shows where one of
them holds zstd: it is dropped whole. And when the first batch vanishes, the second one is sent twice, for Kafka, having
converted it ahead, skips one batch and not two. All of this is kept.

Up, on produce (LogValidator.buildRecordsAndAssignOffsets), and down again where a topic's message.format.version is
old: records get new offsets and a batch, or messages, of the format of the log.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

from .batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Batch,
    TimestampType,
    batches,
)
from .build import build_batch, build_message_set
from .codecs import Codec
from .record import Record

CHUNK_BYTES = 128 * 1024
"""So much unconverted data is converted at a time (LazyDownConversionRecordsSend.MAX_READ_SIZE)."""


def down_convert(entries: Iterable[Batch], to_magic: int, first_offset: int) -> bytes:
    """`entries` in format `to_magic`, 0 or 1; those that are old enough stay as they are.

    Raises KafkaError: UNSUPPORTED_COMPRESSION_TYPE for zstd; what decoding and compressing raise.
    """
    pieces = []
    for batch in entries:
        if batch.is_control:
            continue
        codec = batch.codec
        if codec is Codec.ZSTD:
            raise KafkaError(
                Code.UNSUPPORTED_COMPRESSION_TYPE,
                "Down-conversion of zstandard-compressed batches is not supported",
            )
        if batch.magic <= to_magic:
            pieces.append(batch.to_bytes())
            continue
        records = [record for record in batch.records() if codec or record.offset >= first_offset]
        if records:
            _check_timestamps(records)
            message_set = build_message_set(
                to_magic,
                records,
                codec=codec,
                base_offset=records[0].offset,
                timestamp_type=batch.timestamp_type,
                append_time=batch.max_timestamp,
            )
            pieces.append(message_set)
    return b"".join(pieces)


def _chunks(entries: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """`entries` in order, as many at a time as have at most `size` bytes together, but at least one."""
    chunk: list[Batch] = []
    chunk_bytes = 0
    for batch in entries:
        if chunk and chunk_bytes + batch.size > size:
            yield chunk
            chunk, chunk_bytes = [], 0
        chunk.append(batch)
        chunk_bytes += batch.size
    if chunk:
        yield chunk


def _filler(size: int) -> bytes:
    """`size` bytes that a consumer takes for the beginning of a message (buildOverflowBatch)."""
    pieces = []
    while size > 0:
        claimed = max(size + 1, HEADER_SIZE)
        piece = (-1).to_bytes(8, "big", signed=True) + claimed.to_bytes(4, "big")
        piece = piece.ljust(max(LOG_OVERHEAD, min(size + 1, CHUNK_BYTES)), b"\0")[:size]
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def down_converted(data: Buffer, to_magic: int, first_offset: int) -> bytes:
    """The records of a fetch answer out of `data`, which was read from the log at `first_offset`.

    Raises KafkaError as `down_convert` does, but for what comes behind the first batch that could be converted.
    """
    entries = batches(data)
    first = next(filter(None, (down_convert((batch,), to_magic, first_offset) for batch in entries)), None)
    if first is None:
        return _filler(LOG_OVERHEAD) if any(batches(data)) else b""
    size = max(len(data), len(first))
    pieces, have = [first], len(first)
    for chunk in _chunks(islice(batches(data), 1, None), CHUNK_BYTES):
        if have >= size:
            break
        try:
            pieces.append(down_convert(chunk, to_magic, first_offset))
        except KafkaError as error:
            if error.code is not Code.UNSUPPORTED_COMPRESSION_TYPE:
                raise
            break
        have += len(pieces[-1])
    pieces.append(_filler(size - have))
    return b"".join(pieces)[:size]


class Rebuilt(NamedTuple):
    """Records in another format, or with another codec."""

    data: bytes
    max_timestamp: int
    """-1 without one."""
    offset_of_max_timestamp: int
    """For the time index: the last offset of the batch that has it, -1 without one."""


def rebuild(
    records: Iterable[Record],
    magic: int,
    *,
    base_offset: int,
    timestamp_type: TimestampType,
    append_time: int,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> Rebuilt:
    """`records` in format `magic` with the offsets from `base_offset` on, ready to be appended.

    `append_time` is their time under LogAppendTime. Raises KafkaError(UNKNOWN_SERVER_ERROR) for what the format cannot
    carry, which Kafka notices too late to say more: headers and zstd in the old ones, and in all a negative timestamp
    other than -1.
    """
    numbered = [record._replace(offset=offset) for offset, record in enumerate(records, base_offset)]
    _check_timestamps(numbered)
    if magic < 2 and any(record.headers for record in numbered):
        raise _impossible(f"Magic v{magic} does not support record headers")
    if magic < 2 and codec is Codec.ZSTD:
        raise _impossible(f"ZStandard compression is not supported for magic {magic}")
    if magic < 2:
        data = build_message_set(
            magic,
            numbered,
            codec=codec,
            level=level,
            base_offset=base_offset,
            timestamp_type=timestamp_type,
            append_time=append_time,
        )
    else:
        data = build_batch(
            numbered,
            base_offset=base_offset,
            codec=codec,
            level=level,
            leader_epoch=leader_epoch,
            timestamp_type=timestamp_type,
            append_time=append_time,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
    is_one_batch = magic >= 2 or codec is not Codec.NONE
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        return Rebuilt(data, append_time, numbered[-1].offset if is_one_batch else base_offset)
    first = max(numbered, key=lambda record: record.timestamp) if magic else numbered[0]
    if magic == 0 or first.timestamp == NO_TIMESTAMP:
        return Rebuilt(data, NO_TIMESTAMP, -1)
    return Rebuilt(data, first.timestamp, numbered[-1].offset if is_one_batch else first.offset)


def _check_timestamps(records: Sequence[Record]) -> None:
    for record in records:
        if record.timestamp < NO_TIMESTAMP:
            raise _impossible(f"Invalid negative timestamp {record.timestamp}")


def _impossible(message: str) -> KafkaError:
    return KafkaError(Code.UNKNOWN_SERVER_ERROR, message)
