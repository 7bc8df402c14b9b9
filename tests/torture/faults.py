"""Disks that fail: each call in turn fails, writes less than it should, or finds the disk full.

The workload continues with the logs that still work. Afterwards the process ends or the directory is closed, and
everything that was acknowledged has to be there. The storage may limit a failure to one record or one log, or apply it
to the whole directory.
"""

import errno
import os
import random
import shutil
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.file_system import Buffer
from kafkalet.storage.log import Log
from kafkalet.storage.values import Origin
from tests.unit.storage.producing import produced

from .disk import RecordingDisk
from .verifying import GuaranteeViolated, check
from .workload import PARTITIONS, Key, Promise, Workload, open_directory

OPERATIONS = 30
KINDS = ((1, errno.EIO), (1, errno.ENOSPC), (15, errno.ENOSPC), (1, None))
"""How many changes fail, and with what error; None stands for a write that is too short."""


class FaultyDisk(RecordingDisk):
    """Fails the change number `at`, and the `length` - 1 changes that follow it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.at = 1 << 60
        self.length = 1
        self.error: int | None = errno.EIO
        """None: a write returns before everything is written, which is no error."""
        self.changes = 0
        self.failed: str | None = None
        """The first call that failed."""

    def heal(self) -> None:
        self.at = 1 << 60

    def _fails(self, what: str) -> bool:
        self.changes += 1
        fails = self.at < self.changes <= self.at + self.length
        if fails and self.failed is None:
            self.failed = what
        return fails

    def _check(self, what: str, path: str = "") -> None:
        if self._fails(f"{what} {os.path.relpath(path, self.root) if path else ''}") and self.error is not None:
            raise OSError(self.error, os.strerror(self.error), *([path] if path else []))

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        if flags & os.O_CREAT and not os.path.lexists(path):
            self._check("create", path)
        return super().open(path, flags, mode)

    def write(self, fd: int, data: Buffer, position: int) -> int:
        if len(data) and self._fails(f"write to {self.record.nodes[self._descriptors[fd]].path}"):
            written = super().write(fd, memoryview(data)[: (len(data) + 1) // 2], position)
            if self.error is None:
                return written
            raise OSError(self.error, os.strerror(self.error))
        return super().write(fd, data, position)

    def truncate(self, fd: int, size: int) -> None:
        self._check("truncate")
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        self._check("sync")
        super().sync(fd)

    def rename(self, old: str, new: str) -> None:
        self._check("rename", old)
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self._check("unlink", path)
        super().unlink(path)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        self._check("make", path)
        super().make_directory(path, mode)


class FaultyWorkload(Workload):
    """A workload that continues after failures, without the logs that they may have changed."""

    system: FaultyDisk

    def __init__(self, system: FaultyDisk, path: Path, chance: random.Random, *, goes_offline: bool) -> None:
        super().__init__(system, path, chance)
        self.goes_offline = goes_offline
        self.uncertain: dict[Key, tuple[Promise | None, Promise | None]] = {}
        """The promises before and after the operation that failed."""
        self.current: Key | None = None
        self.is_open = False

    def begin(self) -> None:
        on_failure = (lambda directory: None) if self.goes_offline else None
        self.directory = open_directory(self.path, self.clock, self.system, on_failure)

    def run(self, operations: int) -> None:
        try:
            self.begin()
        except OSError:
            return
        self.is_open = True
        for _ in range(operations):
            if self.is_open:
                self.step()
            if self.system.failed and self.system.changes > self.system.at + 40:
                self.system.heal()  # the disk has space again

    def step(self) -> None:
        before = dict(self.partitions)
        self.current = None
        try:
            super().step()
        except (KafkaError, OSError) as error:
            if isinstance(error, KafkaError) and error.code is not Code.KAFKA_STORAGE_ERROR:
                raise
            if self.current is not None:
                self._doubt(self.current, before.get(self.current))

    def _doubt(self, key: Key, before: Promise | None) -> None:
        """The operation on a log has failed: it may have been done, or not, or in part."""
        after = self.partitions.pop(key, None)
        if after is not None:
            after = after._replace(start=after.end, restarts=self.operation.startswith("truncate"))
        if self.operation == "delete":
            after = None
        self.uncertain[key] = before, after

    def mark(self, operation: str) -> None:
        """Promises at earlier times do not matter here: only the process may end, and only at the end of the
        workload.
        """

    def create(self) -> None:
        key = self.current = self.chance.choice(PARTITIONS)
        if key not in self.partitions and key not in self.uncertain:
            self._create(key)

    def delete(self) -> None:
        super().delete()
        if self.current is not None:  # the name must not be created again
            self.current = None

    def _log(self) -> tuple[Key, Log] | None:
        found = super()._log()
        self.current = None if found is None else found[0]
        return found

    def _write(self, key: Key, log: Log, data: bytearray, origin: Origin) -> None:
        try:
            super()._write(key, log, data, origin)
        except KafkaError:
            with suppress(ValueError, KafkaError):
                self._note_append(key, bytes(data))
            raise

    def restart(self) -> None:
        self.is_open = False
        self.close()
        try:
            self.begin()
        except OSError:
            return
        self.is_open = True
        for key, promise in list(self.partitions.items()):
            try:
                self.directory.get_or_create(*key, promise.topic_id, self.config[key])
            except KafkaError as error:
                if error.code is not Code.KAFKA_STORAGE_ERROR:
                    raise
                self.uncertain[key] = self.partitions.pop(key), promise


class Fault(NamedTuple):
    """What fails: the changes of the disk from number `at` on."""

    at: int
    length: int
    error: int | None
    goes_offline: bool
    """Whether a failure takes the whole directory offline."""
    kill: bool
    """Whether the process ends afterwards; otherwise, the directory is closed."""

    def __str__(self) -> str:
        what = "a short write" if self.error is None else os.strerror(self.error)
        more = f" and the next {self.length - 1}" if self.length > 1 else ""
        then = ", which takes the directory offline" if self.goes_offline else ""
        return f"{what} at change {self.at}{more}{then}; then {'the process ends' if self.kill else 'a clean shutdown'}"


def faults(changes: int) -> list[Fault]:
    """Return the faults for a workload that makes this many changes."""
    return [
        fault
        for at in range(changes)
        for number, (length, error) in enumerate(KINDS)
        for fault in (Fault(at, length, error, (at + number) % 3 == 0, (at + number) % 2 == 0),)
    ]


def changes_of(seed: int, root: Path) -> int:
    """Return how many changes the workload with this seed makes on a disk that works."""
    return _work(seed, root, Fault(1 << 60, 1, None, False, False)).system.changes


def _work(seed: int, root: Path, fault: Fault) -> FaultyWorkload:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    disk = FaultyDisk(root)
    disk.at, disk.length, disk.error = fault.at, fault.length, fault.error
    workload = FaultyWorkload(disk, root, random.Random(seed), goes_offline=fault.goes_offline)
    workload.run(OPERATIONS)
    return workload


def try_fault(seed: int, root: Path, fault: Fault) -> str:
    """Run a workload on a disk that fails, open the directory again, and check it. Return the problems."""
    workload = None
    try:
        workload = _work(seed, root / "failing", fault)
        workload.system.heal()
        path = root / "failing"
        if fault.kill:
            path = root / "left"
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(root / "failing", path)
        elif workload.is_open:
            workload.directory.close()
            workload.is_open = False
        _check(workload, path)
    except Exception as error:  # noqa: BLE001 - whatever the storage raises is a finding
        text = str(error) if isinstance(error, GuaranteeViolated) else "".join(traceback.format_exception(error))
        failed = "" if workload is None else f" ({workload.system.failed}, during {workload.operation})"
        return f"{fault}{failed}\n{text}"
    finally:
        if workload is not None and workload.is_open:
            workload.directory.close(discard=True)
    return ""


def _check(workload: FaultyWorkload, path: Path) -> None:
    clock = ManualClock(workload.clock.now_ms())
    directory = open_directory(path, clock, RecordingDisk(path))
    try:
        there = {(topic, partition): topic_id for topic, partition, topic_id in directory.found()}
        if back := workload.gone & {each for each in there.values() if each is not None}:
            raise GuaranteeViolated(f"deleted topics are back: {back}")
        promises = {key: (promise, promise) for key, promise in workload.partitions.items()} | workload.uncertain
        for key, pair in promises.items():
            known = [each for each in pair if each is not None]
            if key not in there:
                if len(known) == 2:
                    raise GuaranteeViolated(f"{key} is lost")
                continue
            log = directory.get_or_create(*key, known[0].topic_id, workload.config[key])
            before, after = (each and each._replace(checkpointed_start=0, high_watermark=0) for each in pair)
            check(log, before, after, power=False)
            log.append_as_leader(produced(0), (log.latest_epoch or 0) + 1)
    finally:
        directory.close(discard=True)
