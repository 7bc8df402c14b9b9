"""Offsets that fall, or lie outside their segment, are found; gaps are noted."""

from __future__ import annotations

from pathlib import Path

from .audited import audited, batch, complaints, only, write_log


def test_rising_offsets_are_right(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0), batch(2), batch(4)]))) == []


def test_an_offset_that_comes_again_is_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0), batch(2), batch(3)]))) == [("order", 3)]


def test_an_offset_below_its_segment_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (5, [batch(4), batch(6)]))
    assert ("range", 4) in complaints(directory)


def test_an_offset_that_belongs_to_the_next_segment_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2)]), (3, [batch(4)]))
    assert ("range", 2) in complaints(directory)


def test_an_offset_too_far_from_the_base_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(1 << 31)]))
    assert ("range", 1 << 31) in complaints(directory)


def test_a_last_offset_below_the_first_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2, last_offset=1)]))
    assert ("order", 2) in complaints(directory)


def test_what_a_cleaner_took_out_of_a_batch_is_counted(tmp_path: Path) -> None:
    """The batch keeps its last offset."""
    directory = write_log(tmp_path, (0, [batch(0), batch(2, 1, last_offset=5), batch(6)]))
    facts = only(audited(directory))
    assert facts.findings.total == 0
    assert (facts.chain.removed_inside, facts.chain.compacted_up_to) == (3, 6)


def test_a_delete_horizon_tells_of_a_cleaner(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(4, delete_horizon_ms=7), batch(6)]))
    assert only(audited(directory)).chain.compacted_up_to == 6
