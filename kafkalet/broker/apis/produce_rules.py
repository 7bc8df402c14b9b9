"""What a Produce request may carry, by its version, before any log looks at it.

    is_transactional    what a whole request is refused for, or needs a transactional id for
    check_produced      what a request may carry in one partition (ProduceRequest.validateRecords)
    check_first_header  what breaks the search for producer ids
    WITHOUT_LOG_START   which errors are answered with log start offset -1

Batches and their records are validated by the log (kafkalet.storage.validation).
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
)
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.wire import Buffer

FORMAT = 2
PRODUCER_EPOCH_AT = PRODUCER_ID_AT + 8
ONE_BATCH_SINCE = 3
ZSTD_SINCE = 7
"""Versions of Produce (KIP-98, KIP-110)."""
WITHOUT_LOG_START = frozenset({Code.CORRUPT_MESSAGE, Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})
"""The refusals of a log that are answered with log start offset -1 (ReplicaManager.appendToLocalLog)."""


def check_produced(records: Buffer, version: int) -> None:
    """Raise unless a request of Produce `version` may carry these records (ProduceRequest.validateRecords).

    Since v3 that is exactly one batch of format 2, which since v7 may be compressed with zstd; a cut-off rest is
    ignored. Before v3 everything may come. The answer has log start offset -1 and no text. Raises KafkaError.
    """
    if version < ONE_BATCH_SINCE or (version >= ZSTD_SINCE and _is_one_batch(records)):
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


def check_first_header(records: Buffer) -> None:
    """Raise when the first batch is too short for its header.

    Kafka looks for a producer id, which may lie beyond the end, before it finds the checksum wrong. Raises KafkaError:
    CORRUPT_MESSAGE, or UNKNOWN_SERVER_ERROR, which is then the answer for all partitions of the request.
    """
    if short_bytes := _short_first_batch(records):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR if short_bytes < PRODUCER_EPOCH_AT else Code.CORRUPT_MESSAGE)


def is_transactional(records: Buffer) -> bool:
    """Whether these records ask for a transactional id: what the first batch says (RequestUtils).

    Kafka asks that of all partitions before it looks at any, so a KafkaError from here is the answer for each partition
    of the request, with its text and log start offset -1: CORRUPT_MESSAGE for a first batch whose length or magic
    cannot be.
    """
    if _is_one_batch(records) or _short_first_batch(records):
        return records[ATTRIBUTES_AT + 1] & TRANSACTIONAL != 0
    if _is_old(records):
        return False
    first = next(batches(records), None)
    return first is not None and first.is_transactional


def _is_old(records: Buffer) -> bool:
    """Whether a whole message of format 0 or 1 comes first, be it so short that nothing is in it."""
    if len(records) < LOG_OVERHEAD + MIN_LENGTH or records[MAGIC_AT] >= FORMAT:
        return False
    length: int = INT32.unpack_from(records, LENGTH_AT)[0]
    return MIN_LENGTH <= length <= len(records) - LOG_OVERHEAD


def _is_one_batch(records: Buffer) -> bool:
    """Whether one batch of format 2 fills `records`, as almost always."""
    size = len(records)
    if size < HEADER_SIZE or records[MAGIC_AT] != FORMAT:
        return False
    length: int = INT32.unpack_from(records, LENGTH_AT)[0]
    return length + LOG_OVERHEAD == size


def _short_first_batch(records: Buffer) -> int:
    """The size of a first batch of format 2 that has no room for its header, which Kafka notices late; else 0."""
    if len(records) < LOG_OVERHEAD + MIN_LENGTH or records[MAGIC_AT] != FORMAT:
        return 0
    size: int = LOG_OVERHEAD + INT32.unpack_from(records, LENGTH_AT)[0]
    return size if LOG_OVERHEAD + MIN_LENGTH <= size < HEADER_SIZE and size <= len(records) else 0
