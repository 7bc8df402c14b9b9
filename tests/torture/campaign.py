"""Record workloads, crash them, and check the remaining data."""

import logging
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.unit.storage.producing import T0

from . import compaction
from .disk import Crash, RecordingDisk
from .faults import changes_of, faults, try_fault
from .verifying import GuaranteeViolated, check
from .workload import HOUR_MS, Key, Mark, Workload

OPERATIONS = 60
CRASHES_OF_ONE = 40
"""How many crashes one recorded workload is used for."""
EPOCHS_PER_RESTART = 1000
MEMORY = Path("/dev/shm")


class Found(AssertionError):
    """A crash violated a requirement; the text says how to repeat it."""


class Tried(NamedTuple):
    """The result of a run."""

    workloads: int
    crashes: int
    states: int
    """How many different states of the disk there were."""
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.crashes:,} crashes of {self.workloads:,} workloads tried in {self.seconds:.0f} s: "
            f"{self.states:,} different states of the disk"
        )


def run(seed: int, crashes: int, *, only: int | None = None, found: list[str] | None = None) -> Tried:
    """Try this many crashes; workload number n has the seed `seed` + n. Raise Found for the first violation.

    With `only`, try just this crash of the first workload. With `found`, collect the violations there.
    """
    began = time.monotonic()
    tried = workloads = 0
    states: set[int] = set()
    with _quiet(), _scratch() as root:
        while tried < crashes:
            for crash in _Workload(seed + workloads, root / "w", states).crashes(only):
                tried += 1 + crash.again
                if crash.problem:
                    if found is None:
                        raise Found(crash.problem)
                    found.append(crash.problem)
            workloads += 1
            if only is not None:
                break
    return Tried(workloads, tried, len(states), time.monotonic() - began)


class FaultsTried(NamedTuple):
    """The result of a run with faults."""

    workloads: int
    faults: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.faults:,} faults in {self.workloads:,} workloads tried in {self.seconds:.0f} s"


def run_faults(seed: int, count: int, *, only: int | None = None, found: list[str] | None = None) -> FaultsTried:
    """Try this many faults of the disk; the arguments and the result are as in `run`."""
    began = time.monotonic()
    tried = workloads = 0
    with _quiet(), _scratch() as root:
        while tried < count:
            now = seed + workloads
            all_faults = list(enumerate(faults(changes_of(now, root / "failing"))))
            chosen = all_faults if only is None else all_faults[only : only + 1]
            for number, fault in chosen[: count - tried]:
                tried += 1
                if problem := try_fault(now, root, fault):
                    problem = f"python -m tests.torture --seed {now} --fault {number}\n{problem}"
                    if found is None:
                        raise Found(problem)
                    found.append(problem)
            workloads += 1
            if only is not None:
                break
    return FaultsTried(workloads, tried, time.monotonic() - began)


