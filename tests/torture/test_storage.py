"""Single crashes, each of which once broke a log."""

import random
from pathlib import Path

import pytest

from kafkalet import formats
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from tests.unit.storage.place import CONFIG, TOPIC_ID
from tests.unit.storage.producing import T0, produced

from .disk import Crash, RecordingDisk
from .workload import open_directory

FLUSHED = CONFIG._replace(flush_messages=1)
SMALL = CONFIG._replace(segment_bytes=100, index_interval_bytes=0)


class Scene:
    """A directory with the log t-0 on a simulated disk."""

    def __init__(self, root: Path, config: LogConfig = CONFIG) -> None:
        self.root = root
        self.config = config
        self.path = root / "0"
        self.path.mkdir(parents=True)
        self.lives = 0
        self.open()

    def open(self) -> None:
        self.disk = RecordingDisk(self.path)
        self.directory: LogDirectory = open_directory(self.path, ManualClock(T0), self.disk)
        self.log: Log = self.directory.get_or_create("t", 0, TOPIC_ID, self.config)

    @property
    def calls(self) -> int:
        return len(self.disk.record.calls)

    def append(self, count: int = 1, *, epoch: int = 0, times: tuple[int, ...] = (0,)) -> None:
        for _ in range(count):
            self.log.append_as_leader(produced(*times), epoch)
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    def crash(self, at: int | None = None, *, power: bool = True) -> Path:
        """Return the directory as it is after a crash. In a loss of power, everything that was not synced is lost."""
        self.lives += 1
        path = self.root / str(self.lives)
        calls = self.calls if at is None else at
        Crash(self.disk.record, calls, power=power, chance=random.Random(at), kept=0.0).write_to(path)
        return path

    def reopen(self, at: int | None = None, *, power: bool = True) -> Log:
        self.path = self.crash(at, power=power)
        self.directory.close(discard=True)
        self.open()
        return self.log


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def offsets(log: Log) -> list[int]:
    """Return the base offsets of all batches."""
    return [head.base_offset for segment in log.segments for _, head in segment.heads()]


def test_flushed_records_of_a_new_log_survive_the_loss_of_power(scene: Scene) -> None:
    scene.append()
    scene.log.flush()
    assert scene.reopen().log_end_offset == 1


def test_deleted_log_does_not_come_back_after_the_loss_of_power(scene: Scene) -> None:
    scene.append()
    scene.log.flush()
    scene.directory.delete("t", 0)
    scene.directory.sync_deletions()
    assert not (scene.crash() / "t-0").exists()


def test_marker_of_a_clean_shutdown_does_not_come_back_after_the_loss_of_power(scene: Scene) -> None:
    scene.directory.close()
    scene.open()
    assert not (scene.crash() / formats.CLEAN_SHUTDOWN).exists()


def test_cleanly_closed_log_has_its_time_index_after_the_loss_of_power(scene: Scene) -> None:
    scene.append(times=(0, 7))
    scene.directory.close()
    scene.path = scene.crash()
    assert (scene.path / formats.CLEAN_SHUTDOWN).exists()
    scene.open()
    assert scene.log.segments.first.largest.timestamp == T0 + 7


def test_recovery_point_does_not_pass_a_closed_segment_before_its_time_index_is_on_disk(tmp_path: Path) -> None:
    scene = Scene(tmp_path, FLUSHED)
    scene.append(times=(0, 7))
    assert scene.log.recovery_point == 2
    scene.log.roll()
    scene.append()
    scene.directory.checkpoint()
    assert scene.reopen().segments.first.largest.timestamp == T0 + 7


def test_time_index_of_the_segment_that_ends_at_the_recovery_point_is_completed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, FLUSHED)
    scene.append(times=(0, 7))
    scene.directory.checkpoint()
    scene.log.roll()
    scene.append()
    assert scene.reopen().segments.first.largest.timestamp == T0 + 7


def test_truncated_records_do_not_come_back_after_the_loss_of_power(scene: Scene) -> None:
    scene.append(3)
    scene.log.flush()
    scene.log.truncate_to(1)
    assert scene.reopen().log_end_offset == 1


def test_segments_that_were_truncated_do_not_come_back_after_the_loss_of_power(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SMALL)
    scene.append(4)
    scene.log.flush()
    scene.log.truncate_to(1)
    assert scene.reopen().segments.base_offsets == [0, 1]


