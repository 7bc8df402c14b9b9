"""Violations of the producer protocol are reported with their position."""

from __future__ import annotations

from pathlib import Path

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.audit_options import AuditOptions
from spark.tests.unit.logs.made import T0

from .audited import audited, batch, complaints, entries, marker, sent, write_log

DAY_MS = 24 * 60 * 60 * 1000


def test_consecutive_sequences_are_valid(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(2, 2, 5), sent(4, 1, 2), sent(6, 2, 7), batch(8)]))
    assert complaints(directory) == []


def test_sequences_wrap_around(tmp_path: Path) -> None:
    last = (1 << 31) - 1
    directory = write_log(tmp_path, (0, [sent(0, 1, last - 1), sent(2, 1, 0), sent(4, 1, 2)]))
    assert complaints(directory) == []
    directory = write_log(tmp_path, (0, [sent(0, 1, last), sent(2, 1, 1)]), name="inside-0")
    assert complaints(directory) == []


def test_duplicate_batch_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(2, 1, 2), sent(4, 1, 2), sent(6, 1, 4)]))
    (finding,) = audited(directory).findings
    path = directory / f"{0:020d}.log"
    assert (finding.check, finding.offset, finding.file) == ("sequence", 4, str(path))
    assert finding.position == entries(path)[2][0]
    assert "is repeated" in finding.message


def test_lost_batch_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(2, 1, 4)]))
    (finding,) = audited(directory).findings
    assert (finding.check, finding.offset) == ("sequence", 2)
    assert "2 sequences are missing" in finding.message


def test_a_sequence_in_another_segment_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0)]), (2, [sent(2, 1, 4)]))
    (finding,) = audited(directory).findings
    assert (finding.check, finding.offset, finding.file) == ("sequence", 2, str(directory / f"{2:020d}.log"))


def test_a_new_epoch_begins_with_0(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [sent(0, 1, 0), sent(2, 1, 0, epoch=1)]))) == []
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(2, 1, 2, epoch=1)]), name="other-0")
    assert complaints(directory) == [("sequence", 2)]


def test_sequences_restart_after_a_marker_with_a_new_epoch(tmp_path: Path) -> None:
    open_ = sent(0, 1, 0, open_=True)
    assert complaints(write_log(tmp_path, (0, [open_, marker(2, 1, epoch=1), sent(3, 1, 0, epoch=1)]))) == [
        ("txn-index", 2)
    ]


def test_sequences_continue_after_a_marker_with_the_same_epoch(tmp_path: Path) -> None:
    open_ = sent(0, 1, 0, open_=True)
    directory = write_log(tmp_path, (0, [open_, marker(2, 1, commit=True), sent(3, 1, 2)]))
    assert complaints(directory) == []


def test_a_fenced_epoch_is_found(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0, epoch=3), sent(2, 2, 0), sent(4, 1, 0, epoch=2)]))
    assert complaints(directory) == [("epoch", 4)]


def test_the_first_batch_of_a_producer_may_have_any_sequence(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (10, [sent(10, 1, 77)]))) == []


def test_expired_producer_may_begin_with_any_sequence(tmp_path: Path) -> None:
    late = build_batch(
        [Record(2, T0 + DAY_MS, None, b"v")],
        base_offset=2,
        leader_epoch=0,
        producer_id=1,
        producer_epoch=0,
        base_sequence=70,
    )
    directory = write_log(tmp_path, (0, [sent(0, 1, 0, count=1), batch(1, 1), late]))
    assert complaints(directory) == []
    assert complaints(directory, AuditOptions(producer_id_expiration_ms=DAY_MS + 1)) == [("sequence", 2)]


def test_sequences_removed_by_compaction_are_not_reported(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(6, 1, 6)]), (8, [batch(8)]))
    assert complaints(directory, AuditOptions(compacted=("raw",))) == []


def test_sequences_of_missing_offsets_are_not_reported_again(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [sent(0, 1, 0), sent(6, 1, 6)]))
    assert complaints(directory) == [("missing", 2)]


def test_marker_with_an_older_coordinator_epoch_is_found(tmp_path: Path) -> None:
    def transaction(at: int, sequence: int, coordinator_epoch: int) -> list[bytes]:
        data = sent(at, 1, sequence, open_=True)
        return [data, marker(at + 2, 1, commit=True, coordinator_epoch=coordinator_epoch)]

    directory = write_log(tmp_path, (0, [*transaction(0, 0, 4), *transaction(3, 2, 5), *transaction(6, 4, 3)]))
    assert complaints(directory) == [("transaction", 8)]
