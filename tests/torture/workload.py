"""Seeded random operations on the logs of one directory, and the data that must survive a crash at any moment.

Before and after each operation, the workload records how many calls have been made, and what it has been promised for
each partition (`Promise`). After a crash during an operation, either the promise before it or the one after it holds.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.flushing import Flusher, Job
from kafkalet.storage.log import Log
from kafkalet.storage.values import Origin
from tests.unit.storage.producing import T0, marker, produced

from .disk import RecordingDisk
from .model import Entry, entries_in

PARTITIONS = (("a", 0), ("a", 1), ("b", 0))
IDEMPOTENT = (1, 2)
TRANSACTIONAL = (11, 12, 13)
HOUR_MS = 3_600_000
LONG = 1 << 62

Key = tuple[str, int]


class Promise(NamedTuple):
    """What a partition must contain after a crash."""

    topic_id: bytes
    entries: tuple[Entry, ...]
    """Every batch since the creation, also those that have been deleted since."""
    start: int
    """The log start offset."""
    checkpointed_start: int
    flushed: int
    """Everything below this offset has been synced to disk."""
    high_watermark: int
    """As checkpointed."""
    older: tuple[tuple[Entry, ...], ...] = ()
    """The batches before each truncation whose effect has not been synced yet."""
    restarts: bool = False
    """Whether all batches were just removed."""
    has_gaps: bool = False
    """Whether batches that had not been flushed are missing before the last ones."""
    opened_at: int = 0
    """The log end offset after the crash: the last segment may be empty, and begin above the last batch."""

    @property
    def end(self) -> int:
        return max(self.entries[-1].last + 1 if self.entries else self.start, self.opened_at)


class Mark(NamedTuple):
    """The promises after an operation, which ended after `calls` calls."""

    calls: int
    operation: str
    partitions: dict[Key, Promise]
    gone: frozenset[bytes]
    """The ids of deleted topics."""
    config: dict[Key, LogConfig]


class LaterFlusher(Flusher):
    """Runs its jobs on request of the test, so that a workload is the same each time."""

    def submit(self, what: str, descriptors: list, then: Callable[[OSError | None], None]) -> None:  # type: ignore[type-arg]
        self._jobs.append(Job(what, descriptors, then))

    def run_one(self) -> None:
        if self._jobs:
            job = self._jobs.popleft()
            failure = None
            try:
                for descriptor in job.descriptors:
                    descriptor.force()
            except OSError as error:
                failure = error
            for descriptor in job.descriptors:
                descriptor.close()
            job.then(failure)

    def wait(self) -> None:
        while self._jobs:
            self.run_one()

    def close(self) -> None:
        self.wait()


def open_directory(
    path: Path, clock: ManualClock, system: RecordingDisk, on_failure: Callable[[LogDirectory], None] | None = None
) -> LogDirectory:
    directory = LogDirectory(str(path), clock, cluster_id="c", system=system, on_failure=on_failure)
    directory.environment.flusher = LaterFlusher()
    return directory


class Workload:
    """Works on the logs of a directory. Its operations are methods whose names do not begin with an underscore."""

    def __init__(self, system: RecordingDisk, path: Path, chance: random.Random, now_ms: int = T0) -> None:
        self.system = system
        self.path = path
        self.chance = chance
        self.clock = ManualClock(now_ms)
        self.marks: list[Mark] = []
        self.partitions: dict[Key, Promise] = {}
        self.config: dict[Key, LogConfig] = {}
        self.gone: frozenset[bytes] = frozenset()
        self.epochs: dict[Key, int] = {}
        self.timestamp = now_ms
        self.operation = ""
        self.directory: LogDirectory = None  # type: ignore[assignment]

    def begin(self) -> None:
        """Open the directory."""
        self.directory = open_directory(self.path, self.clock, self.system)

    def draw_config(self) -> LogConfig:
        chance = self.chance
        return LogConfig(
            segment_bytes=chance.choice((150, 400, 1000, 10**6)),
            index_interval_bytes=chance.choice((0, 0, 150, 4096)),
            segment_index_bytes=chance.choice((40, 10**6)),
            flush_messages=chance.choice((1, 3, LONG, LONG)),
            retention_bytes=chance.choice((-1, 600)),
            retention_ms=-1,
            file_delete_delay_ms=chance.choice((0, 1000)),
            message_timestamp_after_max_ms=LONG,
        )

    def mark(self, operation: str) -> None:
        gone = {promise.topic_id for promise in self.partitions.values()}
        assert not gone & self.gone
        self.marks.append(
            Mark(len(self.system.record.calls), operation, dict(self.partitions), self.gone, dict(self.config))
        )

    def run(self, operations: int) -> None:
        """Open the directory, and do random operations."""
        self.mark("begin")
        self.begin()
        self.mark("open")
        for _ in range(operations):
            self.step()

    def step(self) -> None:
        names, weights = zip(*WEIGHTS.items(), strict=True)
        name = self.chance.choices(names, weights)[0]
        self.operation = name
        getattr(self, name)()
        for key, promise in self.partitions.items():
            self._believe(key, promise)
        self.mark(name)

    def _believe(self, key: Key, promise: Promise) -> None:
        """The recovery point is a promise, too."""
        log = self.directory.logs.get(key)
        # Deleted records are below the recovery point, but need not be on disk.
        if log is not None and log.recovery_point > max(promise.flushed, promise.start):
            older = () if log.recovery_point >= log.log_end_offset else promise.older
            self.partitions[key] = promise._replace(flushed=log.recovery_point, older=older)

    def _log(self) -> tuple[Key, Log] | None:
        keys = [key for key in self.partitions if key in self.directory.logs]
        if not keys:
            return None
        key = self.chance.choice(keys)
        return key, self.directory.logs[key]

    # Topics

    def create(self) -> None:
        key = self.chance.choice(PARTITIONS)
        if key not in self.partitions:
            self._create(key)

    def _create(self, key: Key) -> None:
        topic_id = self.chance.randbytes(16)
        self.config[key] = self.draw_config()
        self.partitions[key] = Promise(topic_id, (), 0, 0, 0, 0)
        self.epochs[key] = 0
        self.directory.get_or_create(*key, topic_id, self.config[key])

    def delete(self) -> None:
        found = self._log()
        if found is None:
            return
        key, _ = found
        self.directory.delete(*key)
        self.directory.sync_deletions()
        self.gone |= {self.partitions.pop(key).topic_id}

    # Records

    def append(self) -> None:
        self._append()

    def append_idempotent(self) -> None:
        self._append(self.chance.choice(IDEMPOTENT))

    def append_transactional(self) -> None:
        self._append(self.chance.choice(TRANSACTIONAL), transactional=True)

    def _append(self, producer_id: int = -1, **fields: object) -> None:
        found = self._log()
        if found is None:
            return
        key, log = found
        count = self.chance.choice((1, 1, 2, 5))
        if producer_id >= 0:
            known = log.producer(producer_id)
            epoch, sequence = (0, 0) if known is None else (known.producer_epoch, known.last_sequence + 1)
            if known is not None and known.open_since is None and self.chance.random() < 0.1:
                epoch, sequence = epoch + 1, 0
            fields |= {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
        self._write(key, log, produced(*self._records(count), **fields), Origin.CLIENT)

    def _records(self, count: int) -> list[dict[str, object]]:
        records = []
        for _ in range(count):
            self.timestamp += self.chance.choice((-5, 0, 1, 10))
            value = self.chance.choice(("", "v" * 10, "w" * 200, "z" * 700)) + str(self.chance.randrange(1000))
            records.append({"ts": self.timestamp, "key": "k", "value": value})
        return records

    def _write(self, key: Key, log: Log, data: bytearray, origin: Origin) -> None:
        try:
            log.append_as_leader(data, self.epochs[key], origin)
        except KafkaError as error:
            if error.code.name != "RECORD_LIST_TOO_LARGE":
                raise
            return
        self._appended(key, log, bytes(data))

    def _appended(self, key: Key, log: Log, data: bytes) -> None:
        self._note_append(key, data)
        log.maybe_increment_high_watermark(log.log_end_offset)

    def _note_append(self, key: Key, data: bytes) -> None:
        promise = self.partitions[key]
        self.partitions[key] = promise._replace(entries=(*promise.entries, *entries_in(data)), restarts=False)

    def end_transaction(self) -> None:
        found = self._log()
        if found is None:
            return
        key, log = found
        producer_id = self.chance.choice(TRANSACTIONAL)
        known = log.producer(producer_id)
        if known is None:
            return
        commit = self.chance.random() < 0.5
        data = bytearray(marker(0, producer_id, known.producer_epoch, commit=commit, ts=self.timestamp).view())
        self._write(key, log, data, Origin.COORDINATOR)

    def new_epoch(self) -> None:
        found = self._log()
        if found is None:
            return
        key, log = found
        self.epochs[key] += 1
        log.assign_epoch_start_offset(self.epochs[key], log.log_end_offset)

    # Files

    def roll(self) -> None:
        found = self._log()
        if found is not None and found[1].segments.active.size_bytes:
            found[1].roll()

    def flush(self) -> None:
        found = self._log()
        if found is not None:
            key, log = found
            if log.recovery_point < log.log_end_offset:  # as in Kafka, not if everything was deleted
                log.flush()
                self._flushed(key, log.log_end_offset)

    def _flushed(self, key: Key, offset: int) -> None:
        self.partitions[key] = self.partitions[key]._replace(flushed=offset, older=())

    def flush_in_background(self) -> None:
        flusher = self.directory.environment.flusher
        assert isinstance(flusher, LaterFlusher)
        flusher.run_one()

    def delete_records(self) -> None:
        found = self._log()
        if found is not None:
            key, log = found
            start = self.chance.randint(log.log_start_offset, log.high_watermark)
            log.maybe_increment_log_start_offset(start)
            self.partitions[key] = self.partitions[key]._replace(start=start)

    def retention(self) -> None:
        found = self._log()
        if found is not None:
            key, log = found
            log.apply_retention()
            self.partitions[key] = self.partitions[key]._replace(start=log.log_start_offset)

    def truncate(self) -> None:
        found = self._log()
        if found is None:
            return
        key, log = found
        promise = self.partitions[key]
        bases = [entry.base for entry in promise.entries if entry.base >= log.log_start_offset]
        offset = self.chance.choice([*bases, log.log_end_offset])
        log.truncate_to(offset)
        kept = tuple(entry for entry in promise.entries if entry.last < log.log_end_offset)
        self.partitions[key] = promise._replace(
            entries=kept,
            older=(*promise.older, promise.entries),
            flushed=min(promise.flushed, log.log_end_offset),
            high_watermark=min(promise.high_watermark, log.log_end_offset),
            start=log.log_start_offset,
            checkpointed_start=min(promise.checkpointed_start, log.log_start_offset),
            opened_at=log.log_end_offset,
        )
        self.epochs[key] += 1

    def truncate_fully(self) -> None:
        found = self._log()
        if found is None or self.chance.random() < 0.7:
            return
        key, log = found
        offset = self.chance.randint(0, log.log_end_offset + 5)
        log.truncate_fully_and_start_at(offset)
        promise = self.partitions[key]
        self.partitions[key] = promise._replace(
            entries=(),
            older=(*promise.older, promise.entries),
            flushed=min(promise.flushed, offset),
            high_watermark=0,
            start=offset,
            checkpointed_start=0,
            restarts=True,
            has_gaps=False,
            opened_at=0,
        )
        self.epochs[key] += 1

    def checkpoint(self) -> None:
        self.directory.checkpoint()
        self._checkpointed()

    def _checkpointed(self) -> None:
        for key in self.partitions:
            log = self.directory.logs.get(key)
            if log is not None:
                self.partitions[key] = self.partitions[key]._replace(
                    high_watermark=log.high_watermark, checkpointed_start=log.log_start_offset
                )

    def time(self) -> None:
        self.clock.advance(seconds=self.chance.choice((0.5, 2)))

    def reconfigure(self) -> None:
        found = self._log()
        if found is not None:
            key, log = found
            self.config[key] = self.draw_config()
            log.reconfigure(self.config[key])

    def restart(self) -> None:
        """Stop cleanly and start again."""
        self.close()
        self.mark("close")
        self.begin()
        self.open_all()

    def close(self) -> None:
        ends = {key: log.log_end_offset for key, log in self.directory.logs.items()}
        self._checkpointed()
        self.directory.close()
        for key in self.partitions.keys() & ends.keys():
            self._flushed(key, ends[key])

    def open_all(self) -> None:
        for key, promise in self.partitions.items():
            self.directory.get_or_create(*key, promise.topic_id, self.config[key])


WEIGHTS = {
    "create": 6,
    "delete": 1,
    "append": 20,
    "append_idempotent": 12,
    "append_transactional": 16,
    "end_transaction": 12,
    "new_epoch": 3,
    "roll": 3,
    "flush": 4,
    "flush_in_background": 5,
    "delete_records": 4,
    "retention": 3,
    "truncate": 3,
    "truncate_fully": 1,
    "checkpoint": 5,
    "time": 4,
    "reconfigure": 2,
    "restart": 1,
}
