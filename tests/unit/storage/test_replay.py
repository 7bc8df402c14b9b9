"""Tests of rebuilding the producer states from snapshots and entries."""

from pathlib import Path

import pytest

from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.replay import rebuild_producers

from .place import CONFIG, Place
from .producing import T0

SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Five batches of producer 7, and a transaction of producer 8."""
    place = Place(tmp_path / "data", SMALL)
    for sequence in range(5):
        place.append(sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
    place.append(9, producer_id=8, producer_epoch=1, base_sequence=0, transactional=True)
    return place


def rebuilt(place: Place, start: int = 0, end: int | None = None, *, clean: bool = False) -> ProducerStates:
    states = ProducerStates(place.log.directory, Files(durable=False))
    end = place.log.log_end_offset if end is None else end
    rebuild_producers(states, place.log.segments, start, end, place.config, T0, after_clean_shutdown=clean)
    return states


def last_sequence(states: ProducerStates) -> int | None:
    entry = states.entry(7)
    return None if entry is None else entry.last_sequence


def snapshots(place: Place) -> list[int]:
    return [int(name[:20]) for name in place.names() if name.endswith(".snapshot")]


def test_without_snapshots_all_entries_are_read(place: Place) -> None:
    for offset in snapshots(place):
        place.file(f"{offset:020d}.snapshot").unlink()
    states = rebuilt(place)
    assert last_sequence(states) == 4
    assert states.has_open_transaction(8)
    assert states.end_offset == 6
    assert snapshots(place) == [4, 5, 6]


def test_entries_after_the_latest_snapshot_are_read(place: Place) -> None:
    for segment in list(place.log.segments)[:4]:
        segment.cut(0)  # reading it would raise an error
    assert last_sequence(rebuilt(place)) == 4


@pytest.mark.parametrize(("end", "sequence"), [(1, 0), (3, 2), (5, 4)])
def test_entries_up_to_the_end_offset_are_read(place: Place, end: int, sequence: int) -> None:
    states = rebuilt(place, end=end)
    assert last_sequence(states) == sequence
    assert not states.has_open_transaction(8)


def test_entries_below_the_log_start_are_not_read(place: Place) -> None:
    for offset in snapshots(place):
        place.file(f"{offset:020d}.snapshot").unlink()
    assert last_sequence(rebuilt(place, start=5)) is None
    assert rebuilt(place, start=5).has_open_transaction(8)


def test_nothing_is_read_after_a_clean_shutdown_without_snapshots(place: Place) -> None:
    for offset in snapshots(place):
        place.file(f"{offset:020d}.snapshot").unlink()
    assert len(rebuilt(place, clean=True)) == 0
    assert snapshots(place) == [4, 5, 6]


def test_old_formats_have_no_producers(place: Place) -> None:
    place.config = place.config._replace(record_version=1)
    assert len(rebuilt(place)) == 0


def test_markers_are_replayed(place: Place) -> None:
    place.end_transaction(8, commit=True, epoch=1)
    for offset in snapshots(place):
        place.file(f"{offset:020d}.snapshot").unlink()
    assert not rebuilt(place).has_open_transaction(8)


def test_segment_may_end_before_the_start_of_the_replay(place: Place) -> None:
    place.log.roll(20)
    for offset in snapshots(place):
        place.file(f"{offset:020d}.snapshot").unlink()
    assert last_sequence(rebuilt(place, start=15, end=20)) is None
