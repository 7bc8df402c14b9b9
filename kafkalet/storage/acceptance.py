"""Checks of a batch as a whole, made before its records are read, and the result of a successful validation."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import NO_TIMESTAMP, Batch
from kafkalet.protocol.records.interruption import check_at
from kafkalet.protocol.records.varint import VarintTooLong, read_varint

from .config import LogConfig
from .files import Buffer
from .refusals import AppendRefused
from .values import UNKNOWN_OFFSET


class ValidatedBatches(NamedTuple):
    """Validated batches, ready to be written."""

    records: Buffer
    """The bytes to write; empty if the request has no records."""
    batches: Sequence[Batch]
    """The batches in `records`."""
    first_offset: int
    last_offset: int
    """-1, like `first_offset`, if the request has no records."""
    max_timestamp: int
    """-1 if no record has a timestamp."""
    offset_of_max_timestamp: int
    """The last offset of the entry with the largest timestamp, for the time index; -1 if no record has a timestamp."""
    log_append_time_ms: int
    """The time of validation if the topic uses LogAppendTime; otherwise -1."""


NOTHING = ValidatedBatches(b"", (), UNKNOWN_OFFSET, UNKNOWN_OFFSET, NO_TIMESTAMP, UNKNOWN_OFFSET, NO_TIMESTAMP)


def check_size(size: int, config: LogConfig) -> None:
    """Raise MESSAGE_TOO_LARGE if a batch is larger than max.message.bytes."""
    if size > config.max_message_bytes:
        raise AppendRefused(
            Code.MESSAGE_TOO_LARGE, f"the batch has {size} bytes, but max.message.bytes is {config.max_message_bytes}"
        )


def check_segment_size(size: int, config: LogConfig) -> None:
    """Raise RECORD_LIST_TOO_LARGE if an append is larger than a whole segment."""
    if size > config.segment_bytes:
        raise AppendRefused(
            Code.RECORD_LIST_TOO_LARGE, f"the append has {size} bytes, but segment.bytes is {config.segment_bytes}"
        )


def check_header(batch: Batch) -> None:
    """Raise INVALID_RECORD if a producer is not allowed to send this batch (LogValidator.validateBatch)."""
    count = batch.count
    if batch.magic >= 2 and (count <= 0 or count != batch.last_offset_delta + 1):
        raise AppendRefused(
            Code.INVALID_RECORD, f"{count} records do not fit the last offset delta {batch.last_offset_delta}"
        )
    if batch.is_control:
        raise AppendRefused(Code.INVALID_RECORD, "producers may not write control records")
    if batch.has_producer_id and batch.base_sequence < 0:
        raise AppendRefused(
            Code.INVALID_RECORD, f"producer {batch.producer_id} sent the negative sequence {batch.base_sequence}"
        )


def check_single_batch(batches: Sequence[Batch], compressed: bool) -> None:
    """Raise INVALID_RECORD if there are several entries and the first is a v2 batch or a compressed wrapper message."""
    if len(batches) > 1 and (compressed or batches[0].magic >= 2):
        raise AppendRefused(Code.INVALID_RECORD, f"expected one batch, got {len(batches)}")


def check_record_sizes(payload: Buffer, count: int, config: LogConfig) -> None:
    """Raise INVALID_RECORD if a record of a compressed batch exceeds max.decompressed.message.bytes.

    `payload` is the decompressed batch. The property was introduced in Kafka 4.4. It does not apply to uncompressed
    batches.
    """
    limit, position = config.max_decompressed_message_bytes, 0
    if len(payload) <= limit:
        return
    try:
        for index in range(count):
            check_at(index)
            size, position = read_varint(payload, position)
            if not 0 <= size <= limit:
                raise AppendRefused(Code.INVALID_RECORD, f"a record has {size} bytes, but the maximum is {limit}")
            position += size
    except (IndexError, VarintTooLong):
        return  # malformed records; the error is reported when they are read
