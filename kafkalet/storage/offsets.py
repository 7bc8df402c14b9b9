"""The offsets that say who may see which records of a log, and their doors.

    0 <= log_start_offset <= high_watermark <= log_end_offset        last_stable_offset <= high_watermark

log_start_offset    the first offset a reader may ask for. Up by DeleteRecords, retention and what a leader says; back
                    only by a truncation to below it
log_end_offset      the next offset. Up by append, back only by truncation; a roll changes its place, not its value
high_watermark      what all in-sync replicas have; a consumer sees no further. A leader only raises it, and never past
                    the end; a follower is told it, and takes it as far as its log reaches
last_stable_offset  what read_committed sees: the first offset of the oldest transaction that is open, or not yet
                    decided below the high watermark; else the high watermark

After DeleteRecords into an open transaction the last stable offset is, since Kafka 4, the first offset of the entry
that holds the log start, and so may lie below that; before (`lifts_unstable_to_log_start`) it was the log start
itself.
"""

from __future__ import annotations

import logging

from kafkalet.protocol.errors import Code, KafkaError

from .config import LogConfig
from .epochs import LeaderEpochs
from .local_log import LocalLog
from .producers import ProducerStates
from .segments import Segments
from .values import LogOffsetMetadata

_log = logging.getLogger(__name__)


class LogOffsets:
    """The four offsets of the log of one partition. What follows from them is kept up to date by their doors."""

    __slots__ = (
        "_first_unstable",
        "_high_watermark",
        "epochs",
        "local",
        "log_start_offset",
        "partition",
        "producers",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        local: LocalLog,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        log_start_offset: int,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.local = local
        self.epochs = epochs
        self.producers = producers
        self.log_start_offset = max(log_start_offset, local.segments.first.base_offset)
        self._high_watermark = LogOffsetMetadata(self.log_start_offset)
        self._first_unstable: LogOffsetMetadata | None = None
        local.mark_flushed(self.log_start_offset)
        self._update_first_unstable()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name} start {self.log_start_offset} stable {self.last_stable_offset}"
            f" high watermark {self.high_watermark} end {self.log_end_offset}>"
        )

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def config(self) -> LogConfig:
        return self.local.config

    @property
    def segments(self) -> Segments:
        return self.local.segments

    # -- what they are

    @property
    def log_end_offset(self) -> int:
        return self.local.end.offset

    @property
    def high_watermark(self) -> int:
        return self._high_watermark.offset

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction that holds readers back begins; None where there is none."""
        return None if self._first_unstable is None else self._first_unstable.offset

    @property
    def last_stable_offset(self) -> int:
        first = self._first_unstable
        high_watermark = self._high_watermark.offset
        return first.offset if first is not None and first.offset < high_watermark else high_watermark

    def log_end_metadata(self) -> LogOffsetMetadata:
        """The log end offset with its place."""
        return self.local.end

    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark with its place, which is looked up when it is not known."""
        if self._high_watermark.offset_only:
            self._high_watermark = self.offset_metadata(self._high_watermark.offset)
        return self._high_watermark

    def last_stable_metadata(self) -> LogOffsetMetadata:
        """The last stable offset with its place."""
        first = self._first_unstable
        if first is None or first.offset >= self._high_watermark.offset:
            return self.high_watermark_metadata()
        return first

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """An offset with its place, or without where it lies outside the segments."""
        try:
            return self.local.offset_metadata(offset)
        except KafkaError as error:
            if error.code is not Code.OFFSET_OUT_OF_RANGE:
                raise
            return LogOffsetMetadata(offset)

    # -- the doors of the high watermark

    def update_high_watermark(self, to: int) -> int:
        """The follower's door: what the leader says, but within log start and log end. Returns what it became."""
        end = self.local.end
        if to >= end.offset:
            self._set_high_watermark(end)
        else:
            self._set_high_watermark(LogOffsetMetadata(max(to, self.log_start_offset)))
        return self._high_watermark.offset

    def maybe_increment_high_watermark(self, to: int | LogOffsetMetadata) -> bool:
        """The leader's door: up to `to`, never back. Returns whether it moved, be it only to a newer segment.

        ValueError past the log end.
        """
        new = to if isinstance(to, LogOffsetMetadata) else LogOffsetMetadata(to)
        end, old = self.local.end, self._high_watermark
        if new.offset > end.offset:
            raise ValueError(f"high watermark {new.offset} is past the log end offset {end.offset} of {self.name}")
        if new.offset < old.offset:
            return False
        if new.offset == end.offset:
            new = end
        if new.offset == old.offset and not self.high_watermark_metadata().on_older_segment(new):
            return False
        self._set_high_watermark(new)
        return True

    def _set_high_watermark(self, to: LogOffsetMetadata) -> None:
        if to.offset < self._high_watermark.offset:
            _log.warning("%s: high watermark back from %d to %d", self.name, self._high_watermark.offset, to.offset)
        self._high_watermark = to
        self.producers.on_high_watermark_updated(to.offset)
        self._update_first_unstable()

    def _follow_end(self) -> None:
        """The log end moved back, or to another segment: the high watermark is not past it, and knows the place."""
        if self._high_watermark.offset >= self.local.end.offset:
            self._set_high_watermark(self.local.end)

    def _update_first_unstable(self) -> None:
        """Transactions began or ended, or the log start or the high watermark moved."""
        first = self.producers.first_unstable
        if first is not None and (first.offset_only or first.offset < self.log_start_offset):
            first = self.offset_metadata(max(first.offset, self.log_start_offset))
            if not self.config.lifts_unstable_to_log_start:
                first = self.local.entry_metadata(first)
        self._first_unstable = first

    # -- the door of the log start offset

    def maybe_increment_log_start_offset(self, to: int) -> bool:
        """Let readers begin at `to`. Returns whether that is later than before.

        KafkaError(OFFSET_OUT_OF_RANGE) past the high watermark.
        """
        if to > self.high_watermark:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {to} of partition {self.name} "
                f"since it is larger than the high watermark {self.high_watermark}",
            )
        if to <= self.log_start_offset:
            return False
        self.log_start_offset = to
        self.local.mark_flushed(to)  # what is deleted need not be recovered
        self.epochs.truncate_from_start(to)
        self.producers.on_log_start_offset_incremented(to)
        self._update_first_unstable()
        return True
