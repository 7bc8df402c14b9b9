"""Offsets that decrease or are outside their segment are found, and gaps are recorded."""

from __future__ import annotations

from pathlib import Path

from .audited import audited, batch, complaints, only, write_log


def test_increasing_offsets_are_valid(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0), batch(2), batch(4)]))) == []


def test_repeated_offset_is_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0), batch(2), batch(3)]))) == [("order", 3)]


def test_offset_below_its_segment_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (5, [batch(4), batch(6)]))
    assert ("range", 4) in complaints(directory)


def test_offset_of_the_next_segment_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2)]), (3, [batch(4)]))
    assert ("range", 2) in complaints(directory)


def test_offset_too_far_from_the_base_offset_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(1 << 31)]))
    assert ("range", 1 << 31) in complaints(directory)


def test_last_offset_below_the_first_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2, last_offset=1)]))
    assert ("order", 2) in complaints(directory)


def test_records_removed_from_a_batch_by_compaction_are_counted(tmp_path: Path) -> None:
    """The batch keeps its last offset."""
    directory = write_log(tmp_path, (0, [batch(0, 1), batch(1, 1, last_offset=4)]), (5, [batch(5)]))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nraw 0 5\n")
    facts = only(audited(directory))
    assert facts.findings.total == 0
    assert (facts.chain.left_out["compacted"], facts.chain.compacted_up_to) == (3, 5)
