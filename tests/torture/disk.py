"""A file system that records the changes of a directory, and the possible states of the disk after a crash.

    system = RecordingDisk(root)        works on the files below `root`, and records every change
    ... use it ...
    Crash(system.record, at=17, power=True, chance=random.Random(4)).write_to(path)

After the end of a process, the disk has everything that the calls before `at` did, and possibly part of call `at`.
After the loss of power, the rules are those of POSIX, but the names in a directory change in order, as on every
journaling file system:

* A file contains everything that was written before it was synced. Each later write may be lost, complete, or torn at a
  sector or a byte; the file may also have grown by zeros instead.
* Names that were created, renamed or removed before their directory was synced stay so. Of the later changes of a
  directory, the first few may have happened. A rename is atomic.
"""

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafkalet.storage.file_system import Buffer, FileSystem

SECTOR_BYTES = 512
ROOT = 0
"""The number of the recorded directory itself."""


class Write(NamedTuple):
    file: int
    position: int
    data: bytes


class Truncate(NamedTuple):
    file: int
    size: int


class SetModified(NamedTuple):
    file: int
    modified_ms: int


class Rename(NamedTuple):
    """An atomic change of directory entries: the new inode of each name; None if it was removed."""

    directory: int
    names: dict[str, int | None]


class Sync(NamedTuple):
    file: int


Call = Write | Truncate | SetModified | Rename | Sync


class Node:
    """A file or a directory, identified by its number."""

    def __init__(self, path: str, is_directory: bool) -> None:
        self.path = path
        """Where it was created, for messages."""
        self.is_directory = is_directory
        self.data = b""
        self.names: dict[str, int] = {}


class Record:
    """The state of a directory at the beginning, and everything that was done to it since."""

    def __init__(self) -> None:
        self.nodes: list[Node] = [Node("", True)]
        self.calls: list[Call] = []

    def describe(self, at: int, calls: int = 12) -> str:
        """Return the last calls before the crash `at`, one per line."""
        first = max(0, at - calls)
        lines = [f"    {number}: {self._text(call)}" for number, call in enumerate(self.calls[first : at + 1], first)]
        return "\n".join(lines)

    def _text(self, call: Call) -> str:
        if isinstance(call, Rename):
            return f"names in {self.nodes[call.directory].path or '.'}: {call.names}"
        where = f"{call.file} ({self.nodes[call.file].path or '.'})"
        if isinstance(call, Write):
            return f"write {len(call.data)} bytes to {where} at {call.position}"
        if isinstance(call, Truncate):
            return f"truncate {where} to {call.size}"
        return f"sync {where}" if isinstance(call, Sync) else f"set the time of {where}"


