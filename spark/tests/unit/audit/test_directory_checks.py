"""Other files in log directories, and several directories of one broker."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kafkalet_spark.audit import AuditOptions, Verdict, audit

from .audited import audited, batch, write_log, write_metadata
from .faults import checkpoint, create_directory
from .no_spark import NoSpark


def audited_together(*paths: Path) -> Verdict:
    spark: Any = NoSpark()
    return audit(spark, [str(path) for path in paths], AuditOptions())


def faults(verdict: Verdict) -> list[tuple[str, str | None]]:
    return [(finding.fault, finding.file) for finding in verdict.findings]


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two log directories of one broker."""
    first, second = create_directory(tmp_path / "one"), tmp_path / "two"
    shutil.copytree(first, second)
    for directory, others in ((first, ("plain-1", "txn-0")), (second, ("plain-0", "compacted-0"))):
        for name in others:
            shutil.rmtree(directory / name)
        for path in directory.glob("*-offset-checkpoint"):
            rows = [
                row for row in path.read_text().split("\n")[2:] if "-".join(row.split(" ")[:2]) not in others and row
            ]
            path.write_text("\n".join(["0", str(len(rows)), *rows, ""]))
    change(second, "directory.id", "another")
    return first, second


def change(directory: Path, name: str, value: str) -> None:
    path = directory / "meta.properties"
    path.write_text(re.sub(rf"^{name}=.*$", f"{name}={value}", path.read_text(), flags=re.MULTILINE))


def test_two_directories_of_one_broker_agree(two: tuple[Path, Path]) -> None:
    verdict = audited_together(*two)
    assert verdict.exit_status == 0, list(verdict.lines())


def test_partition_may_have_moved_to_another_directory(two: tuple[Path, Path]) -> None:
    first, second = two
    checkpoint("replication", "plain-1", 180)(first)
    assert audited_together(first, second).exit_status == 0


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("cluster.id", "other", "cluster.id-differs"),
        ("node.id", "7", "node.id-differs"),
    ],
)
def test_directories_of_different_brokers_are_found(two: tuple[Path, Path], name: str, value: str, fault: str) -> None:
    first, second = two
    change(second, name, value)
    assert faults(audited_together(first, second)) == [(fault, str(second / "meta.properties"))]


def test_duplicate_directory_id_is_found(two: tuple[Path, Path]) -> None:
    first, second = two
    shutil.copy(first / "meta.properties", second / "meta.properties")
    assert faults(audited_together(first, second)) == [("directory.id-repeated", str(second / "meta.properties"))]


def test_missing_meta_properties_is_found(two: tuple[Path, Path]) -> None:
    first, second = two
    (second / "meta.properties").unlink()
    assert faults(audited_together(first, second)) == [("no-meta-properties", str(second / "meta.properties"))]


def test_partition_in_two_directories_is_found(two: tuple[Path, Path]) -> None:
    first, second = two
    shutil.copytree(first / "plain-0", second / "plain-0")
    verdict = audited_together(first, second)
    assert ("partition-twice", str(first / "plain-0")) in faults(verdict)
    assert verdict.coverage.partitions_read == 5


def test_checkpoints_may_name_a_topic_that_is_being_deleted_while_the_broker_runs(tmp_path: Path) -> None:
    directory = create_directory(tmp_path / "data")
    (directory / "plain-1").rename(directory / "plain-1.1f0e-delete")
    assert faults(audited(directory)) == [("partition-gone", str(directory / "plain-1"))]
    (directory / ".kafka_cleanshutdown").unlink()
    assert faults(audited(directory)) == []


def test_missing_partitions_of_other_topics_are_ignored(tmp_path: Path) -> None:
    directory = create_directory(tmp_path / "data")
    shutil.rmtree(directory / "plain-1")
    assert faults(audited(directory, AuditOptions(topics=("txn",)))) == []
    assert faults(audited(directory, AuditOptions(topics=("plain",)))) == [
        ("partition-gone", str(directory / "plain-1"))
    ]


def test_directory_of_a_kafkalet_cluster_is_recognized(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    (tmp_path / "broker-1").mkdir()
    assert faults(audited(tmp_path)) == [("empty-partition", str(tmp_path / "broker-1"))]
    write_metadata(tmp_path)
    assert faults(audited(tmp_path)) == []


def test_topic_ids_are_optional_in_old_releases(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    write_log(tmp_path, (0, [batch(0)]), name="raw-1")
    assert faults(audited(tmp_path)) == []


def test_unlisted_partition_is_not_checked(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    (tmp_path / "raw-1").symlink_to("/nowhere")
    verdict = audited(tmp_path)
    assert [(skipped.path, skipped.reason) for skipped in verdict.coverage.not_checked] == [
        (str(tmp_path / "raw-1"), "a link to /nowhere, which does not exist")
    ]
    assert (verdict.coverage.partitions, verdict.coverage.partitions_read, verdict.exit_status) == (2, 1, 3)
    assert verdict.summary.endswith("no disagreements, but 1 item was not checked")
