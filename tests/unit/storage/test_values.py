"""Tests of positions in a log, and of isolation levels."""

import pytest

from kafkalet.storage.values import Isolation, LogOffsetMetadata


def test_position_may_be_unknown() -> None:
    assert LogOffsetMetadata(5).offset_only
    assert not LogOffsetMetadata(5, 0, 0).offset_only


def test_known_positions_are_compared_by_segment() -> None:
    old, new, nowhere = LogOffsetMetadata(5, 0, 100), LogOffsetMetadata(9, 7, 50), LogOffsetMetadata(6)
    assert old.on_older_segment(new)
    assert not new.on_older_segment(old)
    assert not old.on_older_segment(nowhere)
    assert not nowhere.on_older_segment(new)
    assert old.on_same_segment(LogOffsetMetadata(1, 0, 0))
    assert not old.on_same_segment(new)
    assert not old.on_same_segment(nowhere)


def test_bytes_are_counted_within_a_segment() -> None:
    assert LogOffsetMetadata(5, 0, 100).bytes_since(LogOffsetMetadata(2, 0, 30)) == 70
    with pytest.raises(AssertionError):
        LogOffsetMetadata(5, 0, 100).bytes_since(LogOffsetMetadata(5))


def test_each_isolation_is_limited_by_its_offset() -> None:
    class Offsets:
        log_end_offset, high_watermark, last_stable_offset = 9, 7, 5

    bounds = {isolation: isolation.bound(Offsets()) for isolation in Isolation}
    assert bounds == {Isolation.LOG_END: 9, Isolation.HIGH_WATERMARK: 7, Isolation.LAST_STABLE: 5}