def run_compaction(seed: int, crashes: int, *, only: int | None = None, found: list[str] | None = None) -> Tried:
    """Try this many crashes of workloads that compact a log; the arguments are as in `run`."""
    began = time.monotonic()
    tried = workloads = states = 0
    with _quiet(), _scratch() as root:
        while tried < crashes:
            count = min(CRASHES_OF_ONE, crashes - tried)
            different, problems = compaction.try_crashes(seed + workloads, root, count, only)
            if found is not None:
                found += problems
            elif problems:
                raise Found(problems[0])
            tried += count
            states += different
            workloads += 1
    return Tried(workloads, tried, states, time.monotonic() - began)


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kafkalet-torture-", dir=MEMORY if MEMORY.is_dir() else None) as path:
        yield Path(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the log lines about repairs by a recovery."""
    logger = logging.getLogger("kafkalet")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Result(NamedTuple):
    problem: str = ""
    again: int = 0
    """How many further crashes happened during the recovery."""


class _Workload:
    """One recorded workload."""

    def __init__(self, seed: int, root: Path, states: set[int]) -> None:
        self.seed = seed
        self.root = root
        self.states = states
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        path = root / "recorded"
        path.mkdir()
        self.system = RecordingDisk(path)
        self.workload = Workload(self.system, path, random.Random(seed))
        self.workload.run(OPERATIONS)
        self.record = self.system.record
        self.marks = list(self.workload.marks)
        self.calls = len(self.record.calls)
        self.workload.directory.close(discard=True)
        shutil.rmtree(path)

    def crashes(self, only: int | None) -> Iterator[_Result]:
        chance = random.Random(self.seed)
        numbers = [chance.randrange(1 << 30) for _ in range(CRASHES_OF_ONE)] if only is None else [only]
        for number in numbers:
            yield self._crash(number)

    def _crash(self, number: int) -> _Result:
        """Crash once. `number` determines everything about the crash."""
        chance = random.Random(number)
        at = chance.randrange(self.calls + 1)
        crash = Crash(self.record, at, power=chance.random() < 0.6, chance=chance)
        self.states.add(crash.digest())
        before, after = _around(self.marks, at)
        reports = [_report(crash, before, after)]
        aftermath = Aftermath(self.root / "crashed", chance)
        try:
            aftermath.crashed(crash)
            aftermath.open(before, after, power=crash.power)
            aftermath.go_on()
            if chance.random() < 0.4:
                again, before, after, power = aftermath.crash_again(before, after, power=crash.power)
                self.states.add(again.digest())
                reports.append(_report(again, before, after))
                aftermath.crashed(again)
                aftermath.open(before, after, power=power)
        except Exception as error:  # noqa: BLE001 - whatever the storage raises is a finding
            text = str(error) if isinstance(error, GuaranteeViolated) else "".join(traceback.format_exception(error))
            command = f"python -m tests.torture --seed {self.seed} --crash {number}"
            return _Result("\n".join([command, text, *reports]), len(reports) - 1)
        finally:
            aftermath.remove()
        return _Result(again=len(reports) - 1)


def _report(crash: Crash, before: Mark, after: Mark) -> str:
    return (
        f"crash {crash.at} of {len(crash.record.calls)} ({crash}), during {after.operation} after {before.operation}:\n"
        + crash.record.describe(crash.at)
    )


def _around(marks: list[Mark], at: int) -> tuple[Mark, Mark]:
    """Return the last mark before call `at`, and the one of the operation that it interrupts."""
    for before, after in pairwise(marks):
        if before.calls <= at < after.calls:
            return before, after
    return marks[-1], marks[-1]


class Aftermath:
    """What happens to a disk after a crash."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self._workload: Workload | None = None
        self._lives = 0

    def remove(self) -> None:
        if self._workload is not None and self._workload.directory is not None:
            self._workload.directory.close(discard=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def crashed(self, crash: Crash) -> None:
        self.remove()
        crash.write_to(self.path)

    def open(self, before: Mark, after: Mark, *, power: bool) -> None:
        """Open the directory, and compare it with the promises."""
        self.system = RecordingDisk(self.path)
        workload = self._workload = Workload(self.system, self.path, self.chance, now_ms=T0 + HOUR_MS)
        workload.gone = before.gone
        workload.mark("crash")
        workload.begin()
        self._lives += 1
        there = {(topic, partition): topic_id for topic, partition, topic_id in workload.directory.found()}
        for topic_id in there.values():
            if topic_id in before.gone:
                raise GuaranteeViolated(f"a deleted topic is back: {there}")
        keys = sorted(before.partitions.keys() | after.partitions.keys())
        if strange := there.keys() - set(keys):
            raise GuaranteeViolated(f"{strange} have never existed")
        for key in keys:
            self._open(key, before, after, key in there, power)
        workload.mark("open")

    def _open(self, key: Key, before: Mark, after: Mark, is_there: bool, power: bool) -> None:
        workload = self._workload
        assert workload is not None
        promises = [before.partitions.get(key), after.partitions.get(key)]
        ids = {each.topic_id for each in promises if each is not None}
        if not is_there and None not in promises:
            flushed = min(each.flushed for each in promises if each is not None)
            if not power or flushed > 0:
                raise GuaranteeViolated(f"{key} is lost")
        if None in promises and not is_there:
            return  # it was being created or deleted
        if len(ids) > 1:
            return  # deleted and created by one operation
        [topic_id] = ids
        config = (after.config if key in after.config else before.config)[key]
        log = workload.directory.get_or_create(*key, topic_id, config)
        workload.partitions[key] = check(log, *promises, power=power)
        workload.config[key] = config
        # A controller remembers the epochs that a log has lost.
        workload.epochs[key] = EPOCHS_PER_RESTART * self._lives

    def go_on(self) -> None:
        """Continue the workload with the remaining data, stop cleanly, and open the directory again."""
        workload = self._workload
        assert workload is not None
        for _ in range(6):
            workload.step()
        workload.close()
        workload.mark("close")
        workload.begin()
        workload.open_all()
        for key, promise in workload.partitions.items():
            check(workload.directory.logs[key], promise, promise, power=False)

    def crash_again(self, before: Mark, after: Mark, *, power: bool) -> tuple[Crash, Mark, Mark, bool]:
        """Crash during the recovery, or later. Return the promises, and whether power has been lost."""
        workload = self._workload
        assert workload is not None
        workload.mark("end")
        record, marks = self.system.record, workload.marks
        recovered = marks[1].calls
        at = self.chance.randrange(1 + (recovered if self.chance.random() < 0.6 else len(record.calls)))
        crash = Crash(record, at, power=self.chance.random() < 0.6, chance=self.chance)
        if at < recovered:
            return crash, before, after, power or crash.power
        return crash, *_around(marks, at), crash.power
