"""Tests of the four offsets of a log: each operation that changes them, and their invariants."""

from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.values import LogOffsetMetadata

from .place import CONFIG, Place, four
from .producing import logged, marker


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")


SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment


# A new log


def test_all_offsets_of_a_new_log_are_zero(place: Place) -> None:
    assert four(place.log) == (0, 0, 0, 0)
    assert place.log.log_end_metadata() == place.log.high_watermark_metadata() == (0, 0, 0)


# The log end offset


def test_append_moves_the_log_end(place: Place) -> None:
    place.append(1, 2, 3, visible=False)
    assert place.log.log_end_offset == 3
    place.append(4, visible=False)
    assert place.log.log_end_offset == 4
    assert place.log.log_end_metadata() == (4, 0, place.log.size_bytes)


def test_roll_changes_the_position_of_the_log_end(place: Place) -> None:
    place.append(1, 2, 3)
    place.log.roll()
    assert place.log.log_end_metadata() == (3, 3, 0)


def test_refused_append_changes_no_offset(place: Place) -> None:
    place.append(1, 2, 3)
    before = four(place.log), place.log.size_bytes
    with pytest.raises(KafkaError):
        place.append(4, set={"crc": 1})
    assert (four(place.log), place.log.size_bytes) == before


def test_follower_keeps_gaps(place: Place) -> None:
    place.replicate(logged(0, 2), logged(7, 3))
    assert place.log.log_end_offset == 10


# The high watermark of a leader


def test_append_does_not_change_the_high_watermark(place: Place) -> None:
    place.append(1, 2, 3, visible=False)
    assert four(place.log) == (0, 0, 0, 3)


def test_a_leader_raises_the_high_watermark(place: Place) -> None:
    place.append(1, 2, visible=False)
    place.append(3, visible=False)
    assert place.log.maybe_increment_high_watermark(2)
    assert four(place.log) == (0, 2, 2, 3)
    assert place.log.maybe_increment_high_watermark(3)
    assert place.log.high_watermark == 3


def test_leader_never_lowers_the_high_watermark(place: Place) -> None:
    place.append(1, 2, 3)
    assert not place.log.maybe_increment_high_watermark(1)
    assert not place.log.maybe_increment_high_watermark(3)
    assert place.log.high_watermark == 3


def test_leader_cannot_raise_the_high_watermark_past_the_end(place: Place) -> None:
    place.append(1, 2, 3)
    with pytest.raises(ValueError, match="past the log end offset"):
        place.log.maybe_increment_high_watermark(4)
    assert place.log.high_watermark == 3


def test_high_watermark_in_a_newer_segment_counts_as_a_change(place: Place) -> None:
    place.append(1, 2, 3, visible=False)
    place.log.update_high_watermark(2)
    place.log.high_watermark_metadata()
    assert not place.log.maybe_increment_high_watermark(LogOffsetMetadata(2, 0, 0))
    assert place.log.maybe_increment_high_watermark(LogOffsetMetadata(2, 2, 0))


def test_unknown_position_of_the_high_watermark_is_looked_up(place: Place) -> None:
    place.append(1, 2, visible=False)
    size = place.log.size_bytes
    place.append(3, 4, visible=False)
    place.log.maybe_increment_high_watermark(2)
    assert place.log.high_watermark_metadata() == (2, 0, size)
    place.log.maybe_increment_high_watermark(LogOffsetMetadata(4, 0, place.log.size_bytes))
    assert place.log.high_watermark_metadata() == place.log.log_end_metadata()


# The high watermark of a follower


def test_high_watermark_of_a_follower_is_limited_to_its_log_end(place: Place) -> None:
    place.append(1, 2, 3, visible=False)
    assert place.log.update_high_watermark(10) == 3
    assert place.log.high_watermark_metadata() == place.log.log_end_metadata()


def test_high_watermark_of_a_follower_is_not_below_its_log_start(place: Place) -> None:
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    assert place.log.update_high_watermark(1) == 2


def test_follower_accepts_a_lower_high_watermark(place: Place) -> None:
    place.append(1, 2, 3)
    assert place.log.update_high_watermark(1) == 1
    assert four(place.log) == (0, 1, 1, 3)


# The high watermark and the log end


def test_truncation_lowers_the_high_watermark(place: Place) -> None:
    place.append(1, 2)
    place.append(3)
    place.log.truncate_to(2)
    assert four(place.log) == (0, 2, 2, 2)
    assert place.log.high_watermark_metadata() == place.log.log_end_metadata()


