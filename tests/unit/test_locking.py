"""Tests of the lock on a file, on this system and with a stand-in for the module of Windows."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kafkalet.locking import lock
from kafkalet.storage.directory import DirectoryInUse, lock_directory

Opener = Callable[[], int]


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    opened = []

    def new() -> int:
        opened.append(os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT))
        return opened[-1]

    yield new
    for descriptor in opened:
        os.close(descriptor)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `lock` call a stand-in for msvcrt, which locks whole files and never unlocks them."""
    held: set[int] = set()

    class Msvcrt(ModuleType):
        LK_NBLCK = 2

        @staticmethod
        def locking(descriptor: int, mode: int, count: int) -> None:
            assert (mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)) == (2, 1, 0)
            file = os.fstat(descriptor).st_ino
            if file in held:
                raise PermissionError(errno.EACCES, "Permission denied")
            held.add(file)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt("msvcrt"))


def test_locked_file_is_refused(opener: Opener) -> None:
    lock(opener())
    for shared in (False, True):
        with pytest.raises(BlockingIOError):
            lock(opener(), shared=shared)


def test_shared_locks_exclude_only_others(opener: Opener) -> None:
    lock(opener(), shared=True)
    lock(opener(), shared=True)
    with pytest.raises(BlockingIOError):
        lock(opener())


@pytest.mark.usefixtures("windows")
def test_locked_file_is_refused_on_windows(opener: Opener) -> None:
    lock(opener())
    with pytest.raises(PermissionError):
        lock(opener())


@pytest.mark.usefixtures("windows")
def test_directory_in_use_is_refused_on_windows(tmp_path: Path) -> None:
    os.close(lock_directory(str(tmp_path)))
    with pytest.raises(DirectoryInUse):
        lock_directory(str(tmp_path))
