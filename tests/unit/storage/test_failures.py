"""Tests of logs on a failing disk: each call that changes a file fails, once or permanently, with ENOSPC or EIO.

These must hold: the only exception is StorageFailed; acknowledged records are readable, immediately, after a clean
shutdown and after a crash; the log continues when the disk does, or is offline until the next start; and only an intact
directory is marked as cleanly shut down.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import LOG_INTERVAL_MS, StorageFailed
from kafkalet.storage.values import Isolation, Origin

from .failing_disk import EIO, FailingDisk
from .place import CONFIG, TOPIC_ID, Place, find
from .producing import T0, marker, produced, record

SMALL = CONFIG._replace(segment_bytes=700, index_interval_bytes=100)
OFFLINE = "is offline until the broker restarts"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    with FailingDisk(tmp_path) as disk:
        yield disk


def place_at(path: Path, config: LogConfig = SMALL) -> Place:
    return Place(path / "data", config, durable=True)


def is_marked(place: Place) -> bool:
    return (place.path / ".kafka_cleanshutdown").exists()


class History:
    """Runs operations on a log step by step, and records what was acknowledged."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.acknowledged: dict[int, bytes] = {}
        self.refused: set[bytes] = set()
        self.number = 0
        self.sequence = 0

    def produce(self, epoch: int = 0, **fields: object) -> None:
        value = b"value %d " % self.number + b"x" * 60
        self.number += 1
        self.refused.add(value)
        appended = self.place.log.append_as_leader(produced(record(T0 + self.number, value=value), **fields), epoch)
        self.refused.remove(value)
        self.acknowledged[appended.first_offset] = value

    def produce_in_transaction(self, epoch: int = 0) -> None:
        self.produce(epoch, producer_id=7, producer_epoch=0, base_sequence=self.sequence, transactional=True)
        self.sequence += 1

    def end_transaction(self, *, commit: bool, epoch: int) -> None:
        data = bytearray(marker(0, 7, commit=commit).view())
        self.place.log.append_as_leader(data, epoch, Origin.COORDINATOR)

    def steps(self) -> list[Callable[[], object]]:
        place = self.place

        def checkpoint() -> None:
            with suppress(OSError):
                place.directory.checkpoint()

        return [
            *[self.produce] * 3,
            self.produce_in_transaction,
            lambda: self.end_transaction(commit=False, epoch=0),
            lambda: self.produce(epoch=1),
            lambda: place.log.maybe_increment_high_watermark(place.log.log_end_offset),
            place.log.flush,
            *[lambda: self.produce(epoch=1)] * 4,
            lambda: self.produce_in_transaction(1),
            lambda: self.end_transaction(commit=True, epoch=1),
            place.directory.environment.flusher.wait,
            checkpoint,
            lambda: self.produce(epoch=2),
        ]

    def run(self) -> None:
        for step in self.steps():
            with suppress(StorageFailed):
                step()

    def values(self) -> dict[int, bytes]:
        log = self.place.log
        found = {}
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            read = log.read(offset, 1 << 20, Isolation.LOG_END, True).records
            for batch in batches(read if isinstance(read, bytes) else read.read()):
                if not batch.is_control:
                    found |= {entry.offset: bytes(entry.value or b"") for entry in batch.records()}
                offset = batch.next_offset
        return found

    def producers(self) -> list[object]:
        active = self.place.log.producers.active()
        return [(one.producer_id, one.producer_epoch, one.last_sequence, one.open_since) for one in active]

    def check(self, *, with_refused: bool) -> None:
        """Check that all acknowledged records exist, and refused ones only if the log went offline after writing
        them."""
        found = self.values()
        assert {offset: found.get(offset) for offset in self.acknowledged} == self.acknowledged
        if not with_refused:
            assert not self.refused & set(found.values())


def count_changes(tmp_path: Path) -> list[str]:
    place = place_at(tmp_path / "counted")
    with FailingDisk(tmp_path) as disk:
        History(place).run()
        changes = list(disk.changes)
    place.directory.close()
    return changes


@pytest.mark.slow
@pytest.mark.parametrize("how_long", ["once", "for good"])
def test_failing_change_loses_no_acknowledged_records(tmp_path: Path, how_long: str) -> None:
    (tmp_path / "counted").mkdir()
    changes = count_changes(tmp_path)
    assert {change.split()[0] for change in changes} >= {"write", "replace", "fsync", "open"}
    for number in range(len(changes)):
        lives_through(tmp_path / f"{number}", number, how_long)


