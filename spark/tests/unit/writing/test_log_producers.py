"""The producer state of a log."""

from pathlib import Path

import pytest

from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.writing.log_producers import ProducerState, at_end, encode, moved, read

from .making import load, log, numbered

SHAPE = {"transactionalShare": "0.5", "abortedShare": "0.4", "transactionSize": 10, "segmentBytes": 4000}


def test_written_snapshot_is_read_back(tmp_path: Path) -> None:
    states = {3: ProducerState(3, 1, 9, 100, 4, 1000, 2, 96), 5: ProducerState(5, 0)}
    path = tmp_path / "x.snapshot"
    path.write_bytes(encode(states))
    assert read(str(path)) == states


def test_missing_snapshot_has_no_producers(tmp_path: Path) -> None:
    assert read(str(tmp_path / "none.snapshot")) == {}
    (tmp_path / "empty.snapshot").write_bytes(encode({}))
    assert read(str(tmp_path / "empty.snapshot")) == {}


def test_moved_state_keeps_unset_offsets() -> None:
    assert moved([ProducerState(3, 0, last_offset=7, first_offset=5)], 10)[3][3:] == (17, 0, -1, -1, 15)
    assert ProducerState(3, 0).moved(10) == ProducerState(3, 0)


@pytest.mark.parametrize("lost", ["none", "the last", "all"])
def test_end_state_does_not_depend_on_snapshots(tmp_path: Path, lost: str) -> None:
    load(tmp_path, [numbered(0, 500)], **SHAPE, openTransactions=2)
    before = at_end(log(tmp_path))
    assert len(before) == 5
    snapshots = sorted(Path(log(tmp_path).path).glob("*.snapshot"))
    assert len(snapshots) > 3
    for path in {"none": [], "the last": snapshots[-1:], "all": snapshots}[lost]:
        path.unlink()
    assert at_end(log(tmp_path)) == before


def test_damaged_snapshot_is_skipped(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 500)], **SHAPE)
    before = at_end(log(tmp_path))
    *_, last = sorted(Path(log(tmp_path).path).glob("*.snapshot"))
    last.write_bytes(b"\0" * 20)
    with pytest.raises(CorruptFile):
        read(str(last))
    assert at_end(log(tmp_path)) == before
