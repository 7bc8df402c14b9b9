"""Validates appends on the leader, assigns offsets, and converts timestamps and formats where needed.

Records from clients and coordinators are checked in Kafka's order (UnifiedLog.analyzeAndValidateRecords, LogValidator):

    each batch     base offset 0 (format 2, clients)      INVALID_RECORD
                   at most max.message.bytes, as sent     MESSAGE_TOO_LARGE
                   checksum                               CORRUPT_MESSAGE
                   known codec                            UNKNOWN_SERVER_ERROR
    together       one batch, except in old formats       INVALID_RECORD
    the header     count, last offset delta, no control   INVALID_RECORD
                   flag, no negative sequence (clients)
    the records    well-formed, as many as the count      INVALID_RECORD
                   keys, if the topic is compacted        INVALID_RECORD, with record errors
                   timestamps in range (CreateTime)       INVALID_TIMESTAMP, with record errors
    the result     at most max.message.bytes, if rebuilt  MESSAGE_TOO_LARGE
                   at most segment.bytes                  RECORD_LIST_TOO_LARGE

Nothing is changed before all checks have passed. A batch that already has the right codec and format is then patched in
place. The base offset and the leader epoch are not covered by the checksum; the timestamp type and the largest
timestamp, which the producer does not control, are written only if they differ. All other batches are rebuilt
(rebuilding.py).

An empty append is not an error: nothing is appended, and the base offset in the response is -1. The broker has already
checked that the records are allowed in this version of the request.
"""

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records import legacy
from kafkalet.protocol.records.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_LEADER_EPOCH,
    NO_TIMESTAMP,
    Batch,
    TimestampType,
    assign,
    batches,
    is_one_batch,
    set_max_timestamp,
)
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.effort import TakesLong, batch_takes_long
from kafkalet.protocol.records.walk import WalkResult, walk_records

from .acceptance import (
    NOTHING,
    ValidatedBatches,
    check_header,
    check_record_sizes,
    check_segment_size,
    check_single_batch,
    check_size,
)
from .config import LogConfig
from .files import Buffer
from .rebuilding import rebuild
from .record_errors import RecordRules
from .refusals import AppendRefused
from .values import UNKNOWN_OFFSET, Origin

FORMAT = 2
CODECS = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}
"""The values of compression.type, except `producer`, which keeps the codec of the producer."""


def validate(
    records: Buffer,
    config: LogConfig,
    *,
    next_offset: int,
    leader_epoch: int,
    origin: Origin,
    now_ms: int,
    partition: str = "",
    at_once: bool = False,
) -> ValidatedBatches:
    """Check `records` and assign offsets starting at `next_offset`. An incomplete last batch is dropped.

    `partition` is the name of the partition in error messages. A bytearray, or a writable view of one, is patched in
    place. With `at_once`, TakesLong is raised if the records have to be decoded or read by the exact reader, or if
    decompressing them takes long. If it or AppendRefused is raised, the records are unchanged.
    """
    try:
        sent, source = _analyze(records, config, origin)
        if not sent:
            return NOTHING
        first = sent[0]
        target = CODECS.get(config.compression_type, source)
        if first.is_control and source is Codec.NONE:
            target = source  # control batches are never compressed
        rules = RecordRules(config, now_ms, partition)
        if first.magic == FORMAT == config.record_version and source is target:
            check_single_batch(sent, compressed=True)
            if origin is Origin.CLIENT:
                check_header(first)
            return _place(first, source, config, rules, next_offset, leader_epoch, now_ms, at_once)
        if at_once:
            raise TakesLong
        return rebuild(
            sent,
            config,
            source,
            target,
            rules,
            next_offset=next_offset,
            leader_epoch=leader_epoch,
            origin=origin,
            now_ms=now_ms,
        )
    except AppendRefused:
        raise
    except KafkaError as error:
        raise AppendRefused(error.code, error.message or error.code.name) from error


def relocate(accepted: ValidatedBatches, next_offset: int, leader_epoch: int) -> ValidatedBatches | None:
    """Assign new offsets, starting at `next_offset`, and another leader epoch to accepted entries.

    Return None if the records would have to be rebuilt: in a v0 wrapper, each inner message has its own offset.
    """
    distance = next_offset - accepted.first_offset
    if not accepted.batches or (not distance and accepted.batches[0].leader_epoch in (leader_epoch, NO_LEADER_EPOCH)):
        return accepted
    if any(batch.magic == 0 and batch.codec for batch in accepted.batches):
        return None
    buffer = accepted.batches[0].buffer
    if isinstance(buffer, bytes):
        buffer = bytearray(buffer)
    moved: list[Batch] = []
    for batch in accepted.batches:
        if batch.magic == FORMAT:
            assign(buffer, batch.position, batch.base_offset + distance, leader_epoch)
        else:
            legacy.set_offset(buffer, batch.position, batch.base_offset + distance)
        moved.append(Batch(buffer, batch.position))
    of_max_timestamp = accepted.offset_of_max_timestamp
    return accepted._replace(
        records=memoryview(buffer)[moved[0].position : moved[-1].end],
        batches=moved,
        first_offset=next_offset,
        last_offset=accepted.last_offset + distance,
        offset_of_max_timestamp=of_max_timestamp if of_max_timestamp == UNKNOWN_OFFSET else of_max_timestamp + distance,
    )


