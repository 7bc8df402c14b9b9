"""Files of a partition are compared with each other."""

import os
import shutil
from pathlib import Path

import pytest

from kafkalet.formats import offsets_bytes
from kafkalet.inspection.faults import Finding, Report
from kafkalet.inspection.kinds import kind_of
from kafkalet.inspection.partition_check import check_file
from tests.recorded.cleaning.rounds import load, write_files

from .sample import SEGMENT, faults, findings


def checked(path: Path) -> list[Finding]:
    found: list[Finding] = []
    kind = kind_of(str(path))
    assert kind is not None
    check_file(str(path), kind, Report(found.append))
    return found


def test_leader_epoch_above_the_end_is_named(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 99999\n")
    assert faults(partition) == [("leader-epoch-checkpoint", 8, "range")]


def test_leader_epochs_must_increase(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 5\n0 5\n")
    assert faults(partition) == [("leader-epoch-checkpoint", 8, "order")]


def test_leader_epochs_must_agree_with_batches(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n4 0\n")
    assert (SEGMENT + ".log", 0, "leader-epoch") in faults(partition)


def test_batches_below_the_first_saved_epoch_are_not_faults(partition: Path) -> None:
    """DeleteRecords removes the epochs below the log start offset; segments below it stay for a while."""
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n4 3\n")
    assert (SEGMENT + ".log", 0, "leader-epoch") not in faults(partition)


def test_batch_below_the_first_saved_epoch_with_a_later_epoch_is_a_fault(partition: Path) -> None:
    log = partition / (SEGMENT + ".log")
    data = bytearray(log.read_bytes())
    data[12:16] = (9).to_bytes(4, "big")  # not covered by the checksum
    log.write_bytes(data)
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n4 3\n")
    assert (SEGMENT + ".log", 0, "leader-epoch") in faults(partition)


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata"])
def test_malformed_file_is_named(partition: Path, name: str) -> None:
    (partition / name).write_bytes(b"garbage")
    assert (name, 0, "format") in faults(partition)


def test_topic_id_of_zeros_is_a_fault(partition: Path) -> None:
    (partition / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA")
    assert faults(partition) == [("partition.metadata", None, "topic-id")]


def test_damaged_snapshot_is_named(partition: Path) -> None:
    path = max(partition.glob("*.snapshot"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert faults(partition) == [(path.name, 2, "format")]


def test_snapshot_above_the_end_is_named(partition: Path) -> None:
    shutil.copy(max(partition.glob("*.snapshot")), partition / "00000000000000099999.snapshot")
    assert faults(partition) == [("00000000000000099999.snapshot", None, "range")]


def test_index_without_log_is_a_fault(partition: Path) -> None:
    (partition / "00000000000000099999.index").write_bytes(b"")
    assert faults(partition) == [("00000000000000099999.index", None, "stray")]


def test_missing_index_is_a_fault_unless_the_segment_is_in_use(partition: Path) -> None:
    last = max(partition.glob("*.index"))
    last.unlink()
    assert faults(partition, is_clean=False) == []
    assert faults(partition) == [(last.name, None, "missing")]


def test_leftover_files_are_notes(partition: Path) -> None:
    for suffix in (".deleted", ".cleaned"):
        shutil.copy(partition / f"{SEGMENT}.log", partition / f"{SEGMENT}.log{suffix}")
    found = findings(partition)
    assert [(each.severity.value, each.check) for each in found] == [("note", "leftover")] * 2


def test_swap_file_is_checked(partition: Path) -> None:
    shutil.copy(partition / f"{SEGMENT}.log", partition / f"{SEGMENT}.log.swap")
    os.truncate(partition / f"{SEGMENT}.log.swap", 100)
    assert faults(partition) == [(f"{SEGMENT}.log.swap", 0, "unreadable")]


def test_index_file_is_checked_with_its_log(partition: Path) -> None:
    path = partition / f"{SEGMENT}.index"
    assert checked(path) == []
    path.write_bytes(path.read_bytes()[:8] + b"\0\0\0\x50\0\0\1\1" + path.read_bytes()[16:])
    assert [each.position for each in checked(path)] == [8]
    (partition / f"{SEGMENT}.log").unlink()
    assert [each.check for each in checked(path)] == ["stray"]


def test_small_file_is_parsed(partition: Path) -> None:
    path = partition / "leader-epoch-checkpoint"
    assert checked(path) == []
    path.write_bytes(b"9\n")
    assert [each.check for each in checked(path)] == ["format"]


def test_metadata_snapshot_is_checked(partition: Path) -> None:
    path = partition / "bootstrap.checkpoint"
    shutil.copy(partition / f"{SEGMENT}.log", path)
    assert checked(path) == []
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data + b"x")
    assert [each.check for each in checked(path)] == ["checksum", "unreadable"]


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_logs_that_apache_kafka_has_cleaned_have_no_faults(tmp_path: Path, release: str) -> None:
    starts = {}
    for case in load(release):
        for number, done in enumerate(case.rounds):
            write_files(done.after, tmp_path / f"{case.name}.{number}-0")
            starts[f"{case.name}.{number}", 0] = int(done.answers["start"])
    (tmp_path / "log-start-offset-checkpoint").write_bytes(offsets_bytes(starts))
    found = {topic: faults(tmp_path / f"{topic}-0", is_clean=False) for topic, _ in starts}
    assert {topic: each for topic, each in found.items() if each} == {}
