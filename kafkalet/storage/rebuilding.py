"""Appends whose batches must be rebuilt, because the log uses another codec (compression.type) or format.

    formats 0 and 1, from Produce v0 to v2     one batch of format 2 with all messages of the request
    any format, if the release still honors    the log's format; formats 0 and 1 have no headers and
    message.format.version                     producer ids
    old formats in a log of that format        the messages as sent, with new offsets and timestamps; a wrapper is kept
                                               if the messages inside are numbered 0, 1, 2, ...

The records are decoded, checked (see validation.py), numbered, and encoded again. Some batches pass the checks, but
Kafka's builder refuses them with UNKNOWN_SERVER_ERROR: timestamps below -1, a producer id without an epoch, a
transaction in format 0 or 1 (MemoryRecordsBuilder). If the batch is compressed, the error in the last case is
UNSUPPORTED_FOR_MESSAGE_FORMAT, because LogValidator.validateBatch then runs before the builder is created.
"""

from collections.abc import Sequence

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records import convert, legacy
from kafkalet.protocol.records.batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Batch,
    TimestampType,
    batches,
)
from kafkalet.protocol.records.codecs import LIMIT, Codec
from kafkalet.protocol.records.record import Record

from .acceptance import (
    ValidatedBatches,
    check_header,
    check_record_sizes,
    check_segment_size,
    check_single_batch,
    check_size,
)
from .config import LogConfig
from .record_errors import RecordRules
from .refusals import AppendRefused
from .topic_properties import MAX_ARRAY
from .values import UNKNOWN_OFFSET, Origin


def rebuild(
    sent: Sequence[Batch],
    config: LogConfig,
    source: Codec,
    target: Codec,
    rules: RecordRules,
    *,
    next_offset: int,
    leader_epoch: int,
    origin: Origin,
    now_ms: int,
) -> ValidatedBatches:
    """Check the records in `sent`, and encode them for the log. Raises AppendRefused and KafkaError."""
    if source is target is Codec.NONE:
        for batch in sent:  # Kafka estimates the size first, which fails for malformed records
            batch.records()
        stays_plain = config.compression_type in ("producer", "uncompressed")
        if stays_plain and config.record_version < 2 and sent[0].is_transactional:
            raise AppendRefused(
                Code.UNKNOWN_SERVER_ERROR, f"a transactional batch cannot be written in format {config.record_version}"
            )
    check_single_batch(sent, source is not Codec.NONE)
    first = sent[0]
    records: list[Record] = []
    for batch in sent:
        if batch.magic != first.magic:
            raise AppendRefused(
                Code.INVALID_RECORD, f"a batch of format {batch.magic} follows one of format {first.magic}"
            )
        if origin is Origin.CLIENT:
            check_header(batch)
        _check_fits(batch, config.record_version)
        records += _checked_records(batch, rules, config)
    if _keeps_its_bytes(first, records, source, target, config):
        return _renumber(sent, records, config, next_offset, now_ms)
    return _write(first, records, config, target, next_offset, leader_epoch, now_ms)


def _check_fits(batch: Batch, record_version: int) -> None:
    if record_version < 2 and (batch.is_transactional or batch.has_producer_id):
        raise AppendRefused(
            Code.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"format {record_version} cannot store a producer id or a transaction",
        )


def _checked_records(batch: Batch, rules: RecordRules, config: LogConfig) -> list[Record]:
    """Decode and check the records of one entry, including the checksums of messages inside a wrapper."""
    if batch.codec and batch.magic >= 2 and config.max_decompressed_message_bytes < MAX_ARRAY:
        check_record_sizes(batch.payload(), batch.count, config)
    is_old = batch.magic < 2
    records = legacy.decode_message(batch.view(), LIMIT, check_inner_crcs=True) if is_old else batch.records()
    rules.check_records(records, claim_append_time=batch.timestamp_type is TimestampType.LOG_APPEND_TIME)
    return records