def _analyze(records: Buffer, config: LogConfig, origin: Origin) -> tuple[list[Batch], Codec]:
    """Return the complete batches in `records`, each checked on its own, and the codec of the producer.

    If there are several batches, the last compressed one determines the codec.
    """
    sent: list[Batch] = []
    source = Codec.NONE
    for batch in (Batch(records),) if is_one_batch(records) else batches(records):
        if batch.magic >= FORMAT and batch.base_offset != 0 and origin is Origin.CLIENT:
            raise AppendRefused(Code.INVALID_RECORD, f"the base offset should be 0, but it is {batch.base_offset}")
        check_size(batch.size, config)
        batch.check_crc()
        source = batch.codec or source
        sent.append(batch)
    return sent, source


def _place(
    batch: Batch,
    codec: Codec,
    config: LogConfig,
    rules: RecordRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    at_once: bool,
) -> ValidatedBatches:
    """Validate a batch without decoding it, and patch it in place. Almost every batch is handled here."""
    walked = _walk(batch, codec, rules, config, at_once)
    if batch.attributes & LOG_APPEND_TIME and rules.refuses_append_time(batch.max_timestamp):
        if at_once:
            raise TakesLong
        rules.check_records(batch.records(), claim_append_time=True, skimmed=codec is not Codec.NONE)
    rules.check_walked(walked)
    if codec and not walked.offsets_in_order:
        # Kafka tries to rebuild the batch here, and fails because it has not read the keys and values.
        raise AppendRefused(Code.UNKNOWN_SERVER_ERROR, "the offsets in a compressed batch are not 0, 1, 2, ...")
    check_segment_size(batch.size, config)

    buffer, position = _writable(batch)
    last_offset = next_offset + batch.count - 1
    batch.place(buffer, position, last_offset - batch.last_offset_delta, leader_epoch)
    if config.stamps_append_time:
        max_timestamp, log_append_time_ms = now_ms, now_ms
        set_max_timestamp(buffer, position, TimestampType.LOG_APPEND_TIME, now_ms)
        batch = Batch(buffer, position)
    else:
        max_timestamp, log_append_time_ms = walked.max_timestamp, NO_TIMESTAMP
        if max_timestamp != batch.max_timestamp or batch.attributes & LOG_APPEND_TIME:
            set_max_timestamp(buffer, position, TimestampType.CREATE_TIME, max_timestamp)
            batch = Batch(buffer, position)
    return ValidatedBatches(
        buffer if len(buffer) == batch.size else batch.view(),
        (batch,),
        next_offset,
        last_offset,
        max_timestamp,
        last_offset if codec or max_timestamp != NO_TIMESTAMP else UNKNOWN_OFFSET,
        log_append_time_ms,
    )


def _walk(batch: Batch, codec: Codec, rules: RecordRules, config: LogConfig, at_once: bool) -> WalkResult:
    """Check every record without decoding it; decompress the batch if needed."""
    if batch.count < 0:
        raise AppendRefused(Code.INVALID_RECORD, f"a batch has {batch.count} records")
    buffer, start, end = batch.buffer, batch.position + HEADER_SIZE, batch.end
    if codec:
        if at_once and batch_takes_long(batch):
            raise TakesLong
        buffer = batch.payload()
        start, end = 0, len(buffer)
        check_record_sizes(buffer, batch.count, config)
    return walk_records(
        buffer,
        start,
        end,
        batch.count,
        batch.base_timestamp,
        append_time=batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None,
        report_null_keys=rules.needs_key,
        earliest=rules.earliest,
        latest=rules.latest,
        lengths_count=not codec,
        at_once=at_once,
    )


def _writable(batch: Batch) -> tuple[bytearray | memoryview, int]:
    """Return a writable buffer that contains the batch, and the batch's position in it."""
    buffer = batch.buffer
    if isinstance(buffer, bytes) or (isinstance(buffer, memoryview) and buffer.readonly):
        return bytearray(batch.view()), 0
    return buffer, batch.position