class RecordingDisk(FileSystem):
    """The file system below `root`, which may have files already. They count as synced."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.record = Record()
        self._names: list[dict[str, int]] = [{}]
        """The names in each directory as they are now, by the number of the directory."""
        self._descriptors: dict[int, int] = {}
        self._lock = threading.RLock()
        self._take_in(ROOT, self.root)

    def _take_in(self, directory: int, path: str) -> None:
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            node = self._new(entry.path, entry.is_dir())
            self.record.nodes[directory].names[entry.name] = node
            self._names[directory][entry.name] = node
            if entry.is_dir():
                self._take_in(node, entry.path)
            else:
                self.record.nodes[node].data = Path(entry.path).read_bytes()

    def _new(self, path: str, is_directory: bool) -> int:
        self.record.nodes.append(Node(os.path.relpath(path, self.root), is_directory))
        self._names.append({})
        return len(self.record.nodes) - 1

    def _directory(self, path: str) -> int:
        """Return the number of the directory that contains `path`."""
        node = ROOT
        for name in os.path.relpath(os.path.dirname(path), self.root).split(os.sep):
            if name != ".":
                node = self._names[node][name]
        return node

    def _node(self, path: str) -> int:
        return ROOT if path == self.root else self._names[self._directory(path)][os.path.basename(path)]

    def _did(self, call: Call) -> None:
        self.record.calls.append(call)
        if isinstance(call, Rename):
            names = self._names[call.directory]
            for name, node in call.names.items():
                if node is None:
                    del names[name]
                else:
                    names[name] = node

    # The calls

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        with self._lock:
            existed = os.path.lexists(path)
            fd = super().open(path, flags, mode)
            if not existed:
                self._did(Rename(self._directory(path), {os.path.basename(path): self._new(path, False)}))
            self._descriptors[fd] = self._node(path)
            if flags & os.O_TRUNC and existed:
                self._did(Truncate(self._descriptors[fd], 0))
            return fd

    def close(self, fd: int) -> None:
        with self._lock:
            del self._descriptors[fd]
            super().close(fd)

    def write(self, fd: int, data: Buffer, position: int) -> int:
        with self._lock:
            written = super().write(fd, data, position)
            self._did(Write(self._descriptors[fd], position, bytes(data[:written])))
            return written

    def truncate(self, fd: int, size: int) -> None:
        with self._lock:
            super().truncate(fd, size)
            self._did(Truncate(self._descriptors[fd], size))

    def sync(self, fd: int) -> None:
        with self._lock:
            self._did(Sync(self._descriptors[fd]))

    def rename(self, old: str, new: str) -> None:
        with self._lock:
            super().rename(old, new)
            directory = self._directory(old)
            assert directory == self._directory(new), f"{old} is moved to another directory, {new}"
            node = self._names[directory][os.path.basename(old)]
            self._did(Rename(directory, {os.path.basename(old): None, os.path.basename(new): node}))

    def unlink(self, path: str) -> None:
        with self._lock:
            super().unlink(path)
            self._did(Rename(self._directory(path), {os.path.basename(path): None}))

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        with self._lock:
            super().make_directory(path, mode)
            self._did(Rename(self._directory(path), {os.path.basename(path): self._new(path, True)}))

    def remove_tree(self, path: str) -> None:
        with self._lock:
            if not os.path.isdir(path):
                return
            for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    self.remove_tree(entry.path)
                else:
                    self.unlink(entry.path)
            os.rmdir(path)
            self._did(Rename(self._directory(path), {os.path.basename(path): None}))

    def names(self, directory: str) -> list[str]:
        return sorted(super().names(directory))

    def set_modified(self, path: str, modified_ms: int) -> None:
        with self._lock:
            super().set_modified(path, modified_ms)
            self._did(SetModified(self._node(path), modified_ms))


class _File:
    """The contents of a file: the part that is certainly on the disk, and the changes since the last sync."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pending: list[Write | Truncate] = []
        self.modified_ms: int | None = None


class _Directory:
    def __init__(self, names: dict[str, int]) -> None:
        self.names = dict(names)
        self.pending: list[Rename] = []


