"""Tests of a data directory: its lock, its logs, deletion, checkpoints, the clean shutdown."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet.formats import uuid_text
from kafkalet.storage.directory import DirectoryInUse, LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import Files
from kafkalet.storage.identity import IdentityRefused, read_identity
from kafkalet.storage.values import Isolation

from .failing_disk import FailingDisk
from .place import CONFIG, TOPIC_ID, Place, content, four
from .producing import T0, produced

OTHER_ID = bytes(16)[::-1] + b""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[list[LogDirectory]]:
    """Opens directories and closes them at the end of the test."""
    directories: list[LogDirectory] = []
    yield directories
    for directory in directories:
        directory.close()


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path))


# The lock


def test_directory_in_use_is_refused(tmp_path: Path, opened: list[LogDirectory]) -> None:
    opened.append(LogDirectory(str(tmp_path), ManualClock()))
    with pytest.raises(DirectoryInUse, match="in use by another broker"):
        LogDirectory(str(tmp_path), ManualClock())


def test_directory_is_locked_against_other_processes(tmp_path: Path, opened: list[LogDirectory]) -> None:
    opened.append(LogDirectory(str(tmp_path), ManualClock()))
    for call in ("flock", "lockf"):  # kafkalet's lock and Java's lock
        program = f"import fcntl; fcntl.{call}(open({str(tmp_path / '.lock')!r}, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "BlockingIOError" in run.stderr


def test_other_lock_errors_name_the_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="No locks available") as refused:
        LogDirectory(str(tmp_path), ManualClock())
    assert refused.value.filename == str(tmp_path / ".lock")


def test_close_releases_the_lock(tmp_path: Path) -> None:
    for discard in (True, False):
        LogDirectory(str(tmp_path), ManualClock()).close(discard=discard)


# Logs


def test_temporary_log_has_no_files_before_the_first_record(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    assert names(tmp_path / "data") == [".lock"]
    place.append(1)
    assert {"00000000000000000000.log", "partition.metadata"} <= set(place.names())
    assert four(place.reopen()) == (0, 1, 1, 1)


def test_empty_log_exists_after_clean_shutdown(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.directory.close()
    assert {"00000000000000000000.log", "partition.metadata"} <= set(place.names())
    again = LogDirectory(str(place.path), ManualClock())
    assert again.found() == [("t", 0, TOPIC_ID)]
    again.close()


def test_empty_log_can_be_deleted(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.directory.delete("t", 0)
    place.clock.advance(milliseconds=60_000)
    assert names(place.path) == [".lock"]


def test_empty_log_can_be_rolled_and_truncated(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.log.roll()
    place.log.truncate_fully_and_start_at(7)
    assert place.append(1).first_offset == 7
    assert place.offsets() == [7]


def test_durable_log_is_created_on_disk_immediately(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    assert place.names() == ["00000000000000000000.log", "partition.metadata"]
    assert place.file("partition.metadata").read_text() == f"version: 0\ntopic_id: {uuid_text(TOPIC_ID)}"


def test_new_log_is_not_synced_until_it_is_flushed(tmp_path: Path) -> None:
    """The topic is named in kafkalet.json; the files beside the segments are synced together with them."""
    with FailingDisk(tmp_path) as disk:
        place = Place(tmp_path / "data", durable=True)
        place.append(1)
        forced = {change.removeprefix("fsync ") for change in disk.changes if change.startswith("fsync")}
        assert forced == {"meta.properties.tmp", "data"}
        disk.changes.clear()
        place.log.flush()
        forced = {change.removeprefix("fsync ") for change in disk.changes if change.startswith("fsync")}
        assert {"00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata", "t-0"} <= forced
    place.directory.close()


def test_a_log_is_opened_once(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    assert place.directory.get_or_create("t", 0, TOPIC_ID, CONFIG) is place.log
    assert place.directory.logs == {("t", 0): place.log}


def test_existing_logs_are_found(tmp_path: Path, opened: list[LogDirectory]) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.get_or_create("a-b.c", 12, None, CONFIG)
    assert place.directory.found() == []
    place.directory.close()
    again = LogDirectory(str(place.path), ManualClock())
    opened.append(again)
    assert again.found() == [("a-b.c", 12, None), ("t", 0, TOPIC_ID)]
    log = again.get_or_create("t", 0, None, CONFIG)
    assert (log.topic_id, log.log_end_offset) == (TOPIC_ID, 1)
    assert again.found() == [("a-b.c", 12, None)]


def test_directories_that_are_not_logs_are_ignored(tmp_path: Path, opened: list[LogDirectory]) -> None:
    for name in ("lost+found", "x", "x-y", "-1", "a-0.123-future", "a-0.123-stray", "__cluster_metadata-0"):
        (tmp_path / name).mkdir()
    (tmp_path / "file-0").write_text("x")
    opened.append(LogDirectory(str(tmp_path), ManualClock()))
    assert opened[0].found() == []
    assert len(names(tmp_path)) == 10  # beside .lock and meta.properties


def test_log_of_a_recreated_topic_is_renamed_to_stray(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    place.directory = LogDirectory(str(place.path), place.clock)
    log = place.directory.get_or_create("t", 0, bytes(15) + b"x", CONFIG)
    assert four(log) == (0, 0, 0, 0)
    aside = [name for name in names(place.path) if name.endswith("-stray")]
    assert len(aside) == 1
    assert aside[0].startswith("t-0.")
    assert "a deleted topic of the same name" in caplog.text
    place.directory.close()


# Deletion


def test_deleted_log_is_renamed_and_removed_after_the_delay(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    found = place.read(0)
    place.directory.delete("t", 0)
    assert place.directory.logs == {}
    aside = [name for name in names(place.path) if name.endswith("-delete")]
    assert len(aside) == 1
    assert aside[0].startswith("t-0.")
    assert len(content(found)) > 60
    place.clock.advance(milliseconds=60_000)
    assert names(place.path) == [".lock"]
    assert len(content(found)) > 60


def test_deleted_topic_can_be_recreated_immediately(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.delete("t", 0)
    log = place.directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
    assert log.log_end_offset == 0
    log.append_as_leader(produced(1), 0)
    place.clock.advance(milliseconds=60_000)
    assert names(place.path) == [".lock", "t-0"]
    assert log.read(0, 100, Isolation.LOG_END, True).records


def test_pending_segment_deletions_run_before_the_log_is_renamed(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.log.truncate_fully_and_start_at(5)
    place.directory.delete("t", 0)
    place.clock.advance(milliseconds=60_000)
    assert names(place.path) == [".lock"]


def test_the_name_of_a_deleted_log_is_never_too_long(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.directory.get_or_create("x" * 249, 0, None, CONFIG).append_as_leader(produced(1), 0)
    place.directory.delete("x" * 249, 0)
    assert max(map(len, names(place.path))) == 255


def test_pending_deletions_run_at_the_next_start(tmp_path: Path, opened: list[LogDirectory]) -> None:
    (tmp_path / "t-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    (tmp_path / "t-0.0123456789abcdef0123456789abcdef-delete" / "00000000000000000000.log").write_bytes(b"x")
    opened.append(LogDirectory(str(tmp_path), ManualClock()))
    assert "t-0.0123456789abcdef0123456789abcdef-delete" not in names(tmp_path)


def test_deletion_of_a_missing_log_changes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.delete("t", 7)
    assert "t-0" in names(place.path)


def test_log_that_could_not_be_opened_is_deleted_immediately(tmp_path: Path, opened: list[LogDirectory]) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    path = place.file("00000000000000000000.log")
    path.unlink()
    path.mkdir()
    opened.append(LogDirectory(str(place.path), ManualClock()))
    with pytest.raises(StorageFailed, match="Is a directory"):
        opened[0].get_or_create("t", 0, TOPIC_ID, CONFIG)
    opened[0].delete("t", 0)
    assert not [name for name in names(place.path) if name.startswith("t-0")]


def test_topic_id_that_cannot_be_read_is_unknown(
    tmp_path: Path, opened: list[LogDirectory], caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    path = place.file("partition.metadata")
    path.unlink()
    path.mkdir()
    opened.append(LogDirectory(str(place.path), ManualClock()))
    assert list(opened[0].found()) == [("t", 0, None)]
    assert "partition.metadata: Is a directory" in caplog.text


def test_clean_shutdown_finishes_deletions(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.delete("t", 0)
    assert [name for name in names(place.path) if name.endswith("-delete")]
    place.directory.close()
    assert not [name for name in names(place.path) if name.endswith("-delete")]


# Checkpoints and clean shutdown


def test_checkpoints_have_kafkas_format(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1, 2, 3)
    place.append(4, visible=False)
    place.log.maybe_increment_log_start_offset(2)
    place.log.flush()
    place.directory.checkpoint()
    assert (place.path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 4\n"
    assert (place.path / "replication-offset-checkpoint").read_text() == "0\n1\nt 0 3\n"
    assert (place.path / "log-start-offset-checkpoint").read_text() == "0\n1\nt 0 2\n"


def test_log_start_at_the_first_segment_is_not_checkpointed(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.checkpoint()
    assert (place.path / "log-start-offset-checkpoint").read_text() == "0\n0\n"


def test_clean_shutdown_marker_is_written_and_removed_at_the_next_start(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    assert (place.path / ".kafka_cleanshutdown").exists()
    place.open()
    assert not (place.path / ".kafka_cleanshutdown").exists()


def test_discarded_directory_is_not_marked_as_clean(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.log.truncate_fully_and_start_at(9)
    place.directory.close(discard=True)
    assert names(place.path) == [".lock", "t-0"]
    place.clock.advance(milliseconds=10**6)


def test_directory_is_not_marked_clean_until_every_log_is_recovered(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.directory.get_or_create("u", 0, None, CONFIG).append_as_leader(produced(1), 0)
    place.append(1)
    place.crash()
    place.directory.close()
    assert not (place.path / ".kafka_cleanshutdown").exists()
    place.open()
    place.directory.get_or_create("u", 0, None, CONFIG)
    place.directory.close()
    assert (place.path / ".kafka_cleanshutdown").exists()


def test_a_log_that_was_not_opened_keeps_its_checkpoints(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    LogDirectory(str(place.path), ManualClock()).close()
    assert (place.path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 1\n"
    place.open()
    assert four(place.log) == (0, 1, 1, 1)


def test_corrupt_checkpoint_counts_as_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.directory.close()
    (place.path / "replication-offset-checkpoint").write_text("nonsense")
    place.open()
    assert four(place.log) == (0, 0, 0, 1)
    assert "replication-offset-checkpoint has version" in caplog.text


# Identity


def test_durable_directory_gets_meta_properties(tmp_path: Path) -> None:
    directory = LogDirectory(str(tmp_path), ManualClock(), cluster_id="MkU3OEVBNTcwNTJENDM2Qk", node_id=3)
    assert directory.cluster_id == "MkU3OEVBNTcwNTJENDM2Qk"
    directory.close()
    text = (tmp_path / "meta.properties").read_text()
    assert [line.partition("=")[0] for line in text.splitlines()] == [
        "#",
        "node.id",
        "directory.id",
        "version",
        "cluster.id",
    ]
    assert read_identity(Files(), str(tmp_path)) == ("MkU3OEVBNTcwNTJENDM2Qk", 3, directory.directory_id)
    again = LogDirectory(str(tmp_path), ManualClock())
    assert again.cluster_id == "MkU3OEVBNTcwNTJENDM2Qk"
    again.close()


@pytest.mark.parametrize(
    ("of", "reason"), [({"cluster_id": "other"}, "cluster.id"), ({"given_node_id": 9}, "broker 3")]
)
def test_directory_of_another_broker_is_refused_and_unchanged(tmp_path: Path, of: dict[str, Any], reason: str) -> None:
    LogDirectory(str(tmp_path), ManualClock(), node_id=3).close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for _ in range(2):  # the lock has been released
        with pytest.raises(IdentityRefused, match=reason):
            LogDirectory(str(tmp_path), ManualClock(), **of)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_meta_properties_without_cluster_id_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=0\n")
    directory = LogDirectory(str(tmp_path), ManualClock(), cluster_id="mine")
    assert directory.cluster_id == "mine"
    directory.close()
    assert (tmp_path / "meta.properties").read_text() == "version=0\nbroker.id=0\n"


def test_directory_without_cluster_id_gets_a_new_one(tmp_path: Path) -> None:
    directory = LogDirectory(str(tmp_path), ManualClock(T0))
    assert len(directory.cluster_id) == 22
    directory.close()


def test_truncation_rewrites_the_checkpoints(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    place.append(1, 2)
    place.append(3, 4)
    place.log.flush()
    place.log.maybe_increment_log_start_offset(3)
    place.directory.checkpoint()
    place.log.truncate_to(2)
    assert (place.path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 2\n"
    assert (place.path / "log-start-offset-checkpoint").read_text() == "0\n1\nt 0 2\n"
    place.log.truncate_fully_and_start_at(1)
    assert (place.path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 1\n"
    place.directory.close()


def test_recreated_topic_does_not_inherit_checkpoints(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    place.directory.checkpoint()
    place.directory.delete("t", 0)
    log = place.directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
    log.append_as_leader(produced(1), 0)
    place.crash()
    assert place.offsets() == [0]
    place.directory.close()
