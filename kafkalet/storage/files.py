"""The files of a broker. With file_system.py, whose calls it makes, this is the only module that opens files.

A broker may have hundreds of logs with thousands of segments, and a process may run many brokers. A `File` is therefore
not a descriptor but a path that gets one of a limited number of descriptors when it is used. Reads and writes specify
their position (pread, pwrite), so nothing is lost if the descriptor is closed and opened again in between.

A `FileRange` is a part of a file that a fetch sends with sendfile. It stays readable if the file is renamed or removed
before it is sent: a removed file keeps its descriptor, outside the limit, until its last range is gone.

This module decides whether writes are synced to disk: a broker with a temporary directory never syncs. Such a broker
also creates files and log directories only when there is something to write, because few of the fifty partitions of the
offsets topic are ever used.

Every OSError raised by this module has a `filename`; `explain` formats it as one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

from .file_system import DISK, READ, READ_AND_WRITE, Buffer, FileSystem

__all__ = ["Buffer", "Descriptor", "File", "FileRange", "Files", "explain", "make_directories", "replace_file"]

T = TypeVar("T")

DEFAULT_MAX_OPEN = 256


COPY_BYTES = 1 << 20


class File:
    """A file, identified by its path. It is opened when it is used, and created if it does not exist."""

    __slots__ = ("_fd", "_pool", "_removed", "_used", "path")

    def __init__(self, pool: Files, path: str) -> None:
        self.path = path
        self._pool = pool
        self._fd = -1
        self._used = False
        self._removed = False

    def create(self) -> None:
        """Create an empty file if it does not exist; no descriptor is kept. Without durability this is a no-op."""
        system = self._pool.system
        if self._pool.durable:
            system.close(system.open(self.path, READ_AND_WRITE))

    def exists(self) -> bool:
        return self._pool.system.exists(self.path)

    def fileno(self) -> int:
        """Return a descriptor that is valid until the next use of any file in this pool."""
        if self._fd < 0:
            if self._removed:
                raise FileNotFoundError(errno.ENOENT, "was removed", self.path)
            self._fd = self._pool.admit(self)
        self._used = True
        return self._fd

    def read(self, length: int, position: int) -> bytes:
        """Read `length` bytes at `position`, or fewer if the file ends before that."""
        try:
            return self._pool.system.read_fully(self.fileno(), length, position)
        except OSError as error:
            if not self._removed:
                self.report(_of(self.path, error))
            raise _of(self.path, error) from None

    def write(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`. On failure, part of it may have been written."""
        fd, write = self.fileno(), self._pool.system.write
        try:
            written = write(fd, data, position)
            while written < len(data):
                data = memoryview(data)[written:]
                position += written
                written = write(fd, data, position)
        except OSError as error:
            raise _of(self.path, error) from None

    def truncate(self, size: int) -> None:
        with _with_path(self.path):
            self._pool.system.truncate(self.fileno(), size)

    def size(self) -> int:
        with _with_path(self.path):
            return self._pool.system.size(self.fileno())

    def rename(self, path: str) -> None:
        """Rename the file, replacing an existing one. If the file does not exist yet, only its path changes."""
        if os.name == "nt":
            self.close()  # Windows cannot rename an open file
        with contextlib.suppress(FileNotFoundError):
            self._pool.system.rename(self.path, path)
        self.path = path

    def moved(self, path: str) -> None:
        """Change the path after the directory was renamed."""
        self.path = path

    def remove(self) -> None:
        """Delete the file if it exists. Its ranges stay readable until they are dropped (except on Windows)."""
        if self._removed:
            return
        if os.name == "nt":
            self.close()
        self._pool.dismiss(self)
        self._removed = True
        with contextlib.suppress(FileNotFoundError):
            if self._fd < 0 and os.name != "nt":
                self._fd = self._pool.system.open(self.path, READ)
            self._pool.system.unlink(self.path)

    def report(self, error: OSError) -> None:
        """Report a failure of this file. Only needed if its owner continues."""
        self._pool.on_failure(error)

    def close(self) -> None:
        """Close the descriptor; the next use opens the file again."""
        if self._fd >= 0 and not self._removed:
            self._pool.dismiss(self)
            self.release()

    def release(self) -> None:
        """Close the descriptor, without telling the pool."""
        self._pool.system.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        if self._fd >= 0:
            self.release()


