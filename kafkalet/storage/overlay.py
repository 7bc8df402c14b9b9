"""A file system that leaves directories unchanged, for brokers that are read-only.

Files below the protected directories are opened in place, for reading only. Everything that is created, renamed,
truncated or deleted exists only in a temporary directory and in memory:

    a new file        a file in the temporary directory
    a changed file    a copy in the temporary directory, made when it is first written to; a .log file is never copied
    a truncated file  a limit on the size of the original
    a renamed file    an alias of the original; also for directories
    a deleted file    a mark

A .log file of a protected directory takes no appends (`can_append`): its log rolls before the next append.

Paths below the protected directories are virtual: `_changed` maps those that differ from the original to a real path,
or to None if they do not exist. An entry for a directory applies to everything below it that has no entry.
"""

import errno
import logging
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress

from kafkalet.locking import lock

from .file_system import DISK, READ, READ_AND_WRITE, Buffer, FileSystem

_LOG = logging.getLogger(__name__)

LOG_SUFFIX = ".log"
_PIECE_BYTES = 1 << 20
_WRITES = os.O_WRONLY | os.O_RDWR


class Overlay(FileSystem):
    """A file system that hides all changes from the real `directories`.

    `close_overlay` removes the temporary directory. Raises FileNotFoundError if a directory does not exist.
    """

    def __init__(self, directories: Iterable[str], disk: FileSystem = DISK) -> None:
        self._disk = disk
        self._roots = tuple(os.path.abspath(directory) for directory in directories)
        for root in self._roots:
            if not disk.is_directory(root):
                raise _error(errno.ENOENT, root)
        self.temporary = tempfile.mkdtemp(prefix="kafkalet-overlay-")
        self._count = 0
        self._changed: dict[str, str | None] = {}
        self._children: dict[str, set[str]] = {}
        """The names in each directory that have or had an entry in `_changed`, or below which there is one."""
        self._limits: dict[str, int] = {}
        """The sizes of originals that were truncated, keyed by real path."""
        self._open: dict[int, tuple[str, str]] = {}
        """The virtual and the real path of each descriptor of an original."""

    def close_overlay(self) -> None:
        """Remove the temporary directory."""
        self._disk.remove_tree(self.temporary)

    # Paths

    def _virtual(self, path: str) -> str:
        return os.path.abspath(path)

    def _is_protected(self, path: str) -> bool:
        """Return whether a virtual path is a protected directory or below one."""
        return any(path == root or path.startswith(root + os.sep) for root in self._roots)

    def _real(self, path: str) -> str | None:
        """Return the real path of a virtual path; None if it was deleted. The real file may be missing, too."""
        changed = self._changed
        above, rest = path, ""
        while True:
            if above in changed:
                real = changed[above]
                return None if real is None else real + rest
            if above in self._roots or above == os.path.dirname(above):
                return path
            above, name = os.path.split(above)
            rest = f"{os.sep}{name}{rest}"

    def _existing(self, path: str) -> str:
        """Return the real path of a virtual path that exists. Raises FileNotFoundError."""
        real = self._real(path)
        if real is None or not self._disk.exists(real):
            raise _error(errno.ENOENT, path)
        return real

    def _is_temporary(self, real: str) -> bool:
        return real.startswith(self.temporary + os.sep)

    def _new_path(self) -> str:
        self._count += 1
        return os.path.join(self.temporary, str(self._count))

    def _check_parent(self, path: str) -> None:
        """Raise FileNotFoundError unless the directory of a path exists."""
        parent = os.path.dirname(path)
        real = self._real(parent)
        if real is None or not self._disk.is_directory(real):
            raise _error(errno.ENOENT, path)

    def _place(self, path: str, real: str | None) -> None:
        """Map a virtual path, and everything below it, to a real path, or to None if it does not exist."""
        old = self._changed.pop(path, None)
        for below in self._below(path):
            self._discard(self._changed.pop(below))
        if old != real:
            self._discard(old)
        if real is not None or self._shines_through(path):
            self._set(path, real)

    def _set(self, path: str, real: str | None) -> None:
        self._changed[path] = real
        while path not in self._roots:
            above, name = os.path.split(path)
            names = self._children.setdefault(above, set())
            if above == path or name in names:
                break
            names.add(name)
            path = above

    def _below(self, directory: str) -> list[str]:
        """Return the paths below a directory that have an entry."""
        found = []
        for name in self._children.get(directory, ()):
            path = os.path.join(directory, name)
            if path in self._changed:
                found.append(path)
            found += self._below(path)
        return found

    def _shines_through(self, path: str) -> bool:
        """Return whether a path without an entry exists."""
        real = self._real(path)
        return real is not None and self._disk.exists(real)

    def _discard(self, real: str | None) -> None:
        """Delete an unused file or directory, if it is temporary."""
        if real is not None and self._is_temporary(real):
            with suppress(OSError):
                if self._disk.is_directory(real):
                    self._disk.remove_tree(real)
                else:
                    self._disk.unlink(real)

    # Descriptors

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        virtual = self._virtual(path)
        if not self._is_protected(virtual):
            return self._disk.open(path, flags, mode)
        real = self._real(virtual)
        exists = real is not None and self._disk.exists(real)
        if not flags & (_WRITES | os.O_CREAT):
            if not exists:
                raise _error(errno.ENOENT, path)
            assert real is not None
            return self._opened(virtual, real, flags)
        if exists and self.is_directory(virtual):
            raise _error(errno.EISDIR, path)
        if exists and not flags & os.O_TRUNC:
            assert real is not None
            if self._is_temporary(real):
                return self._disk.open(real, flags, mode)
            return self._opened(virtual, real, READ)
        if not exists:
            if not flags & os.O_CREAT:
                raise _error(errno.ENOENT, path)
            self._check_parent(virtual)
        created = self._new_path()
        fd = self._disk.open(created, flags | os.O_CREAT, mode)
        self._place(virtual, created)
        return fd

    def _opened(self, virtual: str, real: str, flags: int) -> int:
        fd = self._disk.open(real, flags & ~_WRITES & ~os.O_CREAT)
        if not self._is_temporary(real):
            self._open[fd] = virtual, real
        return fd

    def close(self, fd: int) -> None:
        self._open.pop(fd, None)
        self._disk.close(fd)

    def read(self, fd: int, length: int, position: int) -> bytes:
        limit = self._limit(fd)
        if limit is not None:
            length = max(min(length, limit - position), 0)
        return self._disk.read(fd, length, position)

    def write(self, fd: int, data: Buffer, position: int) -> int:
        self._make_writable(fd)
        return self._disk.write(fd, data, position)

    def truncate(self, fd: int, size: int) -> None:
        opened = self._open.get(fd)
        if opened is None:
            self._disk.truncate(fd, size)
        elif size <= self.size(fd):
            self._limits[opened[1]] = size
        else:
            self._make_writable(fd)
            self._disk.truncate(fd, size)

    def size(self, fd: int) -> int:
        limit = self._limit(fd)
        size = self._disk.size(fd)
        return size if limit is None else min(limit, size)

    def sync(self, fd: int) -> None:
        """Do nothing, because all changes are dropped when the broker stops."""

    def _limit(self, fd: int) -> int | None:
        opened = self._open.get(fd)
        return None if opened is None else self._limits.get(opened[1])

    def _make_writable(self, fd: int) -> None:
        """Let a descriptor of an original refer to a copy of it in the temporary directory."""
        opened = self._open.get(fd)
        if opened is None:
            return
        virtual, real = opened
        current = self._real(virtual)
        if current is not None and current != real and self._is_temporary(current):
            copied = current  # another descriptor has made the copy
        else:
            if real.endswith(LOG_SUFFIX) and self.size(fd):
                raise OSError(errno.EROFS, "the directory is read-only, and a segment is not copied", virtual)
            copied = self._new_path()
            self._copy(fd, copied)
            self._set(virtual, copied)
        writable = self._disk.open(copied, READ_AND_WRITE)
        os.dup2(writable, fd, inheritable=False)
        self._disk.close(writable)
        del self._open[fd]

    def _copy(self, fd: int, path: str) -> None:
        target = self._disk.open(path, READ_AND_WRITE)
        try:
            position, end = 0, self.size(fd)
            while position < end and (piece := self._disk.read(fd, min(_PIECE_BYTES, end - position), position)):
                if piece.strip(b"\0"):  # Kafka preallocates indexes; zeros take no space in the copy
                    self._disk.write(target, piece, position)
                position += len(piece)
            self._disk.truncate(target, position)
        finally:
            self._disk.close(target)

    def can_append(self, path: str) -> bool:
        virtual = self._virtual(path)
        real = self._real(virtual)
        if not self._is_protected(virtual) or real is None or self._is_temporary(real):
            return True
        return not self._disk.exists(real)

    def lock(self, path: str) -> int:
        """Take a shared lock, which fails while another broker uses the directory, and excludes later ones.

        Without a `.lock` file, no broker has used the directory since it was copied, and nothing is locked.
        """
        fd = self.open(path, READ_AND_WRITE)
        if fd not in self._open:
            return fd
        try:
            lock(fd, shared=True)
        except OSError:
            self.close(fd)
            raise
        return fd

    # Paths

    def rename(self, old: str, new: str) -> None:
        source, target = self._virtual(old), self._virtual(new)
        if not self._is_protected(source) and not self._is_protected(target):
            self._disk.rename(old, new)
            return
        real = self._existing(source)
        self._check_parent(target)
        if source == target:
            return
        if self.exists(target) and self.is_directory(target) != self._disk.is_directory(real):
            raise _error(errno.EISDIR if self.is_directory(target) else errno.ENOTDIR, new)
        below = {each: self._changed[each] for each in self._below(source)}
        for each in (source, *below):
            self._changed.pop(each, None)
        self._place(target, real)
        for each, there in below.items():
            self._set(target + each[len(source) :], there)
        if self._shines_through(source):
            self._set(source, None)

    def unlink(self, path: str) -> None:
        virtual = self._virtual(path)
        if not self._is_protected(virtual):
            self._disk.unlink(path)
            return
        real = self._existing(virtual)
        if self._disk.is_directory(real):
            raise _error(errno.EISDIR, path)
        self._place(virtual, None)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        virtual = self._virtual(path)
        if not self._is_protected(virtual):
            self._disk.make_directory(path, mode)
            return
        if self.exists(virtual):
            raise _error(errno.EEXIST, path)
        self._check_parent(virtual)
        created = self._new_path()
        self._disk.make_directory(created, mode)
        self._place(virtual, created)

    def remove_tree(self, path: str) -> None:
        virtual = self._virtual(path)
        if not self._is_protected(virtual):
            self._disk.remove_tree(path)
        elif self.is_directory(virtual):
            self._place(virtual, None)

    def names(self, directory: str) -> list[str]:
        virtual = self._virtual(directory)
        if not self._is_protected(virtual):
            return self._disk.names(directory)
        found = set(self._disk.names(self._existing(virtual)))
        for name, real in self._changes_in(virtual):
            if real is None:
                found.discard(name)
            else:
                found.add(name)
        return list(found)

    def _changes_in(self, directory: str) -> Iterator[tuple[str, str | None]]:
        for name in self._children.get(directory, ()):
            path = os.path.join(directory, name)
            if path in self._changed:
                yield name, self._changed[path]

    def status(self, path: str) -> os.stat_result:
        virtual = self._virtual(path)
        if not self._is_protected(virtual):
            return self._disk.status(path)
        real = self._existing(virtual)
        found = self._disk.status(real)
        limit = self._limits.get(real)
        if limit is None or limit >= found.st_size or stat.S_ISDIR(found.st_mode):
            return found
        fields = list(found)[:10]
        fields[stat.ST_SIZE] = limit
        return os.stat_result(fields, {name: getattr(found, name) for name in _TIMES})

    def exists(self, path: str) -> bool:
        real = self._real_or_given(path)
        return real is not None and self._disk.exists(real)

    def is_directory(self, path: str) -> bool:
        real = self._real_or_given(path)
        return real is not None and self._disk.is_directory(real)

    def is_file(self, path: str) -> bool:
        real = self._real_or_given(path)
        return real is not None and self._disk.is_file(real)

    def _real_or_given(self, path: str) -> str | None:
        virtual = self._virtual(path)
        return self._real(virtual) if self._is_protected(virtual) else path

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Set the times of a file in the temporary directory. The times of originals stay."""
        real = self._real_or_given(path)
        if real is not None and (real == path or self._is_temporary(real)) and not self._is_protected(real):
            self._disk.set_modified(real, modified_ms)


_TIMES = ("st_atime", "st_mtime", "st_ctime", "st_atime_ns", "st_mtime_ns", "st_ctime_ns")


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
