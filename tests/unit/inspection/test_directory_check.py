"""The files of a data directory are compared with its partitions."""

import shutil
from pathlib import Path

import pytest

from kafkalet.inspection.directory_check import check_cluster
from kafkalet.inspection.faults import Finding, Report


def checked(path: Path) -> list[tuple[str, str, int | None, str]]:
    """Return severity, file name, position and check of each finding."""
    found: list[Finding] = []
    check_cluster(str(path), Report(found.append))
    return [(each.severity.value, Path(each.path).name, each.position, each.check) for each in found]


def test_intact_directory_has_no_findings(data: Path) -> None:
    assert checked(data) == []


def test_directory_without_marker_is_noted(data: Path) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    assert checked(data) == [("note", "data", None, "unclean")]


@pytest.mark.parametrize("name", ["recovery-point", "replication", "log-start"])
def test_checkpoint_above_the_end_of_the_log_is_named(data: Path, name: str) -> None:
    (data / f"{name}-offset-checkpoint").write_text("0\n2\nu 0 5\nt 0 99999\n")
    assert checked(data) == [
        ("note", f"{name}-offset-checkpoint", None, "partition"),
        ("fault", f"{name}-offset-checkpoint", 10, "range"),
    ]


@pytest.mark.parametrize(
    "name", ["recovery-point-offset-checkpoint", "cleaner-offset-checkpoint", ".kafka_cleanshutdown", "kafkalet.json"]
)
def test_malformed_file_is_named(data: Path, name: str) -> None:
    (data / name).write_bytes(b"garbage")
    assert checked(data) == [("fault", name, 0, "format")]


@pytest.mark.parametrize(
    ("text", "check"),
    [("version=2\n", "version"), ("version=1\nnode.id=1\n", "missing"), ("version=0\nbroker.id=x\n", "range")],
)
def test_invalid_meta_properties_are_named(data: Path, text: str, check: str) -> None:
    (data / "meta.properties").write_text(text)
    assert checked(data) == [("fault", "meta.properties", None, check)]


def test_partitions_of_a_topic_with_different_ids_are_named(data: Path) -> None:
    shutil.copytree(data / "t-0", data / "t-1")
    (data / "t-1" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert checked(data) == [("fault", "partition.metadata", None, "topic-id")]


def test_kafkalet_json_with_missing_properties_is_named(data: Path) -> None:
    (data / "kafkalet.json").write_text('{"format": 1}')
    assert checked(data) == [("fault", "kafkalet.json", None, "format")]


def test_directory_of_deleted_topic_is_noted(data: Path) -> None:
    shutil.copytree(data / "t-0", data / "u-0.0123456789abcdef-delete")
    assert checked(data) == [("note", "u-0.0123456789abcdef-delete", None, "leftover")]


def test_clean_shutdown_says_nothing_about_the_metadata_log(data: Path) -> None:
    shutil.copytree(data / "t-0", data / "__cluster_metadata-0")
    index = max((data / "__cluster_metadata-0").glob("*.timeindex"))
    index.write_bytes(bytes(1200))
    assert ("note", index.name, 0, "padding") in checked(data)
    assert "fault" not in [severity for severity, *_ in checked(data)]
