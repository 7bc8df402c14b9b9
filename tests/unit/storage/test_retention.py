"""Tests of the selection of segments to delete; test_log.py covers the deletion."""

from typing import NamedTuple

import pytest

from kafkalet.storage.config import LogConfig
from kafkalet.storage.retention import Reason, deletable, reasons


class Segment(NamedTuple):
    base_offset: int
    size_bytes: int
    largest_timestamp: int


class Segments(list[Segment]):
    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self)


FOUR = Segments([Segment(0, 100, 10), Segment(10, 200, 20), Segment(20, 300, 15), Segment(30, 50, 40)])
CONFIG = LogConfig(retention_ms=100, retention_bytes=300)


def expired(
    reason: Reason,
    config: LogConfig = CONFIG,
    segments: Segments = FOUR,
    *,
    log_start_offset: int = 0,
    high_watermark: int = 35,
    now_ms: int = 0,
) -> list[int]:
    found = deletable(
        segments,  # type: ignore[arg-type]
        config,
        reason,
        log_start_offset=log_start_offset,
        high_watermark=high_watermark,
        log_end_offset=35,
        now_ms=now_ms,
    )
    return [segment.base_offset for segment in found]


def test_size_and_time_apply_only_with_cleanup_policy_delete() -> None:
    assert reasons(CONFIG) == (Reason.LOG_START, Reason.SIZE, Reason.TIME)
    assert reasons(CONFIG._replace(cleanup_policy=frozenset({"compact"}))) == (Reason.LOG_START,)
    assert len(reasons(CONFIG._replace(cleanup_policy=frozenset({"compact", "delete"})))) == 3


@pytest.mark.parametrize(
    ("start", "found"), [(0, []), (9, []), (10, [0]), (29, [0, 10]), (30, [0, 10, 20]), (35, [0, 10, 20])]
)
def test_segments_below_the_log_start_are_selected(start: int, found: list[int]) -> None:
    assert expired(Reason.LOG_START, log_start_offset=start) == found


@pytest.mark.parametrize(
    ("limit", "found"),
    [(-1, []), (651, []), (650, []), (551, []), (550, [0]), (350, [0, 10]), (50, [0, 10, 20]), (0, [0, 10, 20, 30])],
)
def test_segments_beyond_the_size_are_selected(limit: int, found: list[int]) -> None:
    assert expired(Reason.SIZE, CONFIG._replace(retention_bytes=limit)) == found


@pytest.mark.parametrize(
    ("now_ms", "found"),
    [(110, []), (111, [0]), (120, [0]), (121, [0, 10, 20]), (140, [0, 10, 20]), (141, [0, 10, 20, 30])],
)
def test_segments_older_than_retention_ms_are_selected(now_ms: int, found: list[int]) -> None:
    assert expired(Reason.TIME, now_ms=now_ms) == found


def test_negative_retention_ms_selects_nothing() -> None:
    assert expired(Reason.TIME, CONFIG._replace(retention_ms=-1), now_ms=10**15) == []


@pytest.mark.parametrize(
    ("high_watermark", "found"), [(0, []), (9, []), (10, [0]), (30, [0, 10, 20]), (34, [0, 10, 20])]
)
def test_segments_above_the_high_watermark_are_never_selected(high_watermark: int, found: list[int]) -> None:
    assert expired(Reason.TIME, now_ms=1000, high_watermark=high_watermark) == found


def test_empty_active_segment_is_never_selected() -> None:
    segments = Segments([*FOUR[:3], Segment(35, 0, 0)])
    assert expired(Reason.TIME, segments=segments, now_ms=1000) == [0, 10, 20]
