"""The only opener of files.

A broker may hold hundreds of logs with thousands of segments, and a process may hold many brokers, so a `File` is not a
descriptor: it is a name that gets one of a bounded number of descriptors when it is used. Reads and writes say at which
position (pread, pwrite), so nothing is lost when a descriptor is closed in between and opened again.

A `FileRange` is a piece of a file that a fetch sends with sendfile. It stays readable when its file is renamed or
removed before it was sent: a removed file keeps its descriptor, outside the bound, until the last range of it is gone.

Whether bytes are forced to the disk is one decision in one place: a broker whose directory goes away with it never
does. Nor does it make a file, or the directory of a log, before there is something to write: of the fifty partitions
of a topic for offsets, few are ever used.

Every OSError that leaves this module has a `filename`; `explain` makes a line of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

DEFAULT_MAX_OPEN = 256
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_CLOEXEC", 0)
_OPEN = _READ | os.O_RDWR | os.O_CREAT

Buffer = bytes | bytearray | memoryview


def _seek_and_read(fd: int, length: int, position: int) -> bytes:
    os.lseek(fd, position, os.SEEK_SET)
    return os.read(fd, length)


def _seek_and_write(fd: int, data: Buffer, position: int) -> int:
    os.lseek(fd, position, os.SEEK_SET)
    return os.write(fd, data)


# Windows has neither. A descriptor belongs to one thread, so seeking first is as good.
_pread = getattr(os, "pread", _seek_and_read)
_pwrite = getattr(os, "pwrite", _seek_and_write)


class File:
    """A file by name, opened when it is used and created when it is not there."""

    __slots__ = ("_fd", "_pool", "_removed", "_used", "path")

    def __init__(self, pool: Files, path: str) -> None:
        self.path = path
        self._pool = pool
        self._fd = -1
        self._used = False
        self._removed = False

    def create(self) -> None:
        """Make the file, empty, if it is not there; no descriptor is kept. Without durability that can wait."""
        if self._pool.durable:
            os.close(os.open(self.path, _OPEN, 0o644))

    def fileno(self) -> int:
        """A descriptor that is good until the next use of any file of this pool."""
        if self._fd < 0:
            if self._removed:
                raise FileNotFoundError(errno.ENOENT, "was removed", self.path)
            self._fd = self._pool.admit(self)
        self._used = True
        return self._fd

    def read(self, length: int, position: int) -> bytes:
        """`length` bytes at `position`, fewer only at the end of the file."""
        fd = self.fileno()
        try:
            data: bytes = _pread(fd, length, position)
            if len(data) == length or not data:
                return data
            pieces = [data]
            while data and (length := length - len(data)):  # Linux gives at most 2 GiB at once
                position += len(data)
                data = _pread(fd, length, position)
                pieces.append(data)
            return b"".join(pieces)
        except OSError as error:
            raise _of(self.path, error) from None

    def write(self, data: Buffer, position: int) -> None:
        """All of `data` at `position`. If this fails, any part of it may have been written."""
        fd = self.fileno()
        try:
            written = _pwrite(fd, data, position)
            while written < len(data):
                data = memoryview(data)[written:]
                position += written
                written = _pwrite(fd, data, position)
        except OSError as error:
            raise _of(self.path, error) from None

    def truncate(self, size: int) -> None:
        with _naming(self.path):
            os.truncate(self.fileno() if os.truncate in os.supports_fd else self.path, size)

    def size(self) -> int:
        with _naming(self.path):
            return os.fstat(self.fileno()).st_size

    def sync(self) -> None:
        """Force what was written to the disk, if this pool does that at all."""
        if self._pool.durable:
            with _naming(self.path):
                os.fsync(self.fileno())

    def rename(self, path: str) -> None:
        """Take another name; what is there under that name is replaced. A file never made just is called so then."""
        if os.name == "nt":
            self.close()  # Windows renames no open file
        with contextlib.suppress(FileNotFoundError):
            os.replace(self.path, path)
        self.path = path

    def moved(self, path: str) -> None:
        """The directory above was renamed: this is the file's name now."""
        self.path = path

    def remove(self) -> None:
        """Unlink it, if it is there. Ranges of it stay readable until they are dropped (but not on Windows)."""
        if self._removed:
            return
        if os.name == "nt":
            self.close()
        self._pool.dismiss(self)
        self._removed = True
        with contextlib.suppress(FileNotFoundError):
            if self._fd < 0 and os.name != "nt":
                self._fd = os.open(self.path, _READ)
            os.unlink(self.path)

    def close(self) -> None:
        """Give the descriptor back; the next use opens the file again."""
        if self._fd >= 0 and not self._removed:
            self._pool.dismiss(self)
            self.release()

    def release(self) -> None:
        """For the pool: close the descriptor."""
        os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class FileRange:
    """A piece of a file, to be sent or read later. It has a length, so it can stand where bytes stand."""

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
        """A descriptor for sendfile, good until the next use of any file."""
        return self.file.fileno()

    def slice(self, start: int, length: int) -> FileRange:
        """A part of this piece, cut at its end."""
        start = min(start, self.length)
        return FileRange(self.file, self.position + start, min(length, self.length - start))

    def __repr__(self) -> str:
        return f"FileRange({os.path.basename(self.file.path)}, position={self.position}, length={self.length})"


