"""The contents of the simulated disk after a crash."""

import random
from pathlib import Path

from kafkalet.storage.file_system import READ_AND_WRITE
from kafkalet.storage.files import replace_file

from .disk import Crash, RecordingDisk


def _states(disk: RecordingDisk, *, power: bool, at: int | None = None) -> set[tuple[tuple[str, bytes | None], ...]]:
    """Return many of the states that the disk may have after a crash."""
    calls = len(disk.record.calls) if at is None else at
    return {
        tuple(
            sorted(
                (path, data) for path, data, _ in Crash(disk.record, calls, power=power, chance=random.Random(n)).tree()
            )
        )
        for n in range(1000)
    }


def _write(disk: RecordingDisk, path: Path, data: bytes, *, sync: bool = False) -> None:
    fd = disk.open(str(path), READ_AND_WRITE)
    disk.write(fd, data, 0)
    if sync:
        disk.sync(fd)
    disk.close(fd)


def _sync(disk: RecordingDisk, path: Path) -> None:
    fd = disk.open(str(path), 0)
    disk.sync(fd)
    disk.close(fd)


def test_killed_process_leaves_everything_that_was_written(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"one")
    assert _states(disk, power=False) == {(("a", b"one"),)}


def test_killed_process_may_leave_a_part_of_the_last_write(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"one")
    assert _states(disk, power=False, at=1) == {(("a", b"one"[:size]),) for size in range(4)}


def test_file_whose_directory_was_not_synced_may_be_lost(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"one", sync=True)
    assert _states(disk, power=True) == {(), (("a", b"one"),)}


def test_synced_file_in_a_synced_directory_survives(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"one", sync=True)
    _sync(disk, tmp_path)
    assert _states(disk, power=True) == {(("a", b"one"),)}


def test_unsynced_write_may_be_lost_torn_or_zeros(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"one")
    _sync(disk, tmp_path)
    found = {dict(state)["a"] for state in _states(disk, power=True)}
    assert found == {b"", b"o", b"on", b"one", bytes(3)}


def test_large_write_is_torn_at_sectors(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    _write(disk, tmp_path / "a", b"x" * 1024)
    _sync(disk, tmp_path)
    assert bytes(512) + b"x" * 512 in {dict(state)["a"] for state in _states(disk, power=True)}


def test_atomic_replacement_leaves_the_old_or_the_new_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    disk = RecordingDisk(tmp_path)
    replace_file(str(tmp_path / "a"), b"new", durable=True, system=disk)
    for at in range(len(disk.record.calls) + 1):
        assert {dict(state)["a"] for state in _states(disk, power=True, at=at)} <= {b"old", b"new"}
    assert _states(disk, power=True) == {(("a", b"new"),)}


def test_contents_of_a_removed_directory_are_removed_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in "ab":
        (tmp_path / "d" / name).write_bytes(b"1")
    disk = RecordingDisk(tmp_path)
    disk.remove_tree(str(tmp_path / "d"))
    assert _states(disk, power=False, at=1) >= {(("d", None), ("d/b", b"1"))}
    assert _states(disk, power=False) == {()}
