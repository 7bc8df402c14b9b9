"""Checks records that a follower fetched from its leader.

The leader has validated the records. The follower only checks that the checksums are correct, and that the offsets
increase and are not below its log end offset. Gaps between offsets are allowed, because the leader's log may be
compacted. An incomplete last entry is dropped; the next fetch returns it in full.
"""

from kafkalet.protocol.records.batch import NO_TIMESTAMP, batches

from .acceptance import NOTHING, ValidatedBatches
from .files import Buffer
from .values import UNKNOWN_OFFSET


class UnexpectedOffset(Exception):
    """The leader's entries do not continue this log (Kafka's OffsetsOutOfOrder and UnexpectedAppendOffset)."""


def accept_replicated(records: Buffer, next_offset: int, name: str) -> ValidatedBatches:
    """Return the entries in `records`, with their offsets, epochs and timestamps unchanged.

    `first_offset` is -1 for message formats 0 and 1, because finding it would mean decompressing the first wrapper.
    Raises UnexpectedOffset, and KafkaError(CORRUPT_MESSAGE) for corrupt entries.
    """
    found = list(batches(records))
    if not found:
        return NOTHING
    last_offset = UNKNOWN_OFFSET
    max_timestamp, offset_of_max_timestamp = NO_TIMESTAMP, UNKNOWN_OFFSET
    for batch in found:
        batch.check_crc()
        if batch.last_offset <= last_offset:
            raise UnexpectedOffset(f"offset {batch.last_offset} after {last_offset} for {name}")
        last_offset = batch.last_offset
        if batch.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max_timestamp = batch.max_timestamp, last_offset
    first = found[0]
    first_offset = first.base_offset if first.magic >= 2 else UNKNOWN_OFFSET
    first_or_last = first_offset if first.magic >= 2 else first.last_offset
    if first_or_last < next_offset:
        raise UnexpectedOffset(f"offset {first_or_last} for {name}, but the log end offset is {next_offset}")
    data = memoryview(records)[: found[-1].end]
    return ValidatedBatches(
        data, found, first_offset, last_offset, max_timestamp, offset_of_max_timestamp, NO_TIMESTAMP
    )