def _keeps_its_bytes(first: Batch, records: Sequence[Record], source: Codec, target: Codec, config: LogConfig) -> bool:
    """Return whether messages in an old format need only new offsets and timestamps, in a log of the same format."""
    if first.magic != config.record_version or first.magic == 2 or source is not target:
        return False
    if source is Codec.NONE:
        return True
    return first.magic == 1 and all(record.offset == index for index, record in enumerate(records))


def _renumber(
    sent: Sequence[Batch], records: Sequence[Record], config: LogConfig, next_offset: int, now_ms: int
) -> ValidatedBatches:
    """Copy messages of an old format, or their wrapper, and assign offsets and timestamps in the copy."""
    size = sent[-1].end
    check_segment_size(size, config)
    buffer = bytearray(memoryview(sent[0].buffer)[:size])
    stamps = config.stamps_append_time
    last_offset = next_offset + len(records) - 1
    max_timestamp, offset_of_max_timestamp = NO_TIMESTAMP, UNKNOWN_OFFSET
    is_wrapper = sent[0].codec is not Codec.NONE
    timestamps = (
        [max(record.timestamp for record in records)] if is_wrapper else [record.timestamp for record in records]
    )
    for index, (batch, sent_timestamp) in enumerate(zip(sent, timestamps, strict=True)):
        offset = last_offset if is_wrapper else next_offset + index
        legacy.set_offset(buffer, batch.position, offset)
        if batch.magic:
            timestamp = now_ms if stamps else sent_timestamp
            legacy.set_timestamp(buffer, batch.position, stamps, timestamp)
            if timestamp > max_timestamp:
                max_timestamp, offset_of_max_timestamp = timestamp, offset
    return ValidatedBatches(
        buffer,
        list(batches(buffer)),
        next_offset,
        last_offset,
        max_timestamp,
        offset_of_max_timestamp,
        now_ms if stamps else NO_TIMESTAMP,
    )


def _write(
    first: Batch,
    records: Sequence[Record],
    config: LogConfig,
    target: Codec,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
) -> ValidatedBatches:
    """Encode the records in the log's format and codec."""
    _check_producer(first, config.record_version)
    stamps = config.stamps_append_time
    append_time = now_ms if stamps else NO_TIMESTAMP
    written = convert.rebuild(
        records,
        config.record_version,
        base_offset=next_offset,
        timestamp_type=TimestampType.LOG_APPEND_TIME if stamps else TimestampType.CREATE_TIME,
        append_time=append_time,
        codec=target,
        level=_level(target, config),
        leader_epoch=leader_epoch,
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        base_sequence=first.base_sequence,
        is_transactional=first.is_transactional,
    )
    entries = list(batches(written.data))
    for entry in entries:
        check_size(entry.size, config)
    check_segment_size(len(written.data), config)
    return ValidatedBatches(
        written.data,
        entries,
        next_offset,
        next_offset + len(records) - 1,
        written.max_timestamp,
        written.offset_of_max_timestamp,
        append_time,
    )


def _check_producer(first: Batch, record_version: int) -> None:
    """Raise UNKNOWN_SERVER_ERROR for an invalid producer state (MemoryRecordsBuilder.validateProducerState)."""
    if first.producer_id == NO_PRODUCER_ID:
        makes_sense = not first.is_transactional
    else:
        makes_sense = record_version >= 2 and first.producer_epoch != NO_PRODUCER_EPOCH and first.base_sequence >= 0
    if not makes_sense:
        raise AppendRefused(
            Code.UNKNOWN_SERVER_ERROR,
            f"cannot write a batch for producer {first.producer_id} with epoch {first.producer_epoch} and sequence"
            f" {first.base_sequence}",
        )


def _level(codec: Codec, config: LogConfig) -> int | None:
    """Return the compression level (KIP-390); None if the codec has no levels."""
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
