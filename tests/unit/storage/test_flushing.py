"""Tests of flushing segments in a thread."""

import os
import threading
from pathlib import Path

import pytest

from kafkalet.clock import ManualClock
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.file_system import FileSystem
from kafkalet.storage.files import Descriptor, Files
from kafkalet.storage.flushing import MOST_JOBS, Flusher
from kafkalet.storage.segment import file_name

from .place import CONFIG, Place
from .producing import T0, produced

SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment


def job(path: Path) -> list[Descriptor]:
    path.write_bytes(b"x")
    return Files().descriptors([str(path)])


def is_open(descriptor: Descriptor) -> bool:
    try:
        os.fstat(descriptor.number)
    except OSError:
        return False
    return True


def has_thread() -> bool:
    return any(thread.name == "kafkalet-flush" for thread in threading.enumerate())


def test_callbacks_run_on_collect(tmp_path: Path) -> None:
    flusher, done = Flusher(), []

    def then(number: int) -> None:
        done.append((number, threading.current_thread()))

    for number in range(3):
        flusher.submit("a", job(tmp_path / str(number)), lambda error, number=number: then(number))
    flusher.wait()
    assert done == [(number, threading.current_thread()) for number in range(3)]
    flusher.close()


def test_close_waits_for_all_jobs_and_ends_the_thread(tmp_path: Path) -> None:
    flusher, done = Flusher(), []
    flusher.submit("a", job(tmp_path / "a"), done.append)
    flusher.close()
    assert done == [None]
    assert not has_thread()


def test_a_flusher_without_work_has_no_thread() -> None:
    flusher = Flusher()
    flusher.collect()
    assert not has_thread()
    flusher.close()


def test_failure_is_logged_with_its_file_and_descriptors_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    flusher, done = Flusher(), []
    opened = job(tmp_path / "a")
    flusher.submit("t-0", opened, done.append)
    flusher.close()
    assert [(error.strerror, error.filename) for error in done if error is not None] == [
        ("Input/output error", str(tmp_path / "a"))
    ]
    assert not is_open(opened[0])
    assert "cannot flush t-0 to disk" in caplog.text


def test_number_of_pending_jobs_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = submitted = forced = 0
    enough = threading.Event()
    flusher = Flusher()

    def force(descriptor: int) -> None:
        nonlocal most, forced
        enough.wait(10)
        most = max(most, submitted - forced)
        forced += 1

    monkeypatch.setattr(os, "fsync", force)
    for number in range(MOST_JOBS * 3):
        flusher.submit("a", job(tmp_path / str(number % 5)), lambda error: None)
        submitted += 1
        if submitted == MOST_JOBS:
            enough.set()
    flusher.close()
    assert (most, forced) == (MOST_JOBS, 3 * MOST_JOBS)


def test_descriptors_skip_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    opened = Files().descriptors([str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path)])
    assert len(opened) == 2
    for descriptor in opened:
        descriptor.close()


# Flushing by a log


def test_rolled_segment_is_flushed_in_the_background(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL, durable=True)
    place.append(1)
    place.append(2)
    place.directory.environment.flusher.wait()
    assert place.log.recovery_point == 1
    place.directory.close()


class NotedSyncs(FileSystem):
    """Notes the names of the files that are synced, and whether the flusher does it."""

    def __init__(self) -> None:
        self.opened: dict[int, str] = {}
        self.syncs: list[tuple[str, bool]] = []

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        fd = super().open(path, flags, mode)
        self.opened[fd] = os.path.basename(path)
        return fd

    def sync(self, fd: int) -> None:
        self.syncs.append((self.opened[fd], threading.current_thread().name == "kafkalet-flush"))
        super().sync(fd)


def test_snapshot_of_a_rolled_segment_is_flushed_in_the_background(tmp_path: Path) -> None:
    system = NotedSyncs()
    directory = LogDirectory(str(tmp_path), ManualClock(T0), system=system)
    log = directory.get_or_create("t", 0, None, SMALL)
    log.append_as_leader(produced(1, producer_id=7, producer_epoch=0, base_sequence=0), 0)
    log.roll()
    directory.environment.flusher.wait()
    synced = [by_flusher for name, by_flusher in system.syncs if ".snapshot" in name]
    assert synced == [True]
    log.append_as_leader(produced(1, producer_id=7, producer_epoch=0, base_sequence=1), 0)
    log.flush()
    log.roll()  # adds the last entry of the time index, so the segment is flushed again, with the snapshot
    directory.environment.flusher.wait()
    synced = [by_flusher for name, by_flusher in system.syncs if ".snapshot" in name]
    assert synced == [True, True]
    directory.close()


def test_truncated_segment_is_flushed_at_once(tmp_path: Path) -> None:
    system = NotedSyncs()
    directory = LogDirectory(str(tmp_path), ManualClock(T0), system=system)
    log = directory.get_or_create("t", 0, None, CONFIG)
    for number in range(2):
        log.append_as_leader(produced(number), 0)
    log.truncate_to(1)
    assert (file_name(0, ".log"), False) in system.syncs
    directory.close()


def test_indexes_that_recovery_has_rebuilt_are_flushed_before_a_clean_shutdown(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    place.append(1)
    place.log.flush()
    place.directory.checkpoint()  # the recovery point is the end of the log, so that only the indexes are not flushed
    place.crash()
    system = NotedSyncs()
    place.directory.close(discard=True)
    directory = LogDirectory(str(place.path), ManualClock(T0), system=system)
    directory.get_or_create("t", 0, None, CONFIG)
    directory.close()
    assert (file_name(0, ".timeindex"), False) in system.syncs


def test_flush_before_a_truncation_does_not_move_the_recovery_point(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL, durable=True)
    for number in range(4):
        place.append(number)
    place.log.truncate_to(1)
    place.append(9)
    place.directory.environment.flusher.wait()
    assert place.log.recovery_point <= 1
    place.append(9)
    place.directory.environment.flusher.wait()
    assert place.log.recovery_point == 2
    place.directory.close()


def test_failed_flush_takes_the_log_offline_and_keeps_the_recovery_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "data", SMALL, durable=True)
    place.append(1)
    real, failures = os.fsync, [OSError(5, "Input/output error")]

    def flaky(descriptor: int) -> None:
        if failures and threading.current_thread().name == "kafkalet-flush":
            raise failures.pop()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", flaky)
    place.append(2)
    place.append(3)
    place.directory.environment.flusher.wait()
    assert place.log.recovery_point == 0
    with pytest.raises(StorageFailed, match="Input/output error; t-0 is offline"):
        place.log.flush()
    place.directory.close()
    assert not (place.path / ".kafka_cleanshutdown").exists()
