"""Conversion between message formats, for old consumers and old producers.

A fetch by an old consumer down-converts records (RecordsUtil, LazyDownConversionRecords; Kafka up to 3.9). Old formats
cannot represent headers or control batches, and format 0 has no timestamps, so these are lost. An uncompressed batch
becomes one message per record, starting at the fetch offset. A compressed batch becomes one wrapper with all its
records. zstd is rejected.

Kafka has to send the size of a response before it has converted more than the first batch. It sends the size of the
unconverted data, or that of the first converted batch if it is larger. This has the following consequences, which
kafkalet reproduces:

* If the converted data is larger, it is truncated to that size, possibly inside a message; the next fetch continues
  there.
* If the converted data is smaller, it is padded with messages whose size field extends beyond the response. Consumers
  drop these messages as incomplete.
* If the conversion removes all data, the response contains the first twelve bytes of such a message.
* Data is converted in chunks of 128 KiB. A chunk that contains a zstd batch is dropped as a whole.
* If the first batch is removed, the second one is sent twice: Kafka has already converted it, but skips only one batch.

Produced records are converted if their format differs from that of the log (LogValidator.buildRecordsAndAssignOffsets).
They are assigned new offsets and rebuilt in the format of the log, which may be newer or, because of
message.format.version, older.
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
"""The size of a chunk of unconverted data (LazyDownConversionRecordsSend.MAX_READ_SIZE)."""


def down_convert(entries: Iterable[Batch], to_magic: int, first_offset: int) -> bytes:
    """Convert `entries` to format `to_magic` (0 or 1). Entries in this format or an older one are not changed.

    Raises KafkaError with UNSUPPORTED_COMPRESSION_TYPE for zstd, or with the codes of decoding and compression errors.
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
    """Split `entries` into chunks of at most `size` bytes. An entry larger than that forms its own chunk."""
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
    """Return `size` bytes that look like the beginning of an incomplete message (buildOverflowBatch)."""
    pieces = []
    while size > 0:
        claimed = max(size + 1, HEADER_SIZE)
        piece = (-1).to_bytes(8, "big", signed=True) + claimed.to_bytes(4, "big")
        piece = piece.ljust(max(LOG_OVERHEAD, min(size + 1, CHUNK_BYTES)), b"\0")[:size]
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def down_converted(data: Buffer, to_magic: int, first_offset: int) -> bytes:
    """Convert `data`, which was read from the log at `first_offset`, into the records of a fetch response.

    Raises KafkaError as `down_convert` does, except for zstd after the first converted batch: the records then end
    before the chunk with the zstd batch.
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


class RebuildResult(NamedTuple):
    """The result of `rebuild`."""

    data: bytes
    max_timestamp: int
    """The largest timestamp, or -1 if there is none."""
    offset_of_max_timestamp: int
    """The offset for the time index: the last offset of the batch with the max timestamp, or -1 if there is none."""


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
) -> RebuildResult:
    """Encode `records` in format `magic`, with new offsets starting at `base_offset`, ready to be appended.

    With LogAppendTime, all records have the timestamp `append_time`. Raises KafkaError(UNKNOWN_SERVER_ERROR), like
    Kafka, for records that the format cannot represent: headers or zstd in formats 0 and 1, and negative timestamps
    other than -1 in all formats.
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
        return RebuildResult(data, append_time, numbered[-1].offset if is_one_batch else base_offset)
    first = max(numbered, key=lambda record: record.timestamp) if magic else numbered[0]
    if magic == 0 or first.timestamp == NO_TIMESTAMP:
        return RebuildResult(data, NO_TIMESTAMP, -1)
    return RebuildResult(data, first.timestamp, numbered[-1].offset if is_one_batch else first.offset)


def _check_timestamps(records: Sequence[Record]) -> None:
    for record in records:
        if record.timestamp < NO_TIMESTAMP:
            raise _impossible(f"Invalid negative timestamp {record.timestamp}")


def _impossible(message: str) -> KafkaError:
    return KafkaError(Code.UNKNOWN_SERVER_ERROR, message)
