"""Selects the log to clean next, and the part of it that is cleaned (Kafka's LogCleanerManager).

    clean                                  dirty
    | log start                            | first dirty offset               | first uncleanable offset
    +--------------------------------------+----------------------------------+------------------------------+

A round cleans the segments below the first uncleanable offset, comparing their records with the newest ones of the
dirty part. The dirty part ends before the active segment, the last stable offset, and the first segment with a record
that is younger than `min.compaction.lag.ms`. A log is cleaned if the dirty part has more than
`min.cleanable.dirty.ratio` of the bytes, or a record in it is older than `max.compaction.lag.ms`.
"""

import logging
import math
from collections.abc import Iterable
from typing import NamedTuple

from kafkalet.storage import retention
from kafkalet.storage.cleaner_state import CleanerState
from kafkalet.storage.log import Log
from kafkalet.storage.segment import Segment
from kafkalet.storage.topic_properties import MAX_LONG

_LOG = logging.getLogger(__name__)


class OffsetsToClean(NamedTuple):
    """The dirty offsets of a log that may be cleaned; the end is exclusive."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    is_reset: bool = False
    """Whether the offset in the checkpoint is invalid and must be replaced by the first dirty offset."""


class LogToClean(NamedTuple):
    """A log with the part to clean."""

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    """The base offset of the first segment that is not cleaned."""
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool
    """Whether a dirty record is older than max.compaction.lag.ms."""

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes

    @property
    def is_due(self) -> bool:
        """Whether the log should be cleaned now."""
        if not self.total_bytes:
            return False
        if self.is_overdue and self.cleanable_bytes:
            return True
        return self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def filthiest(logs: Iterable[Log], state: CleanerState, now_ms: int) -> LogToClean | None:
    """Return the log with the largest dirty ratio of those that are due, or None (grabFilthiestCompactedLog).

    Invalid offsets in the checkpoint are corrected.
    """
    best: LogToClean | None = None
    uncleanable = state.uncleanable
    for log in logs:
        key = log.topic, log.partition
        if log.config.is_compacted and key not in uncleanable and key not in state.in_progress:
            found = log_to_clean(log, state, now_ms)
            if found.is_due and (best is None or found.cleanable_ratio > best.cleanable_ratio):
                best = found
    return best


def log_to_clean(log: Log, state: CleanerState, now_ms: int) -> LogToClean:
    """Return the part of a log that may be cleaned. An invalid offset in the checkpoint is corrected."""
    key = log.topic, log.partition
    dirty, uncleanable, is_reset = cleanable_offsets(log, state.offsets.get(key), now_ms)
    if is_reset:
        state.set_offset(key, dirty)
    segments = log.segments
    following = inactive_segments_from(log, uncleanable)
    end = following[0].base_offset if following else segments.active.base_offset
    return LogToClean(
        log,
        dirty,
        end,
        sum(segment.size_bytes for segment in segments.between(0, dirty)),
        sum(segment.size_bytes for segment in segments.between(min(dirty, end), end)),
        _compaction_delay_ms(log, dirty, now_ms) > 0,
    )


def cleanable_offsets(log: Log, checkpoint: int | None, now_ms: int) -> OffsetsToClean:
    """Return the dirty offsets that may be cleaned. `checkpoint` is the first dirty offset in the checkpoint file."""
    start, config = log.log_start_offset, log.config
    dirty, is_reset = start if checkpoint is None else checkpoint, False
    if dirty < start:
        if not config.deletes_old_segments:  # otherwise, retention often deletes dirty records
            _LOG.warning(
                "Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %d "
                "is invalid.",
                log.name,
                start,
                dirty,
            )
        dirty, is_reset = start, True
    elif dirty > log.log_end_offset:
        _LOG.warning(
            "The last checkpoint dirty offset for partition %s is %d, which is larger than the log end offset %d. "
            "Resetting to the log start offset %d.",
            log.name,
            dirty,
            log.log_end_offset,
            start,
        )
        dirty, is_reset = start, True
    uncleanable = min(log.last_stable_offset, log.segments.active.base_offset)
    if config.min_compaction_lag_ms > 0:
        latest_ms = now_ms - config.min_compaction_lag_ms
        for segment in inactive_segments_from(log, dirty):
            if segment.largest_timestamp > latest_ms:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    return OffsetsToClean(dirty, max(dirty, uncleanable), is_reset)


def inactive_segments_from(log: Log, offset: int) -> list[Segment]:
    """Return the segments from the one that contains `offset` to the last before the active segment."""
    active = log.segments.active.base_offset
    return log.segments.between(offset, active) if offset <= active else []


def _compaction_delay_ms(log: Log, first_dirty_offset: int, now_ms: int) -> int:
    """Return the time since a dirty record became older than max.compaction.lag.ms; 0 if there is no such record."""
    latest_ms = now_ms - max(log.config.max_compaction_lag_ms, 0)
    if latest_ms <= 0:
        return 0
    timestamps = (segment.first_timestamp for segment in inactive_segments_from(log, first_dirty_offset))
    earliest_ms = min((timestamp for timestamp in timestamps if timestamp > 0), default=latest_ms)
    return max(latest_ms - earliest_ms, 0)


def quiet_ms(logs: Iterable[Log], state: CleanerState, now_ms: int) -> float:
    """Return the time until a log becomes due or a segment of a compacted log expires, if nothing is appended."""
    uncleanable = state.uncleanable
    compacted = (log for log in logs if log.config.is_compacted and (log.topic, log.partition) not in uncleanable)
    return min((_log_quiet_ms(log, state, now_ms) for log in compacted), default=math.inf)


def _log_quiet_ms(log: Log, state: CleanerState, now_ms: int) -> float:
    config = log.config
    quiet: float = retention.quiet_ms(log.segments, config, now_ms)
    if len(log.segments) == 1:
        return quiet
    found = log_to_clean(log, state, now_ms)
    if found.is_due:
        return 0
    for segment in inactive_segments_from(log, found.first_dirty_offset):
        if config.min_compaction_lag_ms > 0:
            until_old_enough = segment.largest_timestamp + config.min_compaction_lag_ms - now_ms
            if until_old_enough >= 0:
                quiet = min(quiet, until_old_enough)
        if config.max_compaction_lag_ms < MAX_LONG and segment.first_timestamp > 0:
            until_overdue = segment.first_timestamp + config.max_compaction_lag_ms - now_ms
            if until_overdue >= 0:
                quiet = min(quiet, until_overdue)
    return quiet
