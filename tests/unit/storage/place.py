"""A data directory with one log and a manual clock."""

import shutil
import struct
from pathlib import Path
from typing import Any

from kafkalet.clock import ManualClock
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.storage import lookup
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from kafkalet.storage.values import AppendResult, Isolation, Origin, ReadResult, TimestampOffset
from kafkalet.tasks.task import finish

from .producing import T0, marker, produced

TOPIC_ID = bytes(range(16))
CONFIG = LogConfig(message_timestamp_after_max_ms=(1 << 63) - 1)


class Place:
    """A log that is led by its only replica, unless a test changes that."""

    def __init__(self, path: Path, config: LogConfig = CONFIG, *, durable: bool = False) -> None:
        self.path = path
        self.config = config
        self.durable = durable
        self.clock = ManualClock(T0)
        self._lives = 0
        self.open()

    def open(self) -> None:
        self.directory = LogDirectory(str(self.path), self.clock, durable=self.durable)
        self.log: Log = self.directory.get_or_create("t", 0, TOPIC_ID, self.config)

    def reopen(self, config: LogConfig | None = None) -> Log:
        """Stop cleanly and start again."""
        self.directory.close()
        self.config = config or self.config
        self.open()
        return self.log

    def crash(self) -> Log:
        """Start again after the process was killed."""
        self._lives += 1
        left = self.path.with_name(f"{self.path.name}-{self._lives}")
        shutil.copytree(self.path, left)
        self.directory.close(discard=True)
        self.path = left
        self.open()
        return self.log

    def file(self, name: str) -> Path:
        """Return the path of a file in the directory of the log."""
        return Path(self.log.directory) / name

    def names(self) -> list[str]:
        return sorted(path.name for path in Path(self.log.directory).iterdir())

    def overwrite(self, position: int, data: bytes, segment: int = 0) -> None:
        """Damage the file of a segment without using the log."""
        with open(self.file(f"{segment:020d}.log"), "r+b") as file:
            file.seek(position)
            file.write(data)

    def append(self, *records: dict[str, Any] | int, visible: bool = True, **fields: Any) -> AppendResult:
        """Append one batch; numbers are milliseconds after T0. See `produced` for the fields."""
        appended = self.log.append_as_leader(produced(*records, **fields), 0)
        if visible:
            self.log.maybe_increment_high_watermark(self.log.log_end_offset)
        return appended

    def end_transaction(self, producer_id: int, *, commit: bool, epoch: int = 0, visible: bool = True) -> None:
        data = bytearray(marker(0, producer_id, epoch, commit=commit).view())
        self.log.append_as_leader(data, 0, Origin.COORDINATOR)
        if visible:
            self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    def replicate(self, *batches: Batch, leader_epoch: int = 0) -> AppendResult:
        """Append as a follower."""
        return self.log.append_as_follower(b"".join(with_epoch(batch, leader_epoch) for batch in batches))

    def read(self, offset: int, isolation: Isolation = Isolation.LOG_END, max_bytes: int = 1 << 30) -> ReadResult:
        return self.log.read(offset, max_bytes, isolation, True)

    def offsets(self, isolation: Isolation = Isolation.LOG_END) -> list[int]:
        """Return all offsets read by a consumer that starts at the log start offset."""
        seen: list[int] = []
        offset = self.log.log_start_offset
        while offset < isolation.bound(self.log):
            found = list(batches(content(self.read(offset, isolation))))
            if not found:
                break
            seen += [record.offset for batch in found for record in batch.records() if record.offset >= offset]
            offset = found[-1].next_offset
        return seen


def with_epoch(batch: Batch, leader_epoch: int) -> bytes:
    """Return the bytes of a batch with this leader epoch."""
    data = bytearray(batch.view())
    if batch.magic >= 2:
        struct.pack_into(">i", data, 12, leader_epoch)
    return bytes(data)


def content(result: ReadResult) -> bytes:
    return result.records if isinstance(result.records, bytes) else result.records.read()


def four(log: Log) -> tuple[int, int, int, int]:
    """Return log start offset, last stable offset, high watermark and log end offset."""
    return log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset


def find(log: Log, timestamp: int) -> TimestampOffset | None:
    return finish(lookup.find(log, timestamp))


def bases(log: Log) -> list[int]:
    return log.segments.base_offsets


def index_entries(path: Path) -> list[tuple[int, int]]:
    """Return the contents of an .index file."""
    return list(struct.iter_unpack(">ii", path.read_bytes()))  # type: ignore[arg-type]


def time_entries(path: Path) -> list[tuple[int, int]]:
    """Return the contents of a .timeindex file."""
    return list(struct.iter_unpack(">qi", path.read_bytes()))  # type: ignore[arg-type]
