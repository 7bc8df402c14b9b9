"""A file system on which everything below one directory fails with an I/O error while it is broken."""

import errno
import os
from pathlib import Path

from kafkalet.storage.file_system import Buffer, FileSystem


class BrokenDisk(FileSystem):
    """The disk at `path`, which works until `breaks` is called. Even then, descriptors can be closed."""

    def __init__(self, path: Path, error: int = errno.EIO) -> None:
        self.path = os.path.join(path, "")
        self.error = error
        self.is_broken = False
        self._paths: dict[int, str] = {}

    def _use(self, path: str) -> None:
        if self.is_broken and os.path.join(path, "").startswith(self.path):
            raise OSError(self.error, os.strerror(self.error), path)

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        self._use(path)
        fd = super().open(path, flags, mode)
        self._paths[fd] = path
        return fd

    def read(self, fd: int, length: int, position: int) -> bytes:
        self._use(self._paths[fd])
        return super().read(fd, length, position)

    def write(self, fd: int, data: Buffer, position: int) -> int:
        self._use(self._paths[fd])
        return super().write(fd, data, position)

    def truncate(self, fd: int, size: int) -> None:
        self._use(self._paths[fd])
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        self._use(self._paths[fd])
        super().sync(fd)

    def rename(self, old: str, new: str) -> None:
        self._use(old)
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self._use(path)
        super().unlink(path)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        self._use(path)
        super().make_directory(path, mode)

    def names(self, directory: str) -> list[str]:
        self._use(directory)
        return super().names(directory)
