"""The byte range to read from a segment, and where it can be cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kafkalet_spark.logs.directory import open_partition
from kafkalet_spark.logs.heads import heads
from kafkalet_spark.logs.index_stretches import IndexStretch, stretch_of
from kafkalet_spark.logs.indexed import IndexedSegment

from .made import CONFIG, T0, Made

COUNT = 100


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> IndexedSegment:
    """A hundred entries of two records in one segment, with ascending timestamps."""
    made = Made(tmp_path_factory.mktemp("stretches") / "data", CONFIG._replace(segment_bytes=10**6))
    for at in range(0, 2 * COUNT, 2):
        made.append(at, at + 1)
    made.close()
    log = open_partition(str(made.place))
    return IndexedSegment(log, log.segments[0])


def entries(segment: IndexedSegment) -> list[int]:
    """Return the positions of the entries, and the end."""
    size = segment.segment.size
    return [*(head.position for head in heads(segment.segment.path, 0, size)), size]


def stretch(
    segment: IndexedSegment, start: int, end: int | None, max_bytes: int = 1 << 30, not_before_ms: int | None = None
) -> IndexStretch:
    found = stretch_of(segment, start, end, max_bytes, not_before_ms)
    assert found is not None
    return found


def test_whole_segment_is_one_stretch(segment: IndexedSegment) -> None:
    found = stretch(segment, 0, None)
    assert (found.start, found.end, found.size_bytes) == (0, segment.segment.size, segment.segment.size)
    assert (found.segment, found.is_last) == (segment.segment, True)


def test_stretch_covers_the_entries_of_the_range(segment: IndexedSegment) -> None:
    begins = entries(segment)
    for first, last in ((0, 0), (1, 2), (7, 7), (50, 121), (199, 199)):
        found = stretch(segment, first, last + 1)
        assert (found.start, found.end) == (begins[first // 2], begins[last // 2 + 1])


def test_range_outside_the_segment_has_no_stretch(segment: IndexedSegment) -> None:
    assert stretch_of(segment, 2 * COUNT, None, 100, None) is None


def test_older_entries_are_skipped_by_the_time_index(segment: IndexedSegment) -> None:
    begins = entries(segment)
    for ms in range(0, 2 * COUNT, 7):
        found = stretch(segment, 0, None, not_before_ms=T0 + ms)
        needed = begins[ms // 2]
        assert needed - 500 <= found.start <= needed


def test_places_are_index_entries(segment: IndexedSegment) -> None:
    places = stretch(segment, 20, 180, max_bytes=1000).places
    assert set(places.position.tolist()) <= set(segment.offsets.position.tolist())
    for at in range(places.position.size):
        claim = places.claim(at)
        assert claim == segment.claim(claim.slot)
        assert claim.check(segment.segment, lenient=False, is_last=True) is not None


def test_places_are_thinned_out(segment: IndexedSegment) -> None:
    few = stretch(segment, 0, None, max_bytes=64 * 1000).places
    many = stretch(segment, 0, None, max_bytes=1000).places
    assert few.position.size < many.position.size == segment.offsets.position.size
    assert few.position.size <= segment.segment.size // 1000 + 1


def test_large_gaps_of_the_index_are_walked(segment: IndexedSegment) -> None:
    found = stretch(segment, 0, None, max_bytes=100)
    positions = found.places.position.tolist()
    assert positions == entries(segment)[1:-1]
    assert {-1} < set(found.places.slot.tolist())
    assert max(later - before for before, later in pairwise([0, *positions, found.end])) <= 110


def test_stretch_ends_at_the_listed_size(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    made.append(1)
    log = made.seen()
    made.append(2)
    found = stretch(IndexedSegment(log, log.segments[0]), 0, 5)
    assert found.end == log.segments[0].size
    made.close()