class Crash:
    """A crash before call `at` of a record is complete. `chance` decides which of the possible changes have happened.

    After the loss of power, each unsynced change is `kept` with this probability; None lets `chance` decide it, too.
    """

    def __init__(
        self, record: Record, at: int, *, power: bool, chance: random.Random, kept: float | None = None
    ) -> None:
        self.record = record
        self.at = at
        self.power = power
        self._chance = chance
        self._files: dict[int, _File] = {}
        self._directories: dict[int, _Directory] = {}
        for number, node in enumerate(record.nodes):
            if node.is_directory:
                self._directories[number] = _Directory(node.names)
            else:
                self._files[number] = _File(node.data)
        for call in record.calls[:at]:
            self._apply(call)
        if at < len(record.calls):
            self._apply_part(record.calls[at])
        self._settle(kept)

    def __str__(self) -> str:
        return "loss of power" if self.power else "end of the process"

    def _apply(self, call: Call) -> None:
        if isinstance(call, Write | Truncate):
            self._files[call.file].pending.append(call)
        elif isinstance(call, SetModified):
            self._files[call.file].modified_ms = call.modified_ms
        elif isinstance(call, Rename):
            self._directories[call.directory].pending.append(call)
        elif call.file in self._files:
            file = self._files[call.file]
            file.data, file.pending = contents(file.data, file.pending), []
        else:
            directory = self._directories[call.file]
            for each in directory.pending:
                _change(directory.names, each)
            directory.pending = []

    def _apply_part(self, call: Call) -> None:
        """Do part of the call during which the crash happens."""
        if isinstance(call, Write):
            self._apply(call._replace(data=call.data[: self._chance.randrange(len(call.data) + 1)]))
        elif not isinstance(call, Sync) and self._chance.random() < 0.5:
            self._apply(call)
        elif isinstance(call, Sync) and call.file in self._files and self.power:
            file = self._files[call.file]
            done = self._chance.randrange(len(file.pending) + 1)
            file.data, file.pending = contents(file.data, file.pending[:done]), file.pending[done:]

    def _settle(self, kept: float | None) -> None:
        """Decide which of the changes that were not synced have happened."""
        if not self.power:
            kept = 1.0
        elif kept is None:
            kept = self._chance.choice((0.0, 1.0, 0.5, self._chance.random()))
        torn = self._chance.choice((0.0, 0.0, 0.3)) if self.power else 0.0
        for file in self._files.values():
            if file.pending:
                file.data = self._settled_file(file, kept, torn) if self.power else contents(file.data, file.pending)
        for directory in self._directories.values():
            self._settle_directory(directory, kept)

    def _settled_file(self, file: _File, kept: float, torn: float) -> bytes:
        chance = self._chance
        data = bytearray(file.data)
        for call in file.pending:
            if chance.random() >= kept:
                end = call.position + len(call.data) if isinstance(call, Write) else 0
                if end > len(data) and chance.random() < 0.3:
                    data.extend(bytes(end - len(data)))
                continue
            if isinstance(call, Write) and chance.random() < torn:
                for piece in _torn(call, chance):
                    _do(data, piece)
            else:
                _do(data, call)
        return bytes(data)

    def _settle_directory(self, directory: _Directory, kept: float) -> None:
        for each in directory.pending:
            if self._chance.random() >= kept:
                break
            _change(directory.names, each)

    # The result

    def tree(self) -> Iterator[tuple[str, bytes | None, int | None]]:
        """Return path, contents (None for a directory) and modification time of everything on the disk."""
        stack = [("", ROOT)]
        while stack:
            prefix, number = stack.pop()
            for name, node in self._directories[number].names.items():
                path = prefix + name
                if node in self._directories:
                    yield path, None, None
                    stack.append((path + "/", node))
                else:
                    yield path, self._files[node].data, self._files[node].modified_ms

    def digest(self) -> int:
        """Return a number that differs between different states."""
        return hash(tuple(sorted((path, data) for path, data, _ in self.tree() if data is not None)))

    def write_to(self, path: Path) -> None:
        """Write the disk to a directory, which must not exist."""
        os.mkdir(path)
        for name, data, modified_ms in self.tree():
            target = f"{path}/{name}"
            if data is None:
                os.mkdir(target)
                continue
            fd = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
            if modified_ms is not None:
                os.utime(target, ns=(modified_ms * 1_000_000,) * 2)


def contents(data: bytes, calls: list[Write | Truncate]) -> bytes:
    """Return `data` after these calls."""
    if not calls:
        return data
    changed = bytearray(data)
    for call in calls:
        _do(changed, call)
    return bytes(changed)


def _do(data: bytearray, call: Write | Truncate) -> None:
    if isinstance(call, Truncate):
        if call.size < len(data):
            del data[call.size :]
        else:
            data.extend(bytes(call.size - len(data)))
        return
    if call.position > len(data):
        data.extend(bytes(call.position - len(data)))
    data[call.position : call.position + len(call.data)] = call.data


def _torn(call: Write, chance: random.Random) -> Iterator[Write]:
    """Return those parts of a write that reached the disk: up to some byte, or some of the sectors."""
    if chance.random() < 0.5:
        yield call._replace(data=call.data[: chance.randrange(len(call.data) + 1)])
        return
    start = call.position
    end = start + len(call.data)
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        if chance.random() < 0.5:
            yield Write(call.file, start, call.data[start - call.position : stop - call.position])
        start = stop


def _change(names: dict[str, int], change: Rename) -> None:
    for name, node in change.names.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