def lives_through(path: Path, number: int, how_long: str) -> None:
    path.mkdir()
    place = place_at(path)
    history = History(place)
    with FailingDisk(path) as disk:
        (disk.fail_only if how_long == "once" else disk.fail_from)(number)
        history.run()
        disk.heal()
        place.directory.environment.flusher.wait()
        is_offline = place.log.failures.offline is not None
        if is_offline:
            with pytest.raises(StorageFailed, match=OFFLINE):
                history.produce()
        else:
            history.produce(epoch=2)
            history.check(with_refused=False)
    shutil.copytree(place.path, path / "killed")
    expected = history.values()
    producers = history.producers()
    place.directory.close()
    assert is_marked(place) is not is_offline, disk.changes[number]
    for left in (place.path, path / "killed"):
        place.path = left
        place.open()
        history.check(with_refused=is_offline)
        if not is_offline:
            assert history.values() == expected
            assert history.producers() == producers
        place.log.append_as_leader(produced(1), 2)
        place.directory.close()
        assert is_marked(place)
    shutil.rmtree(path)


def test_shutdown_on_a_full_disk_keeps_all_records_and_is_not_clean(tmp_path: Path) -> None:
    for number in range(12):
        place = place_at(tmp_path / str(number))
        history = History(place)
        history.run()
        expected = history.values()
        with FailingDisk(tmp_path) as disk:
            disk.fail_from(number)
            place.directory.close()
            failed = len(disk.changes) > number
        assert is_marked(place) is not failed
        place.open()
        assert history.values() == expected
        place.directory.close()


def test_append_to_a_full_disk_is_undone(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1)
    size = place.log.size_bytes
    disk.fail_only(0)
    with pytest.raises(StorageFailed, match=r"00000000000000000000\.log: No space left on device"):
        place.append(2)
    assert os.path.getsize(place.file("00000000000000000000.log")) == size
    assert place.append(3).first_offset == 1
    place.directory.close()


def test_remains_of_a_failed_append_are_truncated_before_the_next_append(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1)
    size = place.log.size_bytes
    disk.fail_from(0)
    with pytest.raises(StorageFailed):
        place.append(record(T0, value="x" * 200))
    assert os.path.getsize(place.file("00000000000000000000.log")) > size
    disk.heal()
    place.append(3)
    assert os.path.getsize(place.file("00000000000000000000.log")) == place.log.size_bytes == 2 * size
    assert place.offsets() == [0, 1]
    place.directory.close()


def test_directory_with_remains_of_a_failed_append_is_not_marked_as_clean(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1)
    disk.fail_from(0)
    with pytest.raises(StorageFailed):
        place.append(2)
    place.directory.close()
    assert not is_marked(place)
    disk.heal()
    place.open()
    assert place.offsets() == [0]
    place.directory.close()


def test_failed_append_in_a_new_epoch_leaves_the_epochs_unchanged(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1)
    disk.fail_from(0)
    with pytest.raises(StorageFailed, match="leader-epoch-checkpoint"):
        place.log.append_as_leader(produced(2), 5)
    assert place.log.epochs.entries == ((0, 0),)
    disk.heal()
    place.log.append_as_leader(produced(2), 5)
    assert place.log.epochs.entries == ((0, 0), (5, 1))
    place.directory.close()