def test_truncation_above_the_high_watermark_keeps_it(place: Place) -> None:
    place.append(1, 2)
    place.append(3, visible=False)
    place.append(4, visible=False)
    place.log.truncate_to(3)
    assert four(place.log) == (0, 2, 2, 3)


def test_roll_moves_a_high_watermark_at_the_end_to_the_new_segment(place: Place) -> None:
    place.append(1, 2)
    place.log.roll()
    assert place.log.high_watermark_metadata() == (2, 2, 0)


# The last stable offset


def test_last_stable_offset_without_transactions_is_the_high_watermark(place: Place) -> None:
    place.append(1, 2)
    place.append(3, visible=False)
    assert place.log.last_stable_offset == place.log.high_watermark == 2
    assert place.log.last_stable_metadata() == place.log.high_watermark_metadata()


def test_open_transaction_limits_the_last_stable_offset(place: Place) -> None:
    place.append(1)
    size = place.log.size_bytes
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.append(3)
    assert four(place.log) == (0, 1, 3, 3)
    assert place.log.last_stable_metadata() == (1, 0, size)


def test_last_stable_offset_is_not_past_the_high_watermark(place: Place) -> None:
    place.append(1)
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True, visible=False)
    assert four(place.log) == (0, 1, 1, 2)


@pytest.mark.parametrize("commit", [True, False])
def test_marker_releases_the_last_stable_offset(place: Place, commit: bool) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=commit)
    assert four(place.log) == (0, 2, 2, 2)


