"""Rebuild the producer states from the latest snapshot and the entries after it (UnifiedLog.rebuildProducerState)."""

from .config import LogConfig
from .producers import ProducerStates
from .segment import Segment
from .segments import Segments


def rebuild_producers(
    producers: ProducerStates,
    segments: Segments,
    log_start_offset: int,
    end_offset: int,
    config: LogConfig,
    now_ms: int,
    *,
    after_clean_shutdown: bool = False,
) -> None:
    """Bring `producers` to the state at `end_offset`; take snapshots there and at the last two segments.

    Entries are not read if they cannot contain producer data: in message formats without producers, or after a clean
    shutdown of an old broker that took no snapshots.
    """
    bases = segments.base_offsets[-2:]
    if config.record_version < 2 or (after_clean_shutdown and not producers.snapshots.offsets):
        for offset in [*bases, end_offset]:
            producers.end_offset = offset
            producers.try_to_take_snapshot()
        return
    nothing_to_lose = producers.is_empty and producers.end_offset >= end_offset
    producers.truncate_and_reload(log_start_offset, end_offset, now_ms)
    if end_offset > producers.end_offset and not nothing_to_lose:
        for segment in segments.between(producers.end_offset, end_offset):
            start = max(segment.base_offset, producers.end_offset, log_start_offset)
            producers.end_offset = start
            if segment.base_offset in bases:
                producers.try_to_take_snapshot()
            _replay(producers, segment, start, end_offset)
    producers.end_offset = end_offset
    producers.try_to_take_snapshot()


def _replay(producers: ProducerStates, segment: Segment, start: int, end_offset: int) -> None:
    """Replay the entries of one segment, from the one that contains `start` up to `end_offset` (exclusive)."""
    found = segment.locate(start)
    if found is None:
        return
    for position, head in segment.heads(found.position):
        if head.last_offset >= end_offset:
            break
        if head.has_producer_id:
            # Only the records of markers are read.
            producers.replay([segment.entry(position, head.size) if head.is_control else head])
