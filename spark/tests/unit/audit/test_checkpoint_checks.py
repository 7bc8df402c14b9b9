"""Checkpoints that are ahead of their log are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from .audited import batch, complaints, found, make, write_log


@pytest.mark.parametrize("name", ["log-start", "recovery-point", "replication"])
def test_offset_past_the_log_end_is_found(tmp_path: Path, name: str) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]))
    (tmp_path / f"{name}-offset-checkpoint").write_text("0\n1\nraw 0 2\n")
    assert ("checkpoint", 2) not in complaints(directory)
    (tmp_path / f"{name}-offset-checkpoint").write_text("0\n1\nraw 0 3\n")
    assert ("checkpoint", 3) in complaints(directory)


def test_recovery_point_before_the_log_end_is_found_after_clean_shutdown(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text("0\n1\na.b-c 0 5\n")
    (finding,) = found(made, "checkpoint")
    assert (finding.file, finding.offset) == (str(path), 5)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    assert found(made, "checkpoint") == []


def test_epoch_that_starts_past_the_log_end_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]))
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n4 2\n")
    assert complaints(directory) == []
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n4 3\n")
    assert complaints(directory) == [("leader-epoch", 3)]
