"""Checks that the records in a Produce request have to pass before they reach a log.

    is_transactional    checks whether the request needs a transactional id
    is_idempotent       checks whether the records have a producer id
    is_usual_batch      recognizes the records that pass all of these checks
    check_produced      checks the format of the records of a partition (ProduceRequest.validateRecords)
    check_first_header  checks that the first batch has a complete header
    WITHOUT_LOG_START   the errors that are returned with log start offset -1

The log validates the batches and their records (kafkalet.storage.validation).
"""

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    INT32,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_LENGTH,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
    batches,
    is_one_batch,
)
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.wire import Buffer

FORMAT = 2
PRODUCER_EPOCH_AT = PRODUCER_ID_AT + 8
FIRST_TIMESTAMP_AT = 27
ONE_BATCH_SINCE = 3
ZSTD_SINCE = 7
"""Versions of Produce that introduced these rules (KIP-98, KIP-110)."""
WITHOUT_LOG_START = frozenset({Code.CORRUPT_MESSAGE, Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})
"""Append errors that are returned with log start offset -1 (ReplicaManager.appendToLocalLog)."""


def is_usual_batch(records: Buffer, version: int) -> bool:
    """Return True for one complete, uncompressed batch of format 2 outside a transaction.

    Such records pass `check_produced` and `check_first_header` in this version, and `is_transactional` is False.
    """
    return (
        version >= ZSTD_SINCE
        and is_one_batch(records)
        and not records[ATTRIBUTES_AT + 1] & (CODEC_MASK | TRANSACTIONAL)
    )


def check_produced(records: Buffer, version: int) -> None:
    """Raise KafkaError unless a Produce request of `version` may contain these records.

    From v3, the records have to be exactly one batch of format 2; an incomplete batch at the end is ignored. zstd is
    allowed from v7. Earlier versions may contain anything. The error has no message, and the log start offset in the
    response is -1 (ProduceRequest.validateRecords).
    """
    if version < ONE_BATCH_SINCE or (version >= ZSTD_SINCE and is_one_batch(records)):
        return
    if _is_old(records):
        raise KafkaError(Code.INVALID_RECORD)
    try:
        short_bytes = _short_first_batch(records)
        entries = batches(records, short_bytes)
        if not short_bytes and next(entries, None) is None:
            raise KafkaError(Code.INVALID_RECORD)
        if version < ZSTD_SINCE and Codec.of(records[ATTRIBUTES_AT + 1] & CODEC_MASK) is Codec.ZSTD:
            raise KafkaError(Code.UNSUPPORTED_COMPRESSION_TYPE)
        if next(entries, None) is not None:
            raise KafkaError(Code.INVALID_RECORD)
    except KafkaError as error:
        raise KafkaError(error.code) from None


def check_first_header(records: Buffer, *, reads_producer: bool = True) -> None:
    """Raise KafkaError if the first batch is shorter than a batch header.

    Before Kafka verifies the checksum, it reads a field that may lie beyond the end of the batch: the producer id, or
    the delta of the last offset if `reads_producer` is false. The error is UNKNOWN_SERVER_ERROR if the batch does not
    have this field, otherwise CORRUPT_MESSAGE.
    """
    if short_bytes := _short_first_batch(records):
        end = PRODUCER_EPOCH_AT if reads_producer else FIRST_TIMESTAMP_AT
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR if short_bytes < end else Code.CORRUPT_MESSAGE)


def is_transactional(records: Buffer) -> bool:
    """Return whether the first batch is transactional (RequestUtils).

    Raises KafkaError (CORRUPT_MESSAGE) if the length or magic of the first batch is invalid. Kafka checks all
    partitions before it processes any of them, so the error is returned for every partition of the request, with an
    error message and log start offset -1.
    """
    if is_one_batch(records) or _short_first_batch(records):
        return records[ATTRIBUTES_AT + 1] & TRANSACTIONAL != 0
    if _is_old(records):
        return False
    first = next(batches(records), None)
    return first is not None and first.is_transactional


def is_idempotent(records: Buffer) -> bool:
    """Return whether the first batch has a producer id (RequestUtils).

    Call `is_transactional` first, which checks the batch.
    """
    if _is_old(records):
        return False
    first = next(batches(records), None)
    return first is not None and first.has_producer_id


def _is_old(records: Buffer) -> bool:
    """Return whether the records begin with a complete message of format 0 or 1, which may be empty."""
    if len(records) < LOG_OVERHEAD + MIN_LENGTH or records[MAGIC_AT] >= FORMAT:
        return False
    length: int = INT32.unpack_from(records, LENGTH_AT)[0]
    return MIN_LENGTH <= length <= len(records) - LOG_OVERHEAD


def _short_first_batch(records: Buffer) -> int:
    """If the first batch has format 2 and is shorter than a batch header, return its size, otherwise 0."""
    if len(records) < LOG_OVERHEAD + MIN_LENGTH or records[MAGIC_AT] != FORMAT:
        return 0
    size: int = LOG_OVERHEAD + INT32.unpack_from(records, LENGTH_AT)[0]
    return size if LOG_OVERHEAD + MIN_LENGTH <= size < HEADER_SIZE and size <= len(records) else 0
