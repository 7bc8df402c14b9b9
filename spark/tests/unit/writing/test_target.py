"""The log directory to write to."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet_spark.writing.target import DirectoryInUse, NotAppendable, Start, TargetDirectory, start_of

from .making import load, log, numbered


def test_missing_directory_has_no_partitions(tmp_path: Path) -> None:
    target = TargetDirectory(str(tmp_path / "new"))
    assert target.partitions() == {}
    assert target.log("t", 0) is None
    assert target.is_closed


def test_partitions_are_grouped_by_topic(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], partitions=3)
    (tmp_path / ".kafkalog-0.x_1_2-delete").mkdir()
    (tmp_path / "a-b-5").mkdir()
    assert TargetDirectory(str(tmp_path)).partitions() == {"t": [0, 1, 2], "a-b": [5]}


def test_directory_of_a_running_broker_is_locked(tmp_path: Path) -> None:
    with (
        kafkalet.Broker(data_dir=tmp_path),
        pytest.raises(DirectoryInUse, match="is in use by a broker; stop it first"),
        TargetDirectory(str(tmp_path)).locked(),
    ):
        pass


def test_broker_cannot_start_while_the_directory_is_locked(tmp_path: Path) -> None:
    with (
        TargetDirectory(str(tmp_path)).locked(),
        pytest.raises(Exception, match="in use by another broker"),
        kafkalet.Broker(data_dir=tmp_path),
    ):
        pass


def test_appends_start_at_the_log_end(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)])
    assert start_of(log(tmp_path), None) == Start(10, 0)
    assert start_of(log(tmp_path), 4) == Start(10, 4)
    assert start_of(None, None) == Start(0, 0)


def test_earlier_leader_epoch_is_rejected(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], leaderEpoch=5)
    assert start_of(log(tmp_path), None) == Start(10, 5)
    with pytest.raises(NotAppendable, match="is at leader epoch 5, above leaderEpoch 4"):
        start_of(log(tmp_path), 4)


@pytest.mark.parametrize("rest", [b"\0" * 100, b"broken" * 20])
def test_log_with_trailing_garbage_is_not_appendable(tmp_path: Path, rest: bytes) -> None:
    load(tmp_path, [numbered(0, 10)])
    with Path(log(tmp_path).segments[0].path).open("ab") as file:
        file.write(rest)
    with pytest.raises(NotAppendable, match="has no valid batch at byte"):
        start_of(log(tmp_path), None)
