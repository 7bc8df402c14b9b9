"""Tests of `LocalLog` itself; test_log.py covers what is visible through the log."""

from pathlib import Path

import pytest

from kafkalet.storage.local_log import LocalLog
from kafkalet.storage.values import LogOffsetMetadata

from .place import CONFIG, Place, bases
from .producing import logged


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data", CONFIG._replace(segment_bytes=100))


def local(place: Place) -> LocalLog:
    return place.log.local


def test_segment_begins_at_the_log_end_or_the_expected_offset(place: Place) -> None:
    place.append(1)
    assert local(place).roll().base_offset == 1
    place.append(2)
    assert local(place).roll(10).base_offset == 10
    assert local(place).end == (2, 10, 0)


def test_empty_active_segment_is_replaced(place: Place) -> None:
    place.reopen()
    old = local(place).segments.active
    new = local(place).roll()
    assert new is not old
    assert bases(place.log) == [0]
    assert "00000000000000000000.log.deleted" in place.names()
    place.directory.environment.deletions.hurry(place.log.directory)
    assert "00000000000000000000.log.deleted" not in place.names()


def test_a_segment_cannot_begin_before_the_last_one(place: Place) -> None:
    place.append(1)
    local(place).roll(10)
    place.replicate(logged(10))
    local(place).end = LogOffsetMetadata(5, 10, 1)
    with pytest.raises(AssertionError, match="cannot roll to 5"):
        local(place).roll()


def test_files_in_the_way_of_a_new_segment_are_deleted(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1)
    place.file("00000000000000000001.log").write_bytes(b"old")
    place.file("00000000000000000001.txnindex").write_bytes(b"old")
    place.append(2)
    assert place.offsets() == [0, 1]
    assert "00000000000000000001.txnindex" not in place.names()
    assert "00000000000000000001.log, which already exists" in caplog.text


def test_truncation_lowers_the_recovery_point(place: Place) -> None:
    for number in range(3):
        place.append(number)
    place.log.flush()
    assert local(place).recovery_point == 3
    local(place).truncate_to(1)
    assert local(place).recovery_point == 1


def test_entry_metadata_has_the_first_offset_of_the_entry(place: Place) -> None:
    place.append(1, 2, 3)
    assert local(place).entry_metadata(LogOffsetMetadata(2, 0, 0)) == (0, 0, 0)
    assert local(place).entry_metadata(LogOffsetMetadata(2)) == (2, -1, -1)
    assert local(place).entry_metadata(local(place).end) == local(place).end


def test_nothing_is_flushed_twice(place: Place) -> None:
    place.append(1)
    place.log.flush()
    at = local(place).flushed_ms
    place.clock.advance(milliseconds=50)
    place.log.flush()
    assert local(place).flushed_ms == at
    place.append(2)
    place.log.flush()
    assert local(place).flushed_ms == at + 50


def test_entry_metadata_past_the_last_entry_is_unchanged(place: Place) -> None:
    place.append(1)
    place.append(2)
    local(place).update_end(9)
    assert local(place).entry_metadata(LogOffsetMetadata(5, 1, place.log.segments.active.size_bytes))[0] == 5


def test_segment_above_the_limit_is_not_readable(place: Place) -> None:
    place.replicate(logged(0))
    place.replicate(logged(50))
    limit = LogOffsetMetadata(30, 0, place.log.segments.first.size_bytes)
    found = local(place).read(20, 1000, True, limit, False)
    assert (found.records, found.position) == (b"", (20, 50, 0))
