"""The value types of a log, which this package and the broker use."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from kafkalet.protocol.records.batch import NO_LEADER_EPOCH

from .files import FileRange

UNKNOWN_OFFSET = -1
UNKNOWN_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """An offset with its position, if known: the base offset of its segment and the byte position in the segment.

    With positions, a fetch can compute the number of bytes between two offsets without reading (Kafka's
    LogOffsetMetadata).
    """

    offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    position: int = UNKNOWN_POSITION

    @property
    def offset_only(self) -> bool:
        return self.position == UNKNOWN_POSITION

    def on_older_segment(self, than: LogOffsetMetadata) -> bool:
        """Return whether this offset is in an older segment. False if either position is unknown."""
        return not self.offset_only and not than.offset_only and self.segment_base_offset < than.segment_base_offset

    def on_same_segment(self, than: LogOffsetMetadata) -> bool:
        return not self.offset_only and not than.offset_only and self.segment_base_offset == than.segment_base_offset

    def is_in_entry_at(self, start: LogOffsetMetadata) -> bool:
        """Return whether `start` is known to be the start of the entry that contains this offset."""
        return self.on_same_segment(start) and self.position == start.position

    def bytes_since(self, earlier: LogOffsetMetadata) -> int:
        """Return the number of bytes between two offsets. Both positions must be known and in the same segment."""
        assert self.on_same_segment(earlier), f"{self} and {earlier} are not in the same segment"
        return self.position - earlier.position


class TimestampOffset(NamedTuple):
    """The result of a lookup by timestamp. `leader_epoch` is -1 if it is unknown or irrelevant."""

    timestamp: int
    offset: int
    leader_epoch: int = NO_LEADER_EPOCH


class AppendResult(NamedTuple):
    """The result of an append. For a duplicate, the offsets and timestamp are those of the earlier batch."""

    first_offset: int
    """-1 if nothing was appended."""
    last_offset: int
    max_timestamp: int
    log_append_time_ms: int
    """The append time for LogAppendTime topics, the timestamp of the earlier batch for a duplicate, or -1."""
    log_start_offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    """The leader epoch of the last batch."""
    duplicate: bool = False
    size_bytes: int = 0
    """The number of bytes written."""


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index: read_committed consumers drop the producer's records from `first_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the abort marker."""
    last_stable_offset: int
    """The last stable offset of the log when the marker was written; it ends searches in the index."""


class ReadResult(NamedTuple):
    """The result of a read.

    `position` is the position of the batch that contains the requested offset; if there is nothing to read, it is the
    position of the requested offset itself, if known.
    """

    position: LogOffsetMetadata
    records: FileRange | bytes
    first_entry_incomplete: bool = False
    """Whether the size limit cuts off the first batch."""
    aborted: Sequence[AbortedTransaction] | None = None
    """None unless `Isolation.LAST_STABLE` was requested."""


class Origin(Enum):
    """The source of an append (Kafka's AppendOrigin)."""

    CLIENT = "a producer: everything is checked"
    COORDINATOR = "a coordinator of this broker: may write control batches; sequences are not checked"
    REPLICATION = "the leader of this replica: already checked by the leader"


class _Offsets(Protocol):
    """The offsets of a log that limit reads."""

    @property
    def log_end_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def last_stable_offset(self) -> int: ...


class Isolation(Enum):
    """How far reads of a log may go (Kafka's FetchIsolation)."""

    LOG_END = "to the log end: replicas, and debugging"
    HIGH_WATERMARK = "to the high watermark: read_uncommitted"
    LAST_STABLE = "to the last stable offset: read_committed"

    def bound(self, log: _Offsets) -> int:
        """Return the first offset of `log` that is not visible."""
        if self is Isolation.HIGH_WATERMARK:
            return log.high_watermark
        if self is Isolation.LAST_STABLE:
            return log.last_stable_offset
        return log.log_end_offset
