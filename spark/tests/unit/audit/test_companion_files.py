"""The small files of a log are read, and unexpected files are found."""

from __future__ import annotations

from pathlib import Path

from kafkalet_spark.audit.companion_files import read_companion_files
from kafkalet_spark.audit.findings import Findings
from kafkalet_spark.logs.directory import open_partition

from .audited import audited, batch, found, make, write_log


def test_checkpoints_are_read(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]))
    for at, name in enumerate(("log-start", "recovery-point", "cleaner", "replication")):
        (tmp_path / f"{name}-offset-checkpoint").write_text(f"0\n2\nraw 0 {at}\nraw 1 77\n")
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    findings = Findings("raw", 0)
    companions = read_companion_files(open_partition(str(directory)), findings)
    assert findings.total == 0
    assert companions[1:5] == (0, 3, 1, 2)
    assert companions.epochs == ((0, 0),)


def test_missing_files_are_not_reported(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]))
    (directory / "leader-epoch-checkpoint").unlink()
    companions = read_companion_files(open_partition(str(directory)), Findings("raw", 0))
    assert companions[1:6] == (None, None, None, None, None)


def test_corrupt_checkpoint_is_found_with_its_position(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text("0\n7\nraw 0 1\n")
    (finding,) = found(made, "checkpoint")
    assert (finding.file, finding.position) == (str(path), 2)


def test_an_index_without_its_log_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = made.place / f"{12345:020d}.index"
    path.write_bytes(b"")
    (finding,) = found(made, "file")
    assert finding.file == str(path)


def test_temporary_files_of_a_broker_are_accepted(tmp_path: Path) -> None:
    made = make(tmp_path)
    for name in (f"{5:020d}.log.deleted", f"{5:020d}.snapshot.deleted", "leader-epoch-checkpoint.tmp"):
        (made.place / name).write_bytes(b"")
    assert audited(made.path).agrees


def test_corrupt_topic_id_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.place / "partition.metadata").write_text("version: 0\ntopic_id: none\n")
    (finding,) = found(made, "file")
    assert finding.file == str(made.place / "partition.metadata")


def test_files_of_a_kraft_quorum_are_accepted(tmp_path: Path) -> None:
    names = ("quorum-state", f"{7:020d}-{1:010d}.checkpoint")
    for topic, expected in (("__cluster_metadata", []), ("raw", ["file", "file"])):
        directory = write_log(tmp_path, (0, [batch(0)]), name=f"{topic}-0")
        for name in names:
            (directory / name).write_bytes(b"")
        assert [finding.check for finding in audited(directory).findings] == expected
