"""A disk that fails on demand: patches the system calls that change files under one directory.

    with FailingDisk(directory) as disk:
        disk.fail_from(3, errno.ENOSPC)     the fourth change from now fails, and all later ones
        disk.fail_only(3, errno.EIO)        only the fourth change fails
        disk.fail_on("checkpoint")          every change of a file with "checkpoint" in its name fails
        disk.heal()

A failing write first writes half of its data, like a disk that becomes full.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from unittest import mock

from kafkalet.storage import file_system

ENOSPC = errno.ENOSPC
EIO = errno.EIO


class FailingDisk:
    """Counts, and possibly fails, the calls that change files under `directory`, inside the `with` block."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.changes: list[str] = []
        """What has been changed or refused: the call and the file."""
        self._first = self._last = -1
        self._error = ENOSPC
        self._name = ""
        self._patches = [
            mock.patch.object(file_system, "_pwrite", self._half_written(file_system._pwrite)),
            *(mock.patch.object(os, name, self._wrapped(name)) for name in ("mkdir", "replace", "unlink", "utime")),
            *(mock.patch.object(os, name, self._wrapped(name)) for name in ("ftruncate", "fsync", "open")),
        ]

    def __enter__(self) -> Self:
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in reversed(self._patches):
            patch.stop()

    def fail_from(self, change: int, error: int = ENOSPC) -> None:
        """Fail this and all later changes; counting starts at 0 with the next change."""
        self.changes.clear()
        self._first, self._last, self._error = change, 1 << 62, error

    def fail_only(self, change: int, error: int = ENOSPC) -> None:
        """Fail only this change."""
        self.changes.clear()
        self._first, self._last, self._error = change, change, error

    def fail_on(self, name: str, error: int = ENOSPC) -> None:
        """Fail every change of a file that has `name` in its name."""
        self._name, self._error = name, error

    def heal(self) -> None:
        self._first = self._last = -1
        self._name = ""

    def _path_of(self, file: Any) -> str:
        return os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)

    def _fails(self, call: str, file: Any) -> bool:
        path = self._path_of(file)
        if not path.startswith(self.directory):
            return False
        name = os.path.basename(path)
        self.changes.append(f"{call} {name}")
        if self._name and self._name in name and call != "unlink":
            return True
        return self._first <= len(self.changes) - 1 <= self._last

    def _wrapped(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(file: Any, *args: Any, **kwargs: Any) -> Any:
            changes = name != "open" or (bool(args[0] & os.O_CREAT) and not os.path.exists(file))
            if changes and self._fails(name, file):
                raise OSError(self._error, os.strerror(self._error), *(() if isinstance(file, int) else (file,)))
            return real(file, *args, **kwargs)

        return call

    def _half_written(self, real: Callable[..., int]) -> Callable[..., int]:
        def write(descriptor: int, data: bytes, *position: int) -> int:
            if self._fails("write", descriptor):
                real(descriptor, memoryview(data)[: len(data) // 2], *position)
                raise OSError(self._error, os.strerror(self._error))
            return real(descriptor, data, *position)

        return write
