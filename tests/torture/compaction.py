"""Crashes while a log is compacted: either the old segments or those that replace them are left, but no mixture.

A workload appends records with few keys, aborts transactions, rolls and compacts. After a crash at any call, the log
has each record that compaction keeps, with its offset and its value, and no record that was never appended.
"""

import itertools
import random
import shutil
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kafkalet.clock import ManualClock
from kafkalet.storage.cleaning.log_cleaner import LogCleaner
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from kafkalet.storage.values import Origin
from tests.unit.storage.cleaning.cleaned_place import COMPACTED, DEFAULTS, run
from tests.unit.storage.place import TOPIC_ID
from tests.unit.storage.producing import T0, marker, produced, record

from .disk import Crash, RecordingDisk
from .model import Entry
from .verifying import GuaranteeViolated, Problems
from .workload import open_directory

KEYS = "abcdef"
OPERATIONS = 50
CONFIG = COMPACTED._replace(segment_bytes=600, index_interval_bytes=100, file_delete_delay_ms=0)


class Kept(NamedTuple):
    """The records of a log, keyed by offset, and the offset up to which they were flushed."""

    calls: int
    operation: str
    records: dict[int, tuple[bytes | None, bytes | None]]
    flushed: int
    end: int


class Compaction:
    """A compacted log on a recording disk."""

    def __init__(self, path: Path, chance: random.Random, now_ms: int = T0) -> None:
        self.chance = chance
        self.clock = ManualClock(now_ms)
        self.disk = RecordingDisk(path)
        self.marks: list[Kept] = []
        self.directory: LogDirectory = open_directory(path, self.clock, self.disk)
        self.log: Log = self.directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
        self.cleaner = LogCleaner(lambda: list(self.directory.logs.values()), self.directory.environment.cleaning)
        self.mark("open")

    def mark(self, operation: str) -> None:
        log = self.log
        self.marks.append(
            Kept(len(self.disk.record.calls), operation, records_of(log), log.recovery_point, log.log_end_offset)
        )

    def work(self, operations: int) -> None:
        for _ in range(operations):
            name = self.chance.choice(("append", "append", "append", "abort", "clean", "flush", "checkpoint", "job"))
            getattr(self, name)()
            self.mark(name)

    def append(self, **fields: object) -> None:
        records = []
        for _ in range(self.chance.choice((1, 2, 4))):
            value = None if self.chance.random() < 0.15 else b"%d" % self.chance.randrange(10**9)
            records.append(record(ts=self.clock.now_ms(), key=self.chance.choice(KEYS), value=value))
        self.log.append_as_leader(produced(*records, **fields), 0)
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    def abort(self) -> None:
        known = self.log.producer(7)
        sequence = 0 if known is None else known.last_sequence + 1
        self.append(producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        self.log.append_as_leader(bytearray(marker(0, 7, 0, commit=False).view()), 0, Origin.COORDINATOR)
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    def clean(self) -> None:
        if self.log.segments.active.size_bytes:
            self.log.roll()
            self.log.maybe_increment_high_watermark(self.log.log_end_offset)
        run(self.cleaner.clean_filthiest(DEFAULTS, self.clock.now_ms()))

    def flush(self) -> None:
        self.log.flush()

    def checkpoint(self) -> None:
        self.directory.checkpoint()

    def job(self) -> None:
        self.directory.environment.flusher.wait()


def records_of(log: Log) -> dict[int, tuple[bytes | None, bytes | None]]:
    """Return keys and values of the records in a log, without markers, by offset."""
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    for segment in log.segments:
        for _, batch in segment.entries():
            for each in () if batch.is_control else batch.records():
                if each.offset in found:
                    raise GuaranteeViolated(f"offset {each.offset} is there twice")
                found[each.offset] = each.key, each.value
    return found


def try_crashes(seed: int, root: Path, crashes: int, only: int | None = None) -> tuple[int, list[str]]:
    """Crash a workload this many times. Return the number of different states, and the problems."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "recorded").mkdir(parents=True)
    workload = Compaction(root / "recorded", random.Random(seed))
    workload.work(OPERATIONS)
    record, marks = workload.disk.record, workload.marks
    workload.directory.close(discard=True)
    cleanings = [
        (before.calls, after.calls)
        for before, after in itertools.pairwise(marks)
        if after.operation == "clean" and after.calls > before.calls
    ]
    states, found = set(), []
    chance = random.Random(seed)
    numbers = [chance.randrange(1 << 30) for _ in range(crashes)] if only is None else [only]
    for number in numbers:
        chance = random.Random(number)
        start, end = chance.choice(cleanings) if chance.random() < 0.8 else (marks[0].calls, len(record.calls))
        at = chance.randint(start, end)
        crash = Crash(record, at, power=chance.random() < 0.6, chance=chance)
        states.add(crash.digest())
        try:
            _check(crash, marks, root / "crashed", chance)
        except Exception as error:  # noqa: BLE001 - whatever the storage raises is a finding
            text = str(error) if isinstance(error, GuaranteeViolated) else "".join(traceback.format_exception(error))
            command = f"python -m tests.torture --seed {seed} --compaction {number}"
            found.append(f"{command}\ncrash {at} ({crash})\n{text}\n{record.describe(at)}")
    return len(states), found


def _check(crash: Crash, marks: Sequence[Kept], path: Path, chance: random.Random) -> None:
    before, after = marks[-1], marks[-1]
    for one, other in itertools.pairwise(marks):
        if one.calls <= crash.at < other.calls:
            before, after = one, other
            break
    shutil.rmtree(path, ignore_errors=True)
    crash.write_to(path)
    again = Compaction(path, chance, T0 + 1000)
    try:
        log = again.log
        log.maybe_increment_high_watermark(log.log_end_offset)
        left = records_of(log)
        safe = min(before.flushed, after.flushed) if crash.power else min(before.end, after.end)
        if log.log_end_offset < safe:
            raise GuaranteeViolated(f"{log!r} ends below {safe}")
        wanted = {at: each for at, each in after.records.items() if at in before.records and at < safe}
        allowed = before.records | after.records
        if missing := {at for at, each in wanted.items() if left.get(at) != each}:
            raise GuaranteeViolated(f"{log!r} during {after.operation}: records {sorted(missing)} are lost or changed")
        if strange := {at for at, each in left.items() if allowed.get(at) != each}:
            raise GuaranteeViolated(f"{log!r} during {after.operation}: records {sorted(strange)} were not there")
        _verify(log)
        again.work(4)
        again.clean()
        kept = _latest(records_of(again.log))
        again.directory.close()
        again.directory = open_directory(path, again.clock, RecordingDisk(path))
        again.log = again.directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
        again.log.maybe_increment_high_watermark(again.log.log_end_offset)
        _verify(again.log)
        if _latest(records_of(again.log)) != kept:
            raise GuaranteeViolated(f"{again.log!r} has other values after a clean shutdown")
    finally:
        again.directory.close(discard=True)


def _latest(records: dict[int, tuple[bytes | None, bytes | None]]) -> dict[bytes | None, bytes | None]:
    return dict(records[offset] for offset in sorted(records))


def _verify(log: Log) -> None:
    problems = Problems(log)
    entries: tuple[Entry, ...] = problems.entries()
    problems.files()
    problems.reading(entries)
    problems.indexes()
    problems.raise_found()
