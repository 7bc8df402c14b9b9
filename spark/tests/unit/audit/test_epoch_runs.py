"""Leader epochs that decrease or differ from leader-epoch-checkpoint are found."""

from __future__ import annotations

from pathlib import Path

from .audited import audited, batch, complaints, entries, write_log


def log_of(tmp_path: Path, *epochs: int) -> Path:
    batches = [batch(2 * at, leader_epoch=epoch) for at, epoch in enumerate(epochs)]
    return write_log(tmp_path, (0, batches))


def test_increasing_epochs_are_valid(tmp_path: Path) -> None:
    assert complaints(log_of(tmp_path, 0, 0, 3, 3, 7)) == []


def test_decreasing_epoch_is_found(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, 3, 2, 3)
    (finding,) = audited(directory).findings
    path = directory / f"{0:020d}.log"
    assert (finding.check, finding.offset, finding.file) == ("leader-epoch", 4, str(path))
    assert finding.position == entries(path)[2][0]


def test_epochs_equal_to_the_checkpoint_are_valid(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, 0, 3, 3)
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 4\n")
    assert complaints(directory) == []


def test_epoch_missing_from_the_checkpoint_is_found(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, 1, 3)
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 4\n")
    assert complaints(directory) == [("leader-epoch", 2)]


def test_wrong_start_offset_of_an_epoch_is_found(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, 0, 3, 3)
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 2\n")
    assert complaints(directory) == [("leader-epoch", 2)]


def test_batches_below_the_first_epoch_of_the_checkpoint_are_not_compared(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, 1, 3)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n3 4\n")
    assert complaints(directory) == []


def test_negative_epoch_is_found(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0, -1, 0)
    assert complaints(directory) == [("leader-epoch", 2)]


def test_unreadable_checkpoint_is_found(tmp_path: Path) -> None:
    directory = log_of(tmp_path, 0)
    path = directory / "leader-epoch-checkpoint"
    path.write_text("0\n2\n3 0\n1 0\n")
    (finding,) = audited(directory).findings
    assert (finding.check, finding.file, finding.position) == ("leader-epoch", str(path), 8)