def test_transaction_index_entry_that_cannot_be_written_is_written_later(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    disk.fail_only(1)  # the marker is written, its index entry is not
    place.end_transaction(7, commit=False)
    assert disk.changes[1].startswith("open 00000000000000000000.txnindex")
    assert len(place.read(0, Isolation.LAST_STABLE).aborted or []) == 1
    place.reopen()
    assert len(place.read(0, Isolation.LAST_STABLE).aborted or []) == 1
    place.directory.close()


def test_failed_snapshot_is_logged_and_producers_are_rebuilt_from_the_log(
    tmp_path: Path, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    place = place_at(tmp_path)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    place.directory.checkpoint()
    disk.fail_on(".snapshot")
    place.crash()
    assert "No space left on device; no snapshot taken" in caplog.text
    disk.heal()
    assert place.append(1, producer_id=7, producer_epoch=0, base_sequence=0).first_offset == 0
    assert place.offsets() == [0]
    place.directory.close()


def test_index_that_a_recovery_cannot_write_is_kept_in_memory(
    tmp_path: Path, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    place = place_at(tmp_path)
    for number in range(20):
        place.append(number)
    expected = place.offsets()
    left = tmp_path / "left"
    shutil.copytree(place.path, left)
    place.directory.close(discard=True)
    place.path = left
    disk.fail_on("index")
    place.open()
    assert "No space left on device; the index stays in memory until it can be written" in caplog.text
    assert place.offsets() == expected
    assert find(place.log, T0 + 7) == (T0 + 7, 7, 0)
    disk.heal()
    place.reopen()
    assert place.offsets() == expected
    place.directory.close()


def test_log_whose_flush_fails_is_offline_until_the_next_start(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path, SMALL._replace(flush_messages=1))
    place.append(1)
    disk.fail_only(1, EIO)
    with pytest.raises(StorageFailed, match=f"Input/output error; t-0 {OFFLINE}"):
        place.append(2)
    for refused in (
        lambda: place.append(3),
        lambda: place.log.roll(),
        lambda: place.log.truncate_to(0),
        lambda: place.log.apply_retention(),
    ):
        with pytest.raises(StorageFailed, match=OFFLINE):
            refused()
    place.reopen()
    assert place.offsets() in ([0], [0, 1])
    place.append(4)
    place.directory.close()


def test_failed_creation_of_a_log_leaves_nothing(tmp_path: Path, disk: FailingDisk) -> None:
    directory = LogDirectory(str(tmp_path / "data"), ManualClock())
    disk.fail_from(1 << 40)
    directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
    changes = len(disk.changes)
    for number in range(changes):
        disk.fail_from(number)
        with pytest.raises(StorageFailed, match="No space left on device"):
            directory.get_or_create("u", 0, TOPIC_ID, CONFIG)
        disk.heal()
        shutil.rmtree(tmp_path / "data" / "u-0", ignore_errors=True)  # a disk on which deletion fails, too
    disk.fail_only(1)
    with pytest.raises(StorageFailed):
        directory.get_or_create("u", 0, TOPIC_ID, CONFIG)
    assert not (tmp_path / "data" / "u-0").exists()
    directory.get_or_create("u", 0, TOPIC_ID, CONFIG)
    directory.close()


def test_checkpoints_that_cannot_be_written_after_a_truncation_are_deleted(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path, CONFIG)
    for _ in range(3):
        place.append(1)
    place.log.flush()
    place.directory.checkpoint()
    disk.fail_on("recovery-point-offset-checkpoint")
    place.log.truncate_to(1)
    disk.heal()
    assert not (place.path / "recovery-point-offset-checkpoint").exists()
    place.directory.close()


def test_checkpoints_that_were_deleted_after_a_failure_are_written_again(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path, CONFIG)
    for _ in range(4):
        place.append(1)
    place.log.maybe_increment_log_start_offset(1)
    place.log.flush()
    place.directory.checkpoint()
    disk.fail_on("recovery-point-offset-checkpoint")
    place.log.truncate_to(3)
    disk.heal()
    assert place.reopen().log_start_offset == 1
    place.directory.close()


def test_failing_appends_are_logged_once_per_interval(
    tmp_path: Path, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    place = place_at(tmp_path)
    disk.fail_from(0)
    for _ in range(5):
        with pytest.raises(StorageFailed):
            place.append(1)
    assert caplog.text.count("appends continue when the file can be written again") == 1
    place.clock.advance(milliseconds=LOG_INTERVAL_MS)
    with pytest.raises(StorageFailed):
        place.append(1)
    assert caplog.text.count("appends continue when the file can be written again") == 2
    disk.heal()
    place.directory.close()


def test_marker_is_refused_by_a_full_disk_and_accepted_later(tmp_path: Path, disk: FailingDisk) -> None:
    place = place_at(tmp_path)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    disk.fail_only(0)
    with pytest.raises(StorageFailed):
        place.end_transaction(7, commit=True)
    assert place.log.last_stable_offset == 0
    place.end_transaction(7, commit=True)
    assert place.log.last_stable_offset == 2
    place.directory.close()
