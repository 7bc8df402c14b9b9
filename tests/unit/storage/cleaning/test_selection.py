"""Tests of the selection of the log to clean, and of its part."""

from pathlib import Path

import pytest

from kafkalet.storage.cleaning.selection import cleanable_offsets, filthiest, log_to_clean, quiet_ms
from kafkalet.storage.config import LogConfig

from .cleaned_place import COMPACTED, CleanedPlace

HOUR_MS = 3_600_000


def made(tmp_path: Path, config: LogConfig = COMPACTED, segments: int = 3) -> CleanedPlace:
    """Return a log with `segments` segments of two records, and an active segment without records."""
    place = CleanedPlace(tmp_path / "data", config)
    for _ in range(segments):
        place.put("ab")
        place.log.roll()
    return place


def selected(place: CleanedPlace) -> tuple[int, int] | None:
    found = filthiest(place.logs(), place.cleaner.state, place.clock.now_ms())
    return None if found is None else (found.first_dirty_offset, found.first_uncleanable_offset)


def test_everything_before_the_active_segment_is_selected(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.put("ab")
    assert selected(place) == (0, 6)


def test_log_that_is_not_compacted_is_not_selected(tmp_path: Path) -> None:
    assert selected(made(tmp_path, COMPACTED._replace(cleanup_policy=frozenset({"delete"})))) is None


def test_log_with_only_an_active_segment_is_not_selected(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab", "ab")
    assert selected(place) is None


def test_segment_with_the_last_stable_offset_is_excluded(tmp_path: Path) -> None:
    place = made(tmp_path, segments=1)
    place.put("a", transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    place.log.roll()
    assert selected(place) == (0, 2)


def test_segment_with_the_high_watermark_is_excluded(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab")
    place.log.roll()
    place.append({"ts": 0, "key": "a", "value": "x"}, visible=False)
    place.log.roll()
    assert selected(place) == (0, 2)


@pytest.mark.parametrize(("ratio", "is_selected"), [(0.3, True), (1 / 3, False), (0.5, False)])
def test_dirty_ratio_must_be_above_the_minimum(tmp_path: Path, ratio: float, is_selected: bool) -> None:
    place = made(tmp_path, COMPACTED._replace(min_cleanable_dirty_ratio=ratio))
    place.cleaner.state.set_offset(place.key, 4)
    assert (selected(place) is not None) == is_selected


def test_records_older_than_max_compaction_lag_force_a_round(tmp_path: Path) -> None:
    place = made(tmp_path, COMPACTED._replace(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR_MS))
    place.cleaner.state.set_offset(place.key, 4)
    assert selected(place) is None
    place.clock.advance(milliseconds=HOUR_MS)
    assert selected(place) is None
    place.clock.advance(milliseconds=1)
    assert selected(place) == (4, 6)


def test_segments_younger_than_min_compaction_lag_are_excluded(tmp_path: Path) -> None:
    place = made(tmp_path, COMPACTED._replace(min_compaction_lag_ms=HOUR_MS), segments=1)
    place.clock.advance(milliseconds=1000)
    place.put("ab")
    place.log.roll()
    place.clock.advance(milliseconds=HOUR_MS - 1000 - 1)
    assert selected(place) is None
    place.clock.advance(milliseconds=1)
    assert selected(place) == (0, 2)
    place.clock.advance(milliseconds=1000)
    assert selected(place) == (0, 4)


def test_clean_log_is_not_selected(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.cleaner.state.set_offset(place.key, 6)
    assert selected(place) is None


def test_checkpoint_below_the_log_start_is_reset(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = made(tmp_path)
    place.cleaner.state.set_offset(place.key, 1)
    place.log.maybe_increment_log_start_offset(2)
    assert selected(place) == (2, 6)
    assert place.checkpoint == 2
    assert "Resetting first dirty offset of t-0 to log start offset 2" in caplog.text


def test_checkpoint_below_the_log_start_is_usual_with_retention(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = made(tmp_path, COMPACTED._replace(cleanup_policy=frozenset({"compact", "delete"})))
    place.cleaner.state.set_offset(place.key, 1)
    place.log.maybe_increment_log_start_offset(2)
    assert selected(place) == (2, 6)
    assert "Resetting" not in caplog.text


def test_checkpoint_past_the_log_end_is_reset(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = made(tmp_path)
    assert cleanable_offsets(place.log, 7, place.clock.now_ms()) == (0, 6, True)
    assert "larger than the log end offset 6" in caplog.text


def test_first_dirty_offset_inside_a_segment_counts_the_whole_segment_as_dirty(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.cleaner.state.set_offset(place.key, 3)
    found = log_to_clean(place.log, place.cleaner.state, place.clock.now_ms())
    size = place.log.segments.first.size_bytes
    assert (found.clean_bytes, found.cleanable_bytes) == (2 * size, 2 * size)


def test_uncleanable_log_is_not_selected(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.cleaner.state.mark_uncleanable(place.key, "it is damaged")
    assert selected(place) is None


def test_filthiest_log_is_selected_first(tmp_path: Path) -> None:
    place = made(tmp_path)
    other = place.directory.get_or_create("other", 0, None, COMPACTED)
    place.cleaner.state.set_offset(place.key, 4)
    first, place.log = place.log, other
    place.put("a")
    place.log.roll()
    found = filthiest(place.logs(), place.cleaner.state, place.clock.now_ms())
    assert found is not None
    assert found.log is other
    assert first.segments.first.size_bytes


def test_quiet_time_ends_when_the_lag_has_passed(tmp_path: Path) -> None:
    place = made(tmp_path, COMPACTED._replace(min_compaction_lag_ms=HOUR_MS))
    assert quiet_ms(place.logs(), place.cleaner.state, place.clock.now_ms()) == HOUR_MS
    place.clock.advance(milliseconds=HOUR_MS)
    assert quiet_ms(place.logs(), place.cleaner.state, place.clock.now_ms()) == 0


def test_quiet_time_of_a_clean_log_is_unlimited(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.cleaner.state.set_offset(place.key, 6)
    assert quiet_ms(place.logs(), place.cleaner.state, place.clock.now_ms()) == float("inf")
