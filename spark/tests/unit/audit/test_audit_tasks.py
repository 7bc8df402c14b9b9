"""Small stretches share a task, and segments whose stretches do not fit together are audited again."""

from __future__ import annotations

from pathlib import Path
from struct import pack

from kafkalet_spark.audit.audit_options import AuditOptions
from kafkalet_spark.audit.audit_tasks import SMALLEST_TASK_BYTES, begin, bytes_together, packed, settled, tasks_of
from kafkalet_spark.audit.stretch_audit import ScanSettings
from kafkalet_spark.logs.directory import open_partition

from .audited import audited, batch, entries, flip, make, segments, write_log


def test_small_segments_share_a_task(tmp_path: Path) -> None:
    made = make(tmp_path)
    tasks = tasks_of([begin(open_partition(str(made.place)), None)], 1 << 30)
    assert len(packed(tasks, 1 << 30)) == 1
    assert [len(group) for group in packed(tasks, 1)] == [1] * len(tasks)
    assert [task for group in packed(tasks, 3000) for task in group] == tasks


def test_every_core_gets_a_task(tmp_path: Path) -> None:
    made = make(tmp_path)
    tasks = tasks_of([begin(open_partition(str(made.place)), None)], 1 << 30)
    big = [task._replace(stretch=task.stretch._replace(start=0, end=100 << 20)) for task in tasks]
    assert bytes_together(big, 4, 1 << 30) == len(big) * (100 << 20) // 12
    assert bytes_together(big, 4, 1 << 20) == 1 << 20
    assert bytes_together(tasks, 4, 1 << 30) == SMALLEST_TASK_BYTES


def test_segment_with_damage_is_audited_as_a_whole(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[0]
    flip(path, entries(path)[4][0] + 30)
    tasks = tasks_of([begin(open_partition(str(made.place)), None)], 300)
    scan = ScanSettings(1000)
    facts = settled([(task, task.audit(scan)) for task in tasks], scan)
    assert sum(part.stretch.path == str(path) for part in facts) == 1
    assert sum(part.stretch.path != str(path) for part in facts) > len(segments(made)) - 1
    cut = audited(made.path, AuditOptions(max_bytes_per_task=300))
    assert cut.findings == audited(made.path).findings


def test_batch_inside_a_record_value_is_not_mistaken_for_an_entry(tmp_path: Path) -> None:
    """The index points into a value that looks like a batch with a valid checksum."""
    from kafkalet.protocol.records.build import build_batch
    from kafkalet.protocol.records.record import Record

    hidden = batch(3, leader_epoch=0)
    outer = build_batch([Record(2, 0, None, hidden)], base_offset=2, leader_epoch=0)
    inside = outer.index(hidden)
    directory = write_log(tmp_path, (0, [batch(0), outer, batch(3)]))
    (directory / f"{0:020d}.index").write_bytes(pack(">ii", 4, len(batch(0)) + inside))
    verdict = audited(directory, AuditOptions(max_bytes_per_task=10))
    assert [finding.check for finding in verdict.findings if finding.check != "ends"] == ["offset-index"]
    assert verdict.partitions[0].records == 5
