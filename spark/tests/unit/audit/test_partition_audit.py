"""The facts about a whole log equal what the storage knows about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet_spark.audit.audit_options import AuditOptions
from kafkalet_spark.audit.findings import Finding
from spark.tests.unit.logs.made import CONFIG, T0, Made

from .audited import audited, fill, make, only


def test_a_sound_log_agrees(tmp_path: Path) -> None:
    verdict = audited(make(tmp_path).path)
    assert verdict.causes == []
    assert verdict.exit_status == 0


@pytest.mark.parametrize("chunk_bytes", [1, 200, 1 << 20])
def test_result_does_not_depend_on_chunk_size(tmp_path: Path, chunk_bytes: int) -> None:
    made = make(tmp_path)
    whole, cut = (only(audited(made.path, AuditOptions(chunk_bytes=size))) for size in (8 << 20, chunk_bytes))
    assert whole.findings.total == cut.findings.total == 0
    assert (whole.records, whole.times, whole.last_stable_offset) == (cut.records, cut.times, cut.last_stable_offset)
    assert whole.transactions.tolist() == cut.transactions.tolist()


@pytest.mark.parametrize("max_bytes", [100, 500, 1000])
def test_result_does_not_depend_on_stretches(tmp_path: Path, max_bytes: int) -> None:
    made = make(tmp_path)
    verdict = audited(made.path, AuditOptions(max_bytes_per_task=max_bytes))
    assert verdict.agrees, list(verdict.lines())
    cut, whole = only(verdict), only(audited(made.path))
    assert len(cut.stretch_paths) > len(whole.stretch_paths)
    assert cut.times == whole.times
    assert cut.segments == whole.segments


def test_end_offsets_equal_those_of_the_log(tmp_path: Path) -> None:
    made = Made(tmp_path)
    fill(made)
    log_end_offset, last_stable_offset = made.log.log_end_offset, made.log.last_stable_offset
    made.close()
    facts = only(audited(made.path))
    assert facts.log_end_offset == log_end_offset
    assert facts.last_stable_offset == last_stable_offset < log_end_offset


def test_every_offset_is_accounted_for(tmp_path: Path) -> None:
    facts = only(audited(make(tmp_path).path))
    assert facts.records == facts.log_end_offset == 15 + 40 + 6 * (2 + 1 + 1 + 1 + 2 + 1) + 3
    assert facts.markers == 12
    assert facts.aborted == 3 * 2 + 6 * 3
    assert facts.undecided == 2
    assert facts.producers == 4
    assert sum(facts.chain.left_out.values()) == 0


def test_deleted_records_are_not_visible(tmp_path: Path) -> None:
    made = Made(tmp_path)
    fill(made)
    made.delete_until(5)
    made.close()
    facts = only(audited(made.path))
    assert facts.findings.total == 0
    assert (facts.chain.log_begins_at, facts.log.log_start_offset) == (0, 5)
    assert facts.visible == facts.records - facts.markers - 5


def test_log_with_deleted_segments_agrees(tmp_path: Path) -> None:
    made = Made(tmp_path)
    fill(made)
    for offset in (10, 60, 75):
        made.delete_until(offset, files=True)
    made.close()
    verdict = audited(made.path)
    assert verdict.agrees, list(verdict.lines())
    assert only(verdict).chain.log_begins_at > 0


def test_log_of_a_running_broker_agrees(tmp_path: Path) -> None:
    made = Made(tmp_path, CONFIG)
    fill(made)
    made.directory.checkpoint()
    verdict = audited(made.path)
    made.close()
    assert verdict.agrees, list(verdict.lines())


def test_an_empty_log_agrees(tmp_path: Path) -> None:
    facts = only(audited(make(tmp_path, lambda made: None).path))
    assert facts.findings.total == facts.log_end_offset == facts.records == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_agree(tmp_path: Path, magic: int) -> None:
    def write(made: Made) -> None:
        from kafkalet.protocol.records.codecs import Codec

        for at in range(30):
            made.append_old(magic, at, at + 1, codec=Codec.GZIP if at % 3 else Codec.NONE)

    verdict = audited(make(tmp_path, write).path)
    assert verdict.agrees, list(verdict.lines())
    assert only(verdict).records == 60


def test_log_append_time_agrees(tmp_path: Path) -> None:
    def write(made: Made) -> None:
        for at in range(40):
            made.append_time(at, at + 1, at + 5)

    facts = only(audited(make(tmp_path, write).path))
    assert facts.findings.total == 0
    assert facts.times.largest == T0 + 44


def test_end_offsets_according_to_snapshots_are_compared(tmp_path: Path) -> None:
    """A snapshot without the open transaction hides it from a reader of the files."""
    made = make(tmp_path)
    snapshot = max(made.place.glob("*.snapshot"))
    (finding,) = [finding for finding in audited(made.path).findings if finding.check == "ends"] or [None]
    assert finding is None
    from kafkalet_spark.logs.snapshots import read_snapshot, snapshot_bytes

    producers = read_snapshot(str(snapshot))
    snapshot.write_bytes(snapshot_bytes(producers._replace(first_offset=producers.first_offset * 0 - 1)))
    checks = {finding.check for finding in audited(made.path).findings}
    assert checks == {"ends", "snapshot"}


def test_findings_of_all_checks_are_combined(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.place / "nonsense.txt").write_text("")
    (finding,) = audited(made.path).findings
    assert isinstance(finding, Finding)
    assert finding.check == "file"
    assert finding.file == str(made.place / "nonsense.txt")