class FileRange:
    """A part of a file, to be sent or read later. Like the bytes that it stands for, it has a length."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.read(self.length, self.position)

    def fileno(self) -> int:
        """Return a descriptor for sendfile, valid until the next use of any file."""
        return self.file.fileno()

    def slice(self, start: int, length: int) -> FileRange:
        """Return part of this range; the result does not extend past its end."""
        start = min(start, self.length)
        return FileRange(self.file, self.position + start, min(length, self.length - start))

    def __repr__(self) -> str:
        return f"FileRange({self.file.path}, position={self.position}, length={self.length})"


class Files:
    """The files of one broker, at most `max_open` of which have a descriptor at a time."""

    __slots__ = ("_open", "durable", "max_open", "on_failure", "system")

    def __init__(
        self,
        *,
        durable: bool = True,
        max_open: int = DEFAULT_MAX_OPEN,
        system: FileSystem = DISK,
        on_failure: Callable[[OSError], None] = lambda error: None,
    ) -> None:
        self.durable = durable
        """Whether writes are synced to disk. False for a temporary directory, which no broker reads after a crash."""
        self.max_open = max_open
        self.system = system
        self.on_failure = on_failure
        """Called when a file cannot be read, and by the owners of files when one cannot be written."""
        self._open: dict[File, None] = {}

    def file(self, path: str) -> File:
        """Return the file at `path`. It need not exist and is not opened yet."""
        return File(self, path)

    def admit(self, file: File) -> int:
        """Open `file`. At the limit, first close a file that has not been used recently (second-chance algorithm)."""
        while len(self._open) >= self.max_open:
            oldest = next(iter(self._open))
            del self._open[oldest]
            if oldest._used:
                oldest._used = False
                self._open[oldest] = None
            else:
                oldest.release()
        try:
            fd = self.system.open(file.path, READ_AND_WRITE)
        except OSError as error:
            if error.errno == errno.EMFILE and self._open:
                self.close()  # the process has more sockets than expected; close some files to free descriptors
            elif error.errno != errno.ENOENT or not self._make_directory(file.path):
                raise
            fd = self.system.open(file.path, READ_AND_WRITE)
        self._open[file] = None
        return fd

    def _make_directory(self, path: str) -> bool:
        """Create the directory of a file if this pool is not durable. Return whether it exists now.

        Only the last directory of the path is created: if its parent is missing, it was removed on purpose.
        """
        if self.durable:
            return False
        with contextlib.suppress(OSError):
            self.system.make_directory(os.path.dirname(path))
        return self.system.is_directory(os.path.dirname(path))

    def dismiss(self, file: File) -> None:
        """Stop counting `file` as open."""
        self._open.pop(file, None)

    def close(self) -> None:
        """Close all descriptors; files are opened again on use."""
        for file in list(self._open):
            file.close()

    def _with_descriptors(self, call: Callable[[], T]) -> T:
        """Call a function that opens files. If the process has too many open files, first close those of this pool.

        Without this, a process with many connections would lose its log directory.
        """
        try:
            return call()
        except OSError as error:
            if error.errno != errno.EMFILE or not self._open:
                raise
        self.close()
        return call()

    def replace(self, path: str, data: Buffer, *, force: bool = True) -> None:
        """Atomically replace the contents of the file at `path` with `data`.

        Without `force`, the replacement is atomic if the process crashes, but not if the machine does.
        """
        replace = partial(replace_file, path, data, durable=self.durable and force, system=self.system)
        try:
            self._with_descriptors(replace)
        except FileNotFoundError:
            if not self._make_directory(path):
                raise
            self._with_descriptors(replace)

    def copy(self, source: str, target: str) -> None:
        """Copy a file. The copy is flushed to disk if this pool is durable."""
        system = self.system
        old = system.open(source, READ)
        try:
            new = system.open(target, READ_AND_WRITE)
            try:
                with _with_path(target):
                    position = 0
                    while data := system.read(old, COPY_BYTES, position):
                        position += system.write(new, data, position)
                    if self.durable:
                        system.sync(new)
            finally:
                system.close(new)
        finally:
            system.close(old)

    def sync_directory(self, path: str) -> None:
        """Flush the names in a directory to disk, if this pool is durable."""
        if self.durable:
            _sync_directory(path, self.system)

    def read_all(self, path: str) -> bytes:
        """Return the contents of a small file. Raises FileNotFoundError if it does not exist."""
        system = self.system
        fd = system.open(path, READ)
        try:
            with _with_path(path):
                return system.read_fully(fd, system.size(fd), 0)
        finally:
            system.close(fd)

    def read_end(self, path: str, size: int) -> bytes:
        """Return the last entry of a file whose entries are `size` bytes long.

        Return no bytes if the file is missing or empty, or if its length is not a multiple of `size`.
        """
        system = self.system
        try:
            fd = system.open(path, READ)
        except FileNotFoundError:
            return b""
        try:
            with _with_path(path):
                length = system.size(fd)
                return system.read(fd, size, length - size) if length and not length % size else b""
        finally:
            system.close(fd)

    def descriptors(self, paths: Iterable[str]) -> list[Descriptor]:
        """Open those paths that exist, and return descriptors, which the caller must close."""
        return self._with_descriptors(partial(self._descriptors, list(paths)))

    def _descriptors(self, paths: Iterable[str]) -> list[Descriptor]:
        opened: list[Descriptor] = []
        try:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    opened.append(Descriptor(self.system.open(path, READ), path, self.system))
        except OSError:
            for descriptor in opened:
                descriptor.close()
            raise
        return opened


class Descriptor(NamedTuple):
    """An open descriptor and the path it was opened with. The owner must close it."""

    number: int
    path: str
    system: FileSystem = DISK

    def force(self) -> None:
        """Flush the file to disk."""
        with _with_path(self.path):
            self.system.sync(self.number)

    def close(self) -> None:
        self.system.close(self.number)


def explain(error: OSError) -> str:
    """Return a one-line description of an error, with the file name if known."""
    return f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename is not None else str(error)


def make_directories(path: str, system: FileSystem) -> None:
    """Create a directory and its missing parents."""
    if path and not system.is_directory(path):
        make_directories(os.path.dirname(path), system)
        with contextlib.suppress(FileExistsError):
            system.make_directory(path)


def replace_file(path: str, data: Buffer, *, durable: bool, private: bool = False, system: FileSystem = DISK) -> None:
    """Atomically replace the contents of the file at `path` with `data`. With `durable` the new contents are synced to
    disk. With `private` only the owner can read the file. On failure the old contents stay, and the temporary file is
    removed.
    """
    temporary = path + ".tmp"
    try:
        if private:  # a file that was left by a crash would keep its mode
            with contextlib.suppress(FileNotFoundError):
                system.unlink(temporary)
        fd = system.open(temporary, READ_AND_WRITE | os.O_TRUNC, 0o600 if private else 0o644)
        try:
            view, position = memoryview(data), 0
            while position < len(view):
                position += system.write(fd, view[position:], position)
            if durable:
                system.sync(fd)
        finally:
            system.close(fd)
        system.rename(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            system.unlink(temporary)
        error.filename = path
        raise
    if durable:
        _sync_directory(os.path.dirname(path), system)


def _sync_directory(path: str, system: FileSystem) -> None:
    if os.name == "nt":
        return
    fd = system.open(path or ".", os.O_RDONLY)
    try:
        with _with_path(path):
            system.sync(fd)
    finally:
        system.close(fd)


@contextlib.contextmanager
def _with_path(path: str) -> Iterator[None]:
    """Add the path to an OSError raised by a call on a descriptor."""
    try:
        yield
    except OSError as error:
        raise _of(path, error) from None


def _of(path: str, error: OSError) -> OSError:
    if error.filename is None:
        error.filename = path
    return error
