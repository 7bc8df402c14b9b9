"""Tests of the ordered segments: lookups by offset and by timestamp."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.clock import ManualClock
from kafkalet.storage.config import LogConfig
from kafkalet.storage.files import Files
from kafkalet.storage.index import IndexPool
from kafkalet.storage.segment import Segment
from kafkalet.storage.segments import Segments

from .producing import logged


def make(directory: Path, base_offset: int, timestamp: int | None = None) -> Segment:
    """Return a segment that contains one record with this timestamp, or no record."""
    segment = Segment(
        str(directory), base_offset, LogConfig(), Files(durable=False), IndexPool(), ManualClock(50), new=True
    )
    if timestamp is not None:
        batch = logged(base_offset, ts=timestamp)
        segment.append(batch.view(), batch.last_offset, batch.max_timestamp, batch.last_offset)
        segment.release()
    return segment


@pytest.fixture
def three(tmp_path: Path) -> Segments:
    segments = Segments()
    for base_offset in (20, 0, 10):
        segments.add(make(tmp_path, base_offset, 1000 + base_offset))
    return segments


def test_segments_are_ordered_and_the_last_is_active(three: Segments) -> None:
    assert three.base_offsets == [segment.base_offset for segment in three] == [0, 10, 20]
    assert (three.first.base_offset, three.active.base_offset, len(three)) == (0, 20, 3)
    assert three.size_bytes == sum(segment.size_bytes for segment in three)


def test_floor_lower_and_higher_find_the_segment_next_to_an_offset(three: Segments) -> None:
    def base(segment: Segment | None) -> int | None:
        return None if segment is None else segment.base_offset

    assert [base(three.floor(offset)) for offset in (-1, 0, 9, 10, 25)] == [None, 0, 0, 10, 20]
    assert [base(three.lower(offset)) for offset in (0, 1, 10, 11, 25)] == [None, 0, 0, 10, 20]
    assert [base(three.higher(offset)) for offset in (-1, 0, 9, 10, 20)] == [0, 10, 10, 20, None]
    assert [segment.base_offset for segment in three.higher_ones(0)] == [10, 20]
    assert [base(three.get(offset)) for offset in (0, 5, 20)] == [0, None, 20]
    assert 10 in three
    assert 11 not in three


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 0, []), (5, 5, []), (0, 10, [0]), (5, 11, [0, 10]), (10, 20, [10]), (15, 99, [10, 20]), (-5, 15, [0, 10])],
)
def test_between_returns_the_segments_of_a_range(three: Segments, start: int, end: int, found: list[int]) -> None:
    assert [segment.base_offset for segment in three.between(start, end)] == found


def test_segment_with_the_same_base_offset_is_replaced(three: Segments, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    new = make(tmp_path / "x", 10, 5)
    three.add(new)
    assert three.get(10) is new
    assert len(three) == 3


def test_removal_keeps_the_other_segments(three: Segments) -> None:
    three.remove(three.first)
    assert three.base_offsets == [10, 20]


def test_first_reaching_finds_the_first_segment(tmp_path: Path) -> None:
    segments = Segments()
    for base_offset, timestamp in ((0, 100), (10, 300), (20, 200), (30, 400)):
        segments.add(make(tmp_path, base_offset, timestamp))

    def base(timestamp: int) -> int | None:
        segment = segments.first_reaching(timestamp)
        return None if segment is None else segment.base_offset

    assert [base(time) for time in (0, 100, 101, 300, 301, 400, 401)] == [0, 0, 10, 10, 30, 30, None]


def test_segment_without_timestamps_counts_by_modification_time(tmp_path: Path) -> None:
    segments = Segments()
    segments.add(make(tmp_path, 0))
    segments.add(make(tmp_path, 10, 100))
    found = segments.first_reaching(50)
    assert found is not None
    assert found.base_offset == 0
    found = segments.first_reaching(51)
    assert found is not None
    assert found.base_offset == 10


def test_with_largest_timestamp_finds_the_first_segment(tmp_path: Path) -> None:
    segments = Segments()
    for base_offset, timestamp in ((0, 100), (10, 300), (20, 300), (30, 200)):
        segments.add(make(tmp_path, base_offset, timestamp))
    assert segments.with_largest_timestamp().base_offset == 10


def test_active_segment_is_checked_on_each_search(tmp_path: Path) -> None:
    segments = Segments()
    segments.add(make(tmp_path, 0, 100))
    assert segments.first_reaching(200) is None
    batch = logged(1, ts=200)
    segments.active.append(batch.view(), 1, 200, 1)
    assert segments.first_reaching(200) is segments.active


class FakeSegment:
    def __init__(self, base_offset: int, largest_timestamp: int) -> None:
        self.base_offset = base_offset
        self.largest_timestamp = largest_timestamp


changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 40), st.integers(0, 30)),
        st.tuples(st.just("remove"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("raise active"), st.just(0), st.integers(0, 30)),
        st.tuples(st.just("ask"), st.just(0), st.integers(0, 32)),
    ),
    max_size=60,
)


@given(changes)
def test_first_reaching_is_correct_after_any_change(changes: list[tuple[str, int, int]]) -> None:
    segments, known = Segments(), {}
    for what, base_offset, timestamp in changes:
        if what == "add":
            known[base_offset] = FakeSegment(base_offset, timestamp)
            segments.add(known[base_offset])  # type: ignore[arg-type]
        elif what == "remove" and base_offset in known:
            segments.remove(known.pop(base_offset))  # type: ignore[arg-type]
        elif what == "raise active" and known:
            known[max(known)].largest_timestamp += timestamp
        ordered = [known[key] for key in sorted(known)]
        expected = next((segment for segment in ordered if segment.largest_timestamp >= timestamp), None)
        assert segments.first_reaching(timestamp) is expected


def test_adjacent_segments_are_replaced_by_one(three: Segments, tmp_path: Path) -> None:
    assert three.first_reaching(1005) is three.get(10)
    (tmp_path / "new").mkdir()
    new = make(tmp_path / "new", 0, 1020)
    three.replace(list(three)[:2], new)
    assert three.base_offsets == [0, 20]
    assert three.first_reaching(1005) is three.first is new
