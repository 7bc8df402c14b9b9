"""What a batch has to be before anybody looks at its records, and what comes out when all has passed."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import NO_TIMESTAMP, Batch
from kafkalet.protocol.records.varint import VarintTooLong, read_varint

from .config import LogConfig
from .files import Buffer
from .refusals import AppendRefused
from .values import UNKNOWN_OFFSET


class Accepted(NamedTuple):
    """Batches that may be written as they are now."""

    records: Buffer
    """The bytes to write; empty if nothing was sent."""
    batches: Sequence[Batch]
    """Views of `records`."""
    first_offset: int
    last_offset: int
    """-1, as is `first_offset`, if nothing was sent."""
    max_timestamp: int
    """-1 without one."""
    offset_of_max_timestamp: int
    """The last offset of the entry that has it, for the time index; -1 without one."""
    log_append_time_ms: int
    """When the batches were accepted, if that is the time of their records (LogAppendTime); else -1."""


NOTHING = Accepted(b"", (), UNKNOWN_OFFSET, UNKNOWN_OFFSET, NO_TIMESTAMP, UNKNOWN_OFFSET, NO_TIMESTAMP)


def check_size(size: int, config: LogConfig) -> None:
    """Raises MESSAGE_TOO_LARGE for a batch that the topic does not take."""
    if size > config.max_message_bytes:
        raise AppendRefused(
            Code.MESSAGE_TOO_LARGE, f"a batch has {size} bytes where max.message.bytes is {config.max_message_bytes}"
        )


def check_segment_size(size: int, config: LogConfig) -> None:
    """Raises RECORD_LIST_TOO_LARGE for an append that no segment of the log can hold."""
    if size > config.segment_bytes:
        raise AppendRefused(
            Code.RECORD_LIST_TOO_LARGE, f"an append of {size} bytes where segment.bytes is {config.segment_bytes}"
        )


def check_header(batch: Batch) -> None:
    """Raises INVALID_RECORD for a batch that no producer may send (LogValidator.validateBatch)."""
    count = batch.count
    if batch.magic >= 2 and (count <= 0 or count != batch.last_offset_delta + 1):
        raise AppendRefused(
            Code.INVALID_RECORD, f"{count} records do not have the offsets 0 to {batch.last_offset_delta}"
        )
    if batch.is_control:
        raise AppendRefused(Code.INVALID_RECORD, "producers may not write control records")
    if batch.has_producer_id and batch.base_sequence < 0:
        raise AppendRefused(
            Code.INVALID_RECORD, f"producer {batch.producer_id} has a negative sequence, {batch.base_sequence}"
        )


def check_alone(batches: Sequence[Batch], compressed: bool) -> None:
    """Raises INVALID_RECORD for a second entry where the first is a batch or a wrapper."""
    if len(batches) > 1 and (compressed or batches[0].magic >= 2):
        raise AppendRefused(Code.INVALID_RECORD, f"{len(batches)} batches where there may be one")


def check_record_sizes(payload: Buffer, count: int, config: LogConfig) -> None:
    """Raises INVALID_RECORD for a record of a compressed batch that has more than max.decompressed.message.bytes.

    `payload` is what came out of the batch. The property is there since 4.4, and does not count for what came plain.
    """
    limit, position = config.max_decompressed_message_bytes, 0
    if len(payload) <= limit:
        return
    try:
        for _ in range(count):
            size, position = read_varint(payload, position)
            if not 0 <= size <= limit:
                raise AppendRefused(Code.INVALID_RECORD, f"a record of {size} bytes where the maximum is {limit}")
            position += size
    except (IndexError, VarintTooLong):
        return  # reading the records says what is wrong
