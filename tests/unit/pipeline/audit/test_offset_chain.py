"""The log end offset, and the reasons for gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet.pipeline.audit.audit_options import AuditOptions

from .audited import audited, batch, complaints, entries, flip, only, write_log


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
    assert only(verdict).chain.left_out == {"compacted": 0, "unreadable": 2, "missing": 0}


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
    assert chain.left_out == {"compacted": 4, "unreadable": 0, "missing": 2}
    assert [(gap.reason, gap.first_offset, gap.end_offset) for gap in chain.gaps] == [
        ("compacted", 2, 4),
        ("compacted", 6, 8),
        ("missing", 10, 12),
    ]


def test_caller_may_declare_a_topic_compacted(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(4)]))
    assert complaints(directory, AuditOptions(compacted=("raw",))) == []
    assert complaints(directory, AuditOptions(compacted=("other",))) == [("missing", 2)]


def test_batch_with_fewer_records_than_offsets_shows_compaction(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(4), batch(6, 1, last_offset=9), batch(12)]))
    assert complaints(directory) == [("missing", 10)]


def test_empty_batches_cover_their_offsets(tmp_path: Path) -> None:
    from kafkalet.protocol.records.build import build_batch

    empty = build_batch(
        [], base_offset=2, last_offset=7, leader_epoch=0, producer_id=1, producer_epoch=0, base_sequence=0
    )
    facts = only(audited(write_log(tmp_path, (0, [batch(0), empty, batch(8)]))))
    assert facts.findings.total == 0
    assert facts.chain.removed_inside == 6