def test_interrupted_truncation_leaves_no_gap(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SMALL)
    scene.append(5)
    first = scene.calls
    scene.log.truncate_to(1)
    for at in range(first, scene.calls + 1):
        found = offsets(_again(scene, tmp_path / f"again-{at}", at).log)
        assert found == list(range(len(found)))


def _again(scene: Scene, root: Path, at: int) -> Scene:
    """Return another scene with the disk of `scene` after the process ended before call `at`."""
    other = Scene(root, scene.config)
    other.path = root / "crashed"
    Crash(scene.disk.record, at, power=False, chance=random.Random(at)).write_to(other.path)
    other.open()
    return other


def test_full_truncation_to_an_offset_within_a_segment_leaves_no_overlap(scene: Scene, tmp_path: Path) -> None:
    scene.append(3)
    first = scene.calls
    scene.log.truncate_fully_and_start_at(1)
    for at in range(first, scene.calls + 1):
        log = _again(scene, tmp_path / f"again-{at}", at).log
        assert not offsets(log) or log.log_end_offset == 3


def test_interrupted_recovery_leaves_no_gap(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SMALL)
    scene.append(5)
    scene.path = scene.crash(power=False)
    path = scene.path / "t-0" / f"{1:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    scene.open()
    assert offsets(scene.log) == [0]
    for at in range(scene.calls + 1):
        assert offsets(_again(scene, tmp_path / f"again-{at}", at).log) == [0]


def test_segments_deleted_by_recovery_do_not_come_back_after_the_loss_of_power(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SMALL)
    scene.append(5)
    scene.path = scene.crash(power=False)
    path = scene.path / "t-0" / f"{1:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    scene.open()
    assert offsets(scene.reopen()) == [0]


def test_epochs_of_deleted_records_are_restored_if_the_deletion_is_lost(scene: Scene) -> None:
    scene.append(2, epoch=3)
    scene.append(2, epoch=4)
    scene.directory.checkpoint()
    scene.log.maybe_increment_log_start_offset(3)
    scene.log.flush()
    log = scene.reopen(power=False)
    assert log.log_start_offset == 0
    assert [(entry.epoch, entry.start_offset) for entry in log.epochs.entries] == [(3, 0), (4, 2)]


def test_log_start_offset_is_saved_before_the_recovery_point(scene: Scene) -> None:
    scene.append(3)
    scene.log.maybe_increment_log_start_offset(2)
    assert scene.log.recovery_point == 2
    scene.directory.write_recovery_points()
    assert b"t 0 0" in _contents(scene.crash() / formats.RECOVERY_POINTS)
    first = scene.calls
    scene.directory.checkpoint()
    for at in range(first, scene.calls + 1):
        path = scene.crash(at)
        if b"t 0 2" in _contents(path / formats.RECOVERY_POINTS):
            assert b"t 0 2" in _contents(path / formats.LOG_START_OFFSETS)
    assert b"t 0 2" in _contents(scene.crash() / formats.RECOVERY_POINTS)


def _contents(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def test_temporary_files_of_interrupted_replacements_are_deleted(scene: Scene) -> None:
    scene.append()
    path = scene.crash(power=False)
    (path / "t-0" / "leader-epoch-checkpoint.tmp").write_bytes(b"0")
    (path / "t-0" / f"{1:020d}.snapshot.tmp").write_bytes(b"0")
    scene.path = path
    scene.open()
    assert not list((path / "t-0").glob("*.tmp"))


def test_snapshots_of_a_fully_truncated_log_do_not_come_back_after_the_loss_of_power(scene: Scene) -> None:
    data = produced(0, producer_id=7, producer_epoch=0, base_sequence=0)
    assert Batch(data).has_producer_id
    scene.log.append_as_leader(data, 0)
    scene.log.roll()
    scene.log.flush()
    scene.log.truncate_fully_and_start_at(1)
    scene.append()
    assert scene.reopen().producer(7) is None


def test_snapshots_below_the_first_segment_are_not_used_by_recovery(scene: Scene) -> None:
    data = produced(0, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    scene.log.append_as_leader(data, 0)
    scene.log.roll()
    scene.append()
    scene.log.roll()
    scene.append()
    path = scene.crash(power=False) / "t-0"
    for base in (0, 1):
        for suffix in ("log", "index", "timeindex"):
            (path / f"{base:020d}.{suffix}").unlink()
    (path / f"{2:020d}.snapshot").write_bytes(b"")
    scene.path = path.parent
    scene.open()
    assert scene.log.log_start_offset == 2
    assert scene.log.producers.first_unstable is None
