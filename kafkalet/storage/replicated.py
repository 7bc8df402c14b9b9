"""What a follower takes from its leader.

The leader has checked the records; here only what the way to us, or a leader that is none, can have spoilt is looked
at: checksums, and offsets, which have to rise and to lie behind what is there. They may leave gaps: the leader's log
may have been compacted. A last entry that is cut off is left out; the next fetch brings it whole.
"""

from __future__ import annotations

from kafkalet.protocol.records.batch import NO_TIMESTAMP, batches

from .acceptance import NOTHING, Accepted
from .files import Buffer
from .values import UNKNOWN_OFFSET


class UnexpectedOffset(Exception):
    """The leader's entries do not continue this log (Kafka's OffsetsOutOfOrder and UnexpectedAppendOffset)."""


def accept_replicated(records: Buffer, next_offset: int, name: str) -> Accepted:
    """The entries in `records`, with the offsets, epochs and timestamps they have.

    `first_offset` is -1 for message formats 0 and 1: to learn it, a wrapper would have to be decompressed. Raises
    UnexpectedOffset, and KafkaError(CORRUPT_MESSAGE) for damage.
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
        raise UnexpectedOffset(f"offset {first_or_last} for {name}, where the log end offset is {next_offset}")
    data = memoryview(records)[: found[-1].end]
    return Accepted(data, found, first_offset, last_offset, max_timestamp, offset_of_max_timestamp, NO_TIMESTAMP)
