"""The calls of the operating system that work on files. Everything in the data directories goes through them.

`DISK` makes these calls. A subclass can observe, fail or redirect them, for example to simulate crashes
and broken disks.

Descriptors are those of the operating system, so that sendfile can use them. Every OSError has a `filename` if the call
has a path; files.py adds it for calls on descriptors.
"""

import os
import shutil

from kafkalet.locking import lock

Buffer = bytes | bytearray | memoryview

_BINARY = getattr(os, "O_BINARY", 0)  # without it, Windows translates line endings
READ = os.O_RDONLY | _BINARY | getattr(os, "O_CLOEXEC", 0)
READ_AND_WRITE = READ | os.O_RDWR | os.O_CREAT


def _seek_and_read(fd: int, length: int, position: int) -> bytes:
    os.lseek(fd, position, os.SEEK_SET)
    return os.read(fd, length)


def _seek_and_write(fd: int, data: Buffer, position: int) -> int:
    os.lseek(fd, position, os.SEEK_SET)
    return os.write(fd, data)


# Windows has neither pread nor pwrite. Each descriptor is used by only one thread, so seeking first is safe.
_pread = getattr(os, "pread", _seek_and_read)
_pwrite = getattr(os, "pwrite", _seek_and_write)


class FileSystem:
    """The operating system's file system."""

    # Descriptors

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        return os.open(path, flags, mode)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: int, length: int, position: int) -> bytes:
        """Read up to `length` bytes at `position`; no bytes at the end of the file."""
        data: bytes = _pread(fd, length, position)
        return data

    def read_fully(self, fd: int, length: int, position: int) -> bytes:
        """Read `length` bytes at `position`, or fewer if the file ends before that."""
        data = self.read(fd, length, position)
        if len(data) == length or not data:
            return data
        pieces = [data]
        while data and (length := length - len(data)):  # Linux reads at most 2 GiB per call
            position += len(data)
            data = self.read(fd, length, position)
            pieces.append(data)
        return b"".join(pieces)

    def write(self, fd: int, data: Buffer, position: int) -> int:
        """Write at `position`. Return the number of bytes written. It may be smaller than the size of the data."""
        written: int = _pwrite(fd, data, position)
        return written

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def sync(self, fd: int) -> None:
        """Flush a file or a directory to disk."""
        os.fsync(fd)

    def can_append(self, path: str) -> bool:
        """Return whether an existing file may become longer. If not, a log begins a new segment."""
        return True

    def lock(self, path: str) -> int:
        """Lock a file, which is created if it does not exist. Return its descriptor; closing it releases the lock.

        Raises OSError: EACCES or EAGAIN if it is locked.
        """
        fd = self.open(path, READ_AND_WRITE)
        try:
            lock(fd)
        except OSError:
            self.close(fd)
            raise
        return fd

    # Paths

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory. A file at the new path is replaced."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        os.mkdir(path, mode)

    def remove_tree(self, path: str) -> None:
        """Delete a directory with its contents, as far as possible. Errors are ignored."""
        shutil.rmtree(path, ignore_errors=True)

    def names(self, directory: str) -> list[str]:
        """Return the names of the files and directories in a directory, in no particular order."""
        return os.listdir(directory)

    def status(self, path: str) -> os.stat_result:
        return os.stat(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Set the times of a file, in milliseconds since the epoch."""
        os.utime(path, ns=(modified_ms * 1_000_000,) * 2)


DISK = FileSystem()