def test_oldest_open_transaction_determines_the_last_stable_offset(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.append(2, producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=True)
    assert place.log.last_stable_offset == 1
    place.end_transaction(8, commit=True)
    assert place.log.last_stable_offset == 4


def test_transaction_is_unstable_until_its_marker_is_below_the_high_watermark(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=True, visible=False)
    place.append(2, visible=False)
    assert four(place.log) == (0, 0, 1, 3)
    place.log.maybe_increment_high_watermark(2)
    assert four(place.log) == (0, 2, 2, 3)


def test_follower_tracks_transactions(place: Place) -> None:
    place.replicate(logged(0), logged(1, 2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))
    place.log.update_high_watermark(3)
    assert four(place.log) == (0, 1, 3, 3)
    place.replicate(marker(3, 7, commit=False))
    place.log.update_high_watermark(4)
    assert four(place.log) == (0, 4, 4, 4)


def test_a_truncation_into_a_transaction_leaves_it_open(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=True)
    place.append(2)
    place.log.truncate_to(1)
    place.log.maybe_increment_high_watermark(1)
    assert four(place.log) == (0, 0, 1, 1)


def test_truncation_below_a_transaction_removes_it(place: Place) -> None:
    place.append(1)
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.log.truncate_to(1)
    assert four(place.log) == (0, 1, 1, 1)


def test_position_of_a_transaction_from_a_snapshot_is_looked_up(place: Place) -> None:
    place.append(1)
    size = place.log.size_bytes
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert place.reopen().last_stable_metadata() == (1, 0, size)


def test_corruption_is_not_treated_as_an_unknown_position(place: Place) -> None:
    place.append(1)
    place.append(2)
    place.overwrite(0, bytes(12))
    with pytest.raises(KafkaError) as refused:
        place.log.offset_metadata(1)
    assert refused.value.code is Code.CORRUPT_MESSAGE


# DeleteRecords into an open transaction: measured on Apache Kafka 3.9.2 and 4.4.0


def transaction_of_three_batches(place: Place) -> None:
    for batch in range(3):
        place.append(1, 2, 3, producer_id=7, producer_epoch=0, base_sequence=3 * batch, transactional=True)


@pytest.mark.parametrize(("start", "stable_4", "stable_3"), [(1, 0, 1), (3, 3, 3), (4, 3, 4), (7, 6, 7), (9, 9, 9)])
def test_log_start_inside_an_open_transaction_sets_the_last_stable_offset_of_the_release(
    tmp_path: Path, start: int, stable_4: int, stable_3: int
) -> None:
    for lifts, stable in ((False, stable_4), (True, stable_3)):
        place = Place(tmp_path / str(lifts), CONFIG._replace(lifts_unstable_to_log_start=lifts))
        transaction_of_three_batches(place)
        place.log.maybe_increment_log_start_offset(start)
        assert four(place.log) == (start, stable, 9, 9)
        place.end_transaction(7, commit=True)
        assert four(place.log) == (start, 10, 10, 10)


@pytest.mark.parametrize(
    ("start", "stable_4", "stable_3"), [(2, 3, 3), (3, 3, 3), (4, 3, 4), (5, 5, 5), (6, 5, 6), (7, 7, 7), (8, 7, 8)]
)
def test_log_start_outside_an_open_transaction_sets_the_last_stable_offset_of_the_release(
    tmp_path: Path, start: int, stable_4: int, stable_3: int
) -> None:
    for lifts, stable in ((False, stable_4), (True, stable_3)):
        place = Place(tmp_path / str(lifts), CONFIG._replace(lifts_unstable_to_log_start=lifts))
        place.append(1, 2, 3)
        place.append(1, 2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        place.append(1, 2, producer_id=7, producer_epoch=0, base_sequence=2, transactional=True)
        place.append(1, 2, 3)
        place.log.maybe_increment_log_start_offset(start)
        assert four(place.log) == (start, stable, 10, 10)


def test_rule_for_the_last_stable_offset_can_change_with_the_configuration(place: Place) -> None:
    transaction_of_three_batches(place)
    place.log.maybe_increment_log_start_offset(4)
    assert place.log.last_stable_offset == 3
    place.log.reconfigure(CONFIG._replace(lifts_unstable_to_log_start=True))
    assert place.log.last_stable_offset == 4


# The log start offset


def test_delete_records_raises_the_log_start(place: Place) -> None:
    place.append(1, 2, 3)
    assert place.log.maybe_increment_log_start_offset(2)
    assert four(place.log) == (2, 3, 3, 3)


def test_delete_records_never_lowers_the_log_start(place: Place) -> None:
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    assert not place.log.maybe_increment_log_start_offset(1)
    assert not place.log.maybe_increment_log_start_offset(2)
    assert place.log.log_start_offset == 2


def test_the_log_start_cannot_pass_the_high_watermark(place: Place) -> None:
    place.append(1, 2, visible=False)
    place.append(3, visible=False)
    place.log.maybe_increment_high_watermark(2)
    with pytest.raises(KafkaError) as refused:
        place.log.maybe_increment_log_start_offset(3)
    assert refused.value.code is Code.OFFSET_OUT_OF_RANGE
    assert place.log.log_start_offset == 0


def test_raised_log_start_raises_recovery_point_and_epochs(place: Place) -> None:
    place.log.assign_epoch_start_offset(0, 0)
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    assert place.log.recovery_point == 2
    assert place.log.epochs.earliest == (0, 2)


def test_truncation_below_the_log_start_lowers_it(place: Place) -> None:
    place.append(1, 2)
    place.append(3, 4)
    place.log.maybe_increment_log_start_offset(3)
    place.log.truncate_to(2)
    assert four(place.log) == (2, 2, 2, 2)


def test_truncation_above_the_log_start_keeps_it(place: Place) -> None:
    place.append(1, 2)
    place.append(3, 4)
    place.log.maybe_increment_log_start_offset(1)
    place.log.truncate_to(2)
    assert four(place.log) == (1, 2, 2, 2)


def test_a_truncation_of_everything_sets_all_offsets(place: Place) -> None:
    place.append(1, 2)
    place.log.truncate_fully_and_start_at(40)
    assert four(place.log) == (40, 40, 40, 40)
    place.log.truncate_fully_and_start_at(7, 3)
    assert (place.log.log_start_offset, place.log.log_end_offset) == (3, 7)


def test_a_truncation_below_the_first_segment_starts_there(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    for number in range(4):
        place.append(number)
    place.log.maybe_increment_log_start_offset(3)
    place.log.apply_retention()
    place.log.truncate_to(1)
    assert four(place.log) == (1, 1, 1, 1)


def test_retention_raises_the_log_start(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_bytes=0, retention_ms=-1))
    for number in range(4):
        place.append(number)
    place.log.apply_retention()
    assert four(place.log) == (4, 4, 4, 4)


def test_the_log_start_is_the_first_segment_after_a_start_without_checkpoint(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    for number in range(4):
        place.append(number)
    place.log.maybe_increment_log_start_offset(2)
    place.log.apply_retention()
    place.directory.close()
    (tmp_path / "data" / "log-start-offset-checkpoint").unlink()
    place.open()
    assert four(place.log) == (2, 4, 4, 4)


def test_all_offsets_survive_a_clean_shutdown(place: Place) -> None:
    place.append(1, 2, 3)
    place.append(4, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.append(5, visible=False)
    place.log.maybe_increment_log_start_offset(2)
    before = four(place.log)
    assert before == (2, 3, 4, 5)
    assert four(place.reopen()) == before


def test_repr_shows_all_offsets(place: Place) -> None:
    place.append(1)
    assert repr(place.log) == "<Log t-0 start 0 stable 1 high watermark 1 end 1>"
