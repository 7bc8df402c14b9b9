"""The log end offset, and the reasons for gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet.protocol.records.build import build_batch
from kafkalet_spark.audit.audit_options import AuditOptions

from .audited import audited, batch, complaints, entries, flip, only, set_policy, write_log


def test_unexplained_gap_is_missing(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(4)]))
    (finding,) = audited(directory).findings
    path = directory / f"{0:020d}.log"
    assert (finding.check, finding.offset, finding.file) == ("missing", 2, str(path))
    assert finding.position == entries(path)[1][0]
    assert only(audited(directory)).chain.left_out["missing"] == 2


def test_offsets_of_a_deleted_segment_are_missing(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]), (6, [batch(6)]))
    (finding,) = audited(directory).findings
    assert (finding.check, finding.offset, finding.position) == ("missing", 2, 0)
    assert finding.file == str(directory / f"{6:020d}.log")


def test_gap_before_an_empty_segment_is_missing(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]), (6, []))
    assert complaints(directory) == [("missing", 2)]
    assert only(audited(directory)).log_end_offset == 6


def test_gap_after_the_base_offset_of_a_segment_is_missing(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (2, [batch(4)]))) == [("missing", 2)]


def test_unreadable_offsets_are_not_missing(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2), batch(4)]))
    flip(directory / f"{0:020d}.log", entries(directory / f"{0:020d}.log")[1][0] + 30)
    verdict = audited(directory)
    assert [finding.check for finding in verdict.findings] == ["checksum"]
    assert only(verdict).chain.left_out == {"compacted": 0, "undecided": 0, "unreadable": 2, "missing": 0}


@pytest.mark.parametrize("damaged", [0, 2])
def test_damage_at_the_edge_of_a_segment_explains_a_gap(tmp_path: Path, damaged: int) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(2), batch(4)]), (6, [batch(6)]))
    path = directory / f"{0:020d}.log"
    flip(path, entries(path)[damaged][0] + 30)
    assert [finding.check for finding in audited(directory).findings] == ["checksum"]


def test_cleaner_checkpoint_explains_gaps(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(4)]), (8, [batch(8), batch(12)]))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nraw 0 8\n")
    assert complaints(directory) == [("missing", 10)]
    chain = only(audited(directory)).chain
    assert chain.left_out == {"compacted": 4, "undecided": 0, "unreadable": 0, "missing": 2}
    assert [(gap.reason, gap.first_offset, gap.end_offset) for gap in chain.gaps] == [
        ("compacted", 2, 4),
        ("compacted", 6, 8),
        ("missing", 10, 12),
    ]


def test_caller_may_declare_a_topic_compacted(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(4)]), (6, [batch(6)]))
    assert complaints(directory, AuditOptions(compacted=("raw",))) == []
    assert complaints(directory, AuditOptions(compacted=("other",))) == [("missing", 2)]


def test_last_segment_is_never_compacted(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]), (2, [batch(2), batch(6, 1, last_offset=9)]))
    set_policy(tmp_path, "compact")
    assert complaints(directory, AuditOptions(compacted=("raw",))) == [("missing", 4), ("missing", 6)]


EMPTY = build_batch([], base_offset=2, last_offset=7, leader_epoch=0, producer_id=1, producer_epoch=0, base_sequence=0)


def test_empty_batches_cover_their_offsets_below_the_cleaner_offset(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), EMPTY, batch(8, 1)]), (9, [batch(9)]))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nraw 0 9\n")
    facts = only(audited(directory))
    assert facts.chain.left_out == {"compacted": 6, "undecided": 0, "unreadable": 0, "missing": 0}


HOLES = {
    "between batches": ([batch(0), batch(4, 1)], ("missing", 2)),
    "a batch emptied": ([batch(0), EMPTY, batch(8, 1)], ("removed", 2)),
    "records removed inside a batch": ([batch(0), batch(2, 1, last_offset=8)], ("removed", 2)),
    "a whole segment": ([batch(0)], ("missing", 2)),
}


@pytest.mark.parametrize("hole", HOLES)
def test_nothing_explains_a_hole_in_a_topic_that_is_not_compacted(tmp_path: Path, hole: str) -> None:
    batches, found = HOLES[hole]
    horizon = batch(9, 1, delete_horizon_ms=7)
    directory = write_log(tmp_path, (0, batches), (9, [horizon]), (10, [batch(10)]))
    set_policy(tmp_path, "delete")
    findings = {(each.fault, each.offset) for each in audited(directory).findings}
    assert {found, ("removed", 9)} <= findings


@pytest.mark.parametrize("hole", HOLES)
def test_interrupted_cleaning_may_explain_a_hole_above_the_cleaner_offset(tmp_path: Path, hole: str) -> None:
    directory = write_log(tmp_path, (0, HOLES[hole][0]), (9, [batch(9)]))
    set_policy(tmp_path, "compact,delete")
    verdict = audited(directory)
    assert (verdict.findings, verdict.exit_status) == ([], 3)
    assert only(verdict).chain.left_out["undecided"] > 0
    assert "undecided" in verdict.coverage.not_checked[0].reason


@pytest.mark.parametrize("hole", HOLES)
def test_segment_with_a_key_twice_was_not_cleaned(tmp_path: Path, hole: str) -> None:
    batches, (fault, _) = HOLES[hole]
    twice = [batch(0, 1), moved_by(1, batch(0, 1)), *(moved_by(2, data) for data in batches)]
    directory = write_log(tmp_path, (0, twice), (11, [batch(11)]))
    set_policy(tmp_path, "compact")
    assert {each.fault for each in audited(directory).findings} == {fault}


@pytest.mark.parametrize("hole", HOLES)
def test_batches_that_look_compacted_leave_holes_undecided_if_the_policy_is_unknown(tmp_path: Path, hole: str) -> None:
    horizon = batch(9, 1, delete_horizon_ms=7)
    directory = write_log(tmp_path, (0, HOLES[hole][0]), (9, [horizon]), (10, [batch(10)]))
    verdict = audited(directory)
    assert (verdict.findings, verdict.exit_status) == ([], 3)


def moved_by(offset: int, data: bytes) -> bytes:
    """Return a batch with another base offset, which the checksum does not cover."""
    return (int.from_bytes(data[:8], "big") + offset).to_bytes(8, "big") + data[8:]
