"""Which segments may go: old ones, those beyond the size a log may have, and those below its start.

Segments go from the oldest on, up to the first that has to stay. Whatever the reason, one stays as long as it holds
anything at or above the high watermark, so that the log start offset never passes that; and an active segment that is
empty stays. Nothing is deleted here: the answer is a value, and the log acts on it. Reasons are looked at in Kafka's
order (UnifiedLog.deleteOldSegments), each on what the one before has left.

    log start   the next segment begins at or below the log start offset; whatever `cleanup.policy` says
    size        the log would still have `retention.bytes` without the segment
    time        its largest timestamp is older than `retention.ms`; without timestamps its last modification
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from .config import LogConfig
from .segment import Segment
from .segments import Segments


class Reason(Enum):
    """Why segments go; the text completes "deleting ... because"."""

    LOG_START = "they lie below the log start offset"
    SIZE = "the log is larger than retention.bytes"
    TIME = "they are older than retention.ms"


Expired = Callable[[Segment, Segment | None], bool]


def reasons(config: LogConfig) -> tuple[Reason, ...]:
    """The reasons for which a log of this configuration gives segments up."""
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
    """The segments that may go for `reason`, oldest first."""
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


def _expired(
    segments: Segments, config: LogConfig, reason: Reason, log_start_offset: int, now_ms: int
) -> Expired | None:
    """The question to ask of each segment in turn; None where none of them goes."""
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
