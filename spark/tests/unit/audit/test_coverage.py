"""The coverage lists everything that was checked and everything that was not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kafkalet_spark.audit import AuditOptions
from kafkalet_spark.audit.coverage import KINDS, Coverage
from kafkalet_spark.audit.findings import NotChecked

from .audited import audited, batch, make, segments, write_log


def test_all_segments_are_read(tmp_path: Path) -> None:
    made = make(tmp_path)
    coverage = audited(made.path).coverage
    files = segments(made)
    assert (coverage.partitions, coverage.partitions_read) == (1, 1)
    assert (coverage.segments, coverage.segments_read) == (len(files), len(files))
    assert coverage.bytes_read == coverage.size_bytes == sum(path.stat().st_size for path in files)
    assert coverage.is_complete


def test_every_counter_belongs_to_a_check(tmp_path: Path) -> None:
    known = {name for names in KINDS.values() for name in names}
    assert set(audited(make(tmp_path).path).coverage.checked) <= known


def test_comparisons_are_counted(tmp_path: Path) -> None:
    made = make(tmp_path)
    checked = audited(made.path).coverage.checked
    assert checked["records"] == 106
    assert checked["offset index entries"] == sum(path.stat().st_size // 8 for path in segments(made, ".index"))
    assert checked["transaction index entries"] == sum(
        path.stat().st_size // 34 for path in segments(made, ".txnindex")
    )
    assert checked["snapshots"] == len(segments(made, ".snapshot"))
    assert checked["leader epochs"] == 1


def test_topics_that_were_not_selected_are_listed_as_excluded(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    write_log(tmp_path, (0, [batch(0)]), name="other-0")
    coverage = audited(tmp_path, AuditOptions(topics=("raw",))).coverage
    assert coverage.left_aside == ("1 partition of topics that were not selected",)
    assert coverage.is_complete


def test_directories_that_are_being_deleted_are_listed_as_excluded(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    (tmp_path / "gone-0.1f0e-delete").mkdir()
    verdict = audited(tmp_path)
    assert verdict.coverage.left_aside == (f"{tmp_path}/gone-0.1f0e-delete (a broker is deleting it)",)
    assert verdict.agrees


def test_log_of_the_controllers_is_checked(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]), name="__cluster_metadata-0")
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    assert audited(tmp_path).coverage.partitions_read == 1


def test_text_lists_what_was_not_checked() -> None:
    skipped = NotChecked("t", 1, "/d/t-1/0.log", "Permission denied")
    lines = list(Coverage(2, 1, 5, 4, 100, Counter(bytes=80, records=7), (skipped,), ("x",)).lines())
    assert lines == [
        "read: 1 of 2 partitions, 4 of 5 segments, 80 of 100 bytes",
        "checked: checksum, order, range, missing, zeros: 80 bytes",
        "checked: records: 7 records",
        "excluded: x",
        "not checked: t-1: /d/t-1/0.log: Permission denied",
    ]
