"""Tests of leader epochs: assignment, end offsets, truncation, the file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.epochs import EpochEntry, LeaderEpochs
from kafkalet.storage.files import Files


def cache(directory: Path, *entries: tuple[int, int], durable: bool = False) -> LeaderEpochs:
    made = LeaderEpochs(Files(durable=durable), str(directory), new=True)
    for epoch, offset in entries:
        made.assign(epoch, offset)
    return made


def test_an_epoch_is_assigned_once(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 6), (2, 7), (2, 100))
    assert made.entries == (EpochEntry(2, 6),)
    assert made.latest_epoch == 2


def test_an_earlier_start_of_the_latest_epoch_replaces_it(tmp_path: Path) -> None:
    assert cache(tmp_path, (1, 3), (2, 8), (2, 6)).entries == ((1, 3), (2, 6))


def test_new_epoch_removes_contradicting_entries(tmp_path: Path) -> None:
    assert cache(tmp_path, (1, 3), (2, 6), (3, 8), (2, 7)).entries == ((1, 3), (2, 7))
    assert cache(tmp_path, (1, 3), (2, 6), (3, 5)).entries == ((1, 3), (3, 5))
    assert cache(tmp_path, (1, 3), (2, 6), (3, 6)).entries == ((1, 3), (3, 6))


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 3), (1, -1)])
def test_negative_epochs_and_offsets_raise_value_error(tmp_path: Path, epoch: int, offset: int) -> None:
    with pytest.raises(ValueError, match="leader epoch"):
        cache(tmp_path, (epoch, offset))


def test_first_and_latest_epoch_follow_assignments(tmp_path: Path) -> None:
    made = cache(tmp_path)
    assert (made.earliest, made.latest_epoch) == (None, None)
    made.assign(4, 10)
    assert (made.earliest, made.latest_epoch) == ((4, 10), 4)
    made.assign(7, 20)
    assert (made.earliest, made.latest_epoch) == ((4, 10), 7)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (-1, (-1, -1)),  # a follower without an epoch
        (0, (0, 10)),  # before the first known epoch: ends where that begins
        (2, (2, 20)),
        (3, (2, 20)),  # between two epochs: the lower one
        (5, (5, 30)),
        (8, (8, 99)),  # the latest ends at the log end
        (9, (-1, -1)),  # after all known epochs
    ],
)
def test_epoch_ends_at_the_start_of_the_next_or_at_the_log_end(
    tmp_path: Path, asked: int, found: tuple[int, int]
) -> None:
    made = cache(tmp_path, (2, 10), (5, 20), (8, 30))
    assert made.end_offset_for(asked, 99) == found


def test_end_offset_without_entries_is_unknown(tmp_path: Path) -> None:
    assert cache(tmp_path).end_offset_for(0, 99) == (-1, -1)


def test_truncation_from_the_end_drops_epochs_that_began_there_or_later(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 10), (5, 20), (8, 30))
    made.truncate_from_end(31)
    assert len(made.entries) == 3
    made.truncate_from_end(20)
    assert made.entries == ((2, 10),)
    assert made.latest_epoch == 2
    made.truncate_from_end(-1)
    assert made.entries == ((2, 10),)


def test_truncation_from_the_start_keeps_the_epoch_of_the_start(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 10), (5, 20), (8, 30))
    made.truncate_from_start(9)
    assert len(made.entries) == 3
    made.truncate_from_start(20)
    assert made.entries == ((5, 20), (8, 30))
    made.truncate_from_start(25)
    assert made.entries == ((5, 25), (8, 30))
    made.truncate_from_start(40)
    assert made.entries == ((8, 40),)


def test_clear_also_empties_the_file(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 10), durable=True)
    made.clear()
    assert made.latest_epoch is None
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n0\n"


def test_durable_log_writes_its_epoch_immediately(tmp_path: Path) -> None:
    cache(tmp_path, (2, 10), durable=True)
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n1\n2 10\n"


def test_temporary_log_writes_epochs_only_when_flushed(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 10))
    assert list(tmp_path.iterdir()) == []
    made.write()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n1\n2 10\n"


def test_epochs_are_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n4 700\n")
    found = LeaderEpochs(Files(), str(tmp_path))
    assert found.entries == ((0, 0), (4, 700))
    assert found.latest_epoch == 4


def test_old_message_formats_have_no_epochs_and_lose_their_file(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n1\n4 700\n")
    found = LeaderEpochs(Files(), str(tmp_path), supported=False)
    found.assign(5, 800)
    assert found.entries == ()
    assert list(tmp_path.iterdir()) == []


def test_change_to_an_old_format_removes_all_epochs(tmp_path: Path) -> None:
    made = cache(tmp_path, (2, 10), durable=True)
    made.reconfigure(supported=False)
    assert made.entries == ()
    assert list(tmp_path.iterdir()) == []
    made.reconfigure(supported=True)
    made.assign(3, 20)
    assert made.entries == ((3, 20),)


def test_path_follows_a_renamed_directory(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    made = cache(tmp_path, (2, 10))
    made.moved(str(tmp_path / "to"))
    made.write()
    assert (tmp_path / "to" / "leader-epoch-checkpoint").exists()


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 30)), max_size=20))
def test_epochs_and_start_offsets_increase_together(assigned: list[tuple[int, int]]) -> None:
    made = LeaderEpochs(Files(durable=False), "nowhere", new=True)
    for epoch, offset in assigned:
        made.assign(epoch, offset)
        pairs = list(zip(made.entries, made.entries[1:], strict=False))
        assert all(one.epoch < two.epoch and one.start_offset < two.start_offset for one, two in pairs)
        assert made.latest_epoch == epoch


def test_epochs_of_an_old_format_are_not_noted(tmp_path: Path) -> None:
    made = cache(tmp_path)
    made.reconfigure(supported=False)
    made.note(3, 20)
    assert made.entries == ()


def test_a_started_epoch_is_written_with_its_first_record(tmp_path: Path) -> None:
    made = cache(tmp_path, (1, 3), durable=True)
    made.start(2, 6)
    assert LeaderEpochs(Files(), str(tmp_path)).entries == ((1, 3),)
    made.assign(2, 6)
    assert LeaderEpochs(Files(), str(tmp_path)).entries == ((1, 3), (2, 6))


def test_a_truncated_epoch_leaves_the_file_before_the_next_record_is_appended(tmp_path: Path) -> None:
    made = cache(tmp_path, (1, 3), (2, 6), durable=True)
    made.truncate_from_end(6)
    made.assign(1, 6)  # a follower appends what the leader wrote in an earlier epoch
    assert LeaderEpochs(Files(), str(tmp_path)).entries == ((1, 3),)