class Files:
    """The files of one broker: at most `max_open` of them have a descriptor at a time."""

    __slots__ = ("_open", "durable", "max_open")

    def __init__(self, *, durable: bool = True, max_open: int = DEFAULT_MAX_OPEN) -> None:
        self.durable = durable
        """False: nothing is forced to the disk, because nobody will read it after a crash."""
        self.max_open = max_open
        self._open: dict[File, None] = {}

    def file(self, path: str) -> File:
        """The file of that name; it need not be there, and is not opened yet."""
        return File(self, path)

    @property
    def open_count(self) -> int:
        return len(self._open)

    def admit(self, file: File) -> int:
        """Open `file`, closing one that has not been used for long (second chance) where the bound is reached."""
        while len(self._open) >= self.max_open:
            oldest = next(iter(self._open))
            del self._open[oldest]
            if oldest._used:
                oldest._used = False
                self._open[oldest] = None
            else:
                oldest.release()
        try:
            fd = os.open(file.path, _OPEN, 0o644)
        except OSError as error:
            if error.errno == errno.EMFILE and self._open:
                self.close()  # the sockets of this process are more than expected: files step back
            elif error.errno != errno.ENOENT or not self._make_directory(file.path):
                raise
            fd = os.open(file.path, _OPEN, 0o644)
        self._open[file] = None
        return fd

    def _make_directory(self, path: str) -> bool:
        """Make the directory of a file, if nothing has been written to it yet. Returns whether it is there now.

        Only the last directory of the path: where the one above is gone, all of it is to be gone.
        """
        if self.durable:
            return False
        with contextlib.suppress(OSError):
            os.mkdir(os.path.dirname(path))
        return os.path.isdir(os.path.dirname(path))

    def dismiss(self, file: File) -> None:
        """`file` no longer counts."""
        self._open.pop(file, None)

    def close(self) -> None:
        """Close every descriptor; files that are used again are opened again."""
        for file in list(self._open):
            file.close()

    def replace(self, path: str, data: Buffer, *, force: bool = True) -> None:
        """Make `data` the whole content of the file `path`: a reader, or a crash, finds the old content or the new.

        Without `force` that holds if the process ends, but not if the machine does.
        """
        durable = self.durable and force
        try:
            replace_file(path, data, durable=durable)
        except FileNotFoundError:
            if not self._make_directory(path):
                raise
            replace_file(path, data, durable=durable)


class Descriptor(NamedTuple):
    """An open descriptor and the path it was opened by. Whoever holds it closes it."""

    number: int
    path: str

    def force(self) -> None:
        """Force what was written to the file to the disk."""
        with _naming(self.path):
            os.fsync(self.number)

    def close(self) -> None:
        os.close(self.number)


def descriptors(paths: Iterable[str]) -> list[Descriptor]:
    """Descriptors of the files and directories that are there, for the caller to force to the disk and close."""
    opened: list[Descriptor] = []
    try:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                opened.append(Descriptor(os.open(path, _READ), path))
    except OSError:
        for descriptor in opened:
            descriptor.close()
        raise
    return opened


def explain(error: OSError) -> str:
    """What went wrong with which file, in one line."""
    return f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename is not None else str(error)


def read_all(path: str) -> bytes:
    """The whole content of a small file. FileNotFoundError if it does not exist."""
    with open(path, "rb") as file, _naming(path):
        return file.read()


def read_end(path: str, size: int) -> bytes:
    """The last `size` bytes of a file of whole pieces of that size; none where it is empty, other, or not there."""
    try:
        with open(path, "rb") as file, _naming(path):
            length = os.fstat(file.fileno()).st_size
            if not length or length % size:
                return b""
            file.seek(length - size)
            return file.read()
    except FileNotFoundError:
        return b""


def replace_file(path: str, data: Buffer, *, durable: bool) -> None:
    """Make `data` the whole content of the file `path`: a reader, or a crash, finds the old content or the new.

    With `durable` the new content is on the disk afterwards. If this fails, the old content stays and what was
    written of the new one is removed.
    """
    temporary = path + ".tmp"
    try:
        fd = os.open(temporary, _OPEN | os.O_TRUNC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        error.filename = path
        raise
    if durable:
        _sync_directory(os.path.dirname(path))


def _sync_directory(path: str) -> None:
    if os.name == "nt":
        return
    fd = os.open(path or ".", os.O_RDONLY)
    try:
        with _naming(path):
            os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Calls on descriptors raise errors without a file name: say which file it was."""
    try:
        yield
    except OSError as error:
        raise _of(path, error) from None


def _of(path: str, error: OSError) -> OSError:
    if error.filename is None:
        error.filename = path
    return error
