"""The values that travel between the parts of storage, and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from kafkalet.protocol.records.batch import NO_LEADER_EPOCH

from .files import FileRange

UNKNOWN_OFFSET = -1
UNKNOWN_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """An offset and, where it is known, the place of it: base offset of its segment and byte position in there.

    The place is what lets a fetch count bytes between two offsets without reading (Kafka's class of that name).
    """

    offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    position: int = UNKNOWN_POSITION

    @property
    def offset_only(self) -> bool:
        return self.position == UNKNOWN_POSITION

    def on_older_segment(self, than: LogOffsetMetadata) -> bool:
        """False where either place is unknown."""
        return not self.offset_only and not than.offset_only and self.segment_base_offset < than.segment_base_offset

    def on_same_segment(self, than: LogOffsetMetadata) -> bool:
        return not self.offset_only and not than.offset_only and self.segment_base_offset == than.segment_base_offset

    def bytes_since(self, earlier: LogOffsetMetadata) -> int:
        """How many bytes lie between the two places, which must be known and in one segment."""
        assert self.on_same_segment(earlier), f"{self} and {earlier} do not lie in one segment"
        return self.position - earlier.position


class TimestampOffset(NamedTuple):
    """Where a timestamp was found. `leader_epoch` is -1 where it is not known or does not matter."""

    timestamp: int
    offset: int
    leader_epoch: int = NO_LEADER_EPOCH


class Appended(NamedTuple):
    """What an append did. Of a duplicate these are the offsets and the timestamp of the batch that is already there."""

    first_offset: int
    """-1 where nothing was appended."""
    last_offset: int
    max_timestamp: int
    log_append_time_ms: int
    """The append time on LogAppendTime topics, the timestamp of the old batch for a duplicate, else -1."""
    log_start_offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last batch."""
    duplicate: bool = False
    size_bytes: int = 0
    """What was written."""


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index: read_committed readers drop this producer's data from `first_offset` on."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the abort marker."""
    last_stable_offset: int
    """The log's last stable offset when the marker was written; searches end by it."""


class ReadResult(NamedTuple):
    """What a read found. `position` is the place of the batch that holds the asked offset (of the asked offset itself,
    as far as it is known, when there is nothing to read)."""

    position: LogOffsetMetadata
    records: FileRange | bytes
    first_entry_incomplete: bool = False
    """The size limit cuts into the first batch."""
    aborted: Sequence[AbortedTransaction] | None = None
    """None unless the read was for `Isolation.LAST_STABLE`."""


class Origin(Enum):
    """Who appends (Kafka's AppendOrigin)."""

    CLIENT = "a producer: everything is checked"
    COORDINATOR = "one of our coordinators: may write control batches, and is trusted with sequences"
    REPLICATION = "the leader of this replica: what it sends was checked there"


class _Offsets(Protocol):
    """The part of a log that bounds a reader."""

    @property
    def log_end_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def last_stable_offset(self) -> int: ...


class Isolation(Enum):
    """How far a reader sees (Kafka's FetchIsolation)."""

    LOG_END = "to the end: replicas, and debugging"
    HIGH_WATERMARK = "to the high watermark: read_uncommitted"
    LAST_STABLE = "to the last stable offset: read_committed"

    def bound(self, log: _Offsets) -> int:
        """The first offset of `log` that such a reader does not see."""
        if self is Isolation.HIGH_WATERMARK:
            return log.high_watermark
        if self is Isolation.LAST_STABLE:
            return log.last_stable_offset
        return log.log_end_offset
