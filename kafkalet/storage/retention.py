"""Selects the segments to delete: old ones, those beyond retention.bytes, and those below the log start offset.

Deletion begins with the oldest segment and stops at the first one that must stay. A segment always stays if it contains
records at or above the high watermark, so that the log start offset never passes it; an empty active segment stays,
too. This module only selects segments; the log deletes them. The reasons are checked in Kafka's order
(UnifiedLog.deleteOldSegments), each one after the segments selected for the previous one have been deleted.

    log start   the next segment begins at or below the log start offset; regardless of `cleanup.policy`
    size        without the segment, the log still has at least `retention.bytes`
    time        its largest timestamp (without timestamps, its last modification) is older than `retention.ms`
"""

import math
from collections.abc import Callable, Iterator
from enum import Enum

from .config import LogConfig
from .segment import Segment
from .segments import Segments


class Reason(Enum):
    """The reason for a deletion; the text completes "deleting ... because"."""

    LOG_START = "they are below the log start offset"
    SIZE = "the log is larger than retention.bytes"
    TIME = "they are older than retention.ms"


Expired = Callable[[Segment, Segment | None], bool]


def reasons(config: LogConfig) -> tuple[Reason, ...]:
    """Return the reasons that apply to this configuration."""
    return (Reason.LOG_START, Reason.SIZE, Reason.TIME) if config.deletes_old_segments else (Reason.LOG_START,)


def deletable(
    segments: Segments,
    config: LogConfig,
    reason: Reason,
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
) -> list[Segment]:
    """Return the segments to delete for `reason`, oldest first."""
    expired = _expired(segments, config, reason, log_start_offset, now_ms)
    if expired is None:
        return []
    found = []
    for segment, following in _with_following(segments):
        upper_bound = log_end_offset if following is None else following.base_offset
        is_active_and_empty = following is None and segment.size_bytes == 0
        if high_watermark < upper_bound or is_active_and_empty or not expired(segment, following):
            break
        found.append(segment)
    return found


def quiet_ms(segments: Segments, config: LogConfig, now_ms: int) -> float:
    """Return the time until a segment may expire, including those whose records are appended later."""
    if not config.deletes_old_segments or config.retention_ms < 0:
        return math.inf
    first = segments.first
    if first is segments.active and not first.size_bytes:
        return config.retention_ms
    return config.retention_ms - max(now_ms - first.largest_timestamp, 0)


def _expired(
    segments: Segments, config: LogConfig, reason: Reason, log_start_offset: int, now_ms: int
) -> Expired | None:
    """Return a predicate to call for each segment in order; None if nothing can be deleted for this reason."""
    if reason is Reason.LOG_START:
        return lambda segment, following: following is not None and following.base_offset <= log_start_offset
    if reason is Reason.TIME:
        if config.retention_ms < 0:
            return None
        return lambda segment, following: now_ms - segment.largest_timestamp > config.retention_ms
    surplus = segments.size_bytes - config.retention_bytes
    if config.retention_bytes < 0 or surplus < 0:
        return None

    def beyond_size(segment: Segment, following: Segment | None) -> bool:
        nonlocal surplus
        if surplus < segment.size_bytes:
            return False
        surplus -= segment.size_bytes
        return True

    return beyond_size


def _with_following(segments: Segments) -> Iterator[tuple[Segment, Segment | None]]:
    ordered: list[Segment] = list(segments)
    return zip(ordered, [*ordered[1:], None], strict=True)
