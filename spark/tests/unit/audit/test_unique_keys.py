"""Keys of compacted logs: unique below the offset that the cleaner has reached, and never missing there."""

from __future__ import annotations

from pathlib import Path

from .audited import audited, batch, only, write_log
from .test_offset_chain import moved_by


def log(path: Path, cleaned_up_to: int, *, log_start_offset: int = 0) -> Path:
    """Write a log in which offsets 0 and 1 have the same key, compacted up to an offset."""
    directory = write_log(path, (0, [batch(0, 1), moved_by(1, batch(0, 1))]), (2, [batch(2)]))
    (path / "cleaner-offset-checkpoint").write_text(f"0\n1\nraw 0 {cleaned_up_to}\n")
    (path / "log-start-offset-checkpoint").write_text(f"0\n1\nraw 0 {log_start_offset}\n")
    return directory


def test_key_twice_below_the_cleaner_offset_is_found(tmp_path: Path) -> None:
    (finding,) = audited(log(tmp_path, 2)).findings
    assert (finding.fault, finding.offset) == ("repeated-key", 0)


def test_key_may_occur_again_from_the_cleaner_offset_on(tmp_path: Path) -> None:
    assert audited(log(tmp_path, 1)).agrees


def test_keys_below_the_log_start_offset_are_not_compared(tmp_path: Path) -> None:
    assert audited(log(tmp_path, 2, log_start_offset=1)).agrees


def test_compared_keys_are_counted(tmp_path: Path) -> None:
    assert only(audited(log(tmp_path, 2))).findings.checked["compacted keys"] == 2
