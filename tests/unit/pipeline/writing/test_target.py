"""The log directory to write to."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.pipeline.writing.target import DirectoryInUse, NotAppendable, Start, TargetDirectory, start_of

from .making import load, log, numbered


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    target = TargetDirectory(str(tmp_path / "new"))
    assert target.partitions() == {}
    assert target.log("t", 0) is None
    assert target.is_closed


def test_partitions_are_found_by_topic(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], partitions=3)
    (tmp_path / ".kafkalog-0.x_1_2-delete").mkdir()
    (tmp_path / "a-b-5").mkdir()
    assert TargetDirectory(str(tmp_path)).partitions() == {"t": [0, 1, 2], "a-b": [5]}


def test_a_running_broker_keeps_the_directory(tmp_path: Path) -> None:
    with (
        kafkalet.Broker(data_dir=tmp_path),
        pytest.raises(DirectoryInUse, match="is in use by a broker; stop it first"),
        TargetDirectory(str(tmp_path)).locked(),
    ):
        pass


def test_a_broker_is_kept_out_while_the_directory_is_locked(tmp_path: Path) -> None:
    with (
        TargetDirectory(str(tmp_path)).locked(),
        pytest.raises(Exception, match="used by another broker"),
        kafkalet.Broker(data_dir=tmp_path),
    ):
        pass


def test_a_log_goes_on_where_it_ends(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)])
    assert start_of(log(tmp_path), None) == Start(10, 0)
    assert start_of(log(tmp_path), 4) == Start(10, 4)
    assert start_of(None, None) == Start(0, 0)


def test_a_log_does_not_go_back_to_an_earlier_epoch(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], leaderEpoch=5)
    assert start_of(log(tmp_path), None) == Start(10, 5)
    with pytest.raises(NotAppendable, match="is at leader epoch 5, above leaderEpoch 4"):
        start_of(log(tmp_path), 4)


@pytest.mark.parametrize("rest", [b"\0" * 100, b"broken" * 20])
def test_nothing_is_appended_behind_what_is_no_batch(tmp_path: Path, rest: bytes) -> None:
    load(tmp_path, [numbered(0, 10)])
    with Path(log(tmp_path).segments[0].path).open("ab") as file:
        file.write(rest)
    with pytest.raises(NotAppendable, match="has no valid batch at byte"):
        start_of(log(tmp_path), None)
