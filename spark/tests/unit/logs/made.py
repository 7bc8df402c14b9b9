"""Logs for tests, written by kafkalet's storage, which shares no code with the readers under test."""

from __future__ import annotations

import os
from pathlib import Path

from kafkalet.clock import ManualClock
from kafkalet.protocol.records.batch import TimestampType
from kafkalet.protocol.records.build import build_batch, build_message_set
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from kafkalet.storage.values import AbortedTransaction, Origin
from kafkalet_spark.logs.directory import PartitionLog, open_partition

T0 = 1_600_000_000_000
TOPIC_ID = bytes(range(16))
CONFIG = LogConfig(message_timestamp_after_max_ms=(1 << 63) - 1, index_interval_bytes=200, segment_bytes=2000)


def records(*times: int, value: bytes = b"value") -> list[Record]:
    """Return records at times in milliseconds after T0; a negative time gives a record without a timestamp."""
    return [Record(at, T0 + ms if ms >= 0 else -1, b"key", value) for at, ms in enumerate(times)]


class Made:
    """A data directory with one log, of topic `a.b-c`, which stays open until `close`."""

    def __init__(self, path: Path, config: LogConfig = CONFIG, *, topic: str = "a.b-c", partition: int = 0) -> None:
        self.path = path
        self.config = config
        self.key = topic, partition
        self.clock = ManualClock(T0)
        self.open()

    def open(self) -> None:
        self.directory = LogDirectory(str(self.path), self.clock)
        self.log: Log = self.directory.get_or_create(*self.key, TOPIC_ID, self.config)
        self._follow()

    def close(self) -> None:
        self.directory.close()

    @property
    def place(self) -> Path:
        """The directory of the log."""
        return self.path / f"{self.key[0]}-{self.key[1]}"

    def seen(self) -> PartitionLog:
        """List the log as its files are now, after updating the checkpoints."""
        self.directory.checkpoint()
        for segment in self.log.segments:  # file modification times must be those of the test's clock
            os.utime(segment.path, ns=(segment.modified_ms * 1_000_000,) * 2)
        return open_partition(str(self.place))

    def seen_closed(self) -> PartitionLog:
        """List the log after its broker has shut down."""
        return open_partition(str(self.place))

    def flush(self) -> None:
        """Write the indexes, as a running broker does periodically."""
        self.log.flush()

    def append(self, *times: int, value: bytes = b"value", codec: Codec = Codec.NONE, **fields: int) -> None:
        self.add(build_batch(records(*times, value=value), codec=codec, **fields))

    def append_time(self, *times: int) -> None:
        """Append one batch with LogAppendTime."""
        stamp = TimestampType.LOG_APPEND_TIME
        batch = build_batch(records(*times), timestamp_type=stamp, append_time=T0 + max(times), leader_epoch=0)
        self.replicate(batch)

    def append_old(self, magic: int, *times: int, codec: Codec = Codec.NONE) -> None:
        """Append messages of format 0 or 1, or a wrapper around them, as a follower would."""
        end = self.log.log_end_offset
        numbered = [record._replace(offset=end + at) for at, record in enumerate(records(*times))]
        self.replicate(build_message_set(magic, numbered, codec=codec, base_offset=end), renumber=False)

    def transactional(self, producer_id: int, *times: int, value: bytes = b"value") -> None:
        entry = self.log.producers.entry(producer_id)
        sequence = 0 if entry is None else entry.last_sequence + 1
        batch = build_batch(
            records(*times, value=value),
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        self.add(batch)

    def end(self, producer_id: int, *, commit: bool, ms: int = 0) -> None:
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        marker = build_end_marker(EndMarker(kind, 0), timestamp=T0 + ms, producer_id=producer_id, producer_epoch=0)
        self.add(marker, Origin.COORDINATOR)

    def replicate(self, batch: bytes, *, renumber: bool = True) -> None:
        """Append a batch whose offsets were assigned by a leader."""
        data = bytearray(batch)
        if renumber:
            data[:8] = self.log.log_end_offset.to_bytes(8, "big")
        self.log.append_as_follower(data)
        self._follow()

    def delete_until(self, offset: int, *, files: bool = False) -> None:
        self.log.maybe_increment_log_start_offset(offset)
        if files:
            self.log.apply_retention()
            self.directory.environment.deletions.hurry_all()

    def add(self, batch: bytes, origin: Origin = Origin.CLIENT) -> None:
        self.log.append_as_leader(bytearray(batch), 0, origin)
        self._follow()

    def _follow(self) -> None:
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    def records(self) -> list[tuple[int, int]]:
        """Return offset and timestamp of every record that a consumer can read."""
        start = self.log.log_start_offset
        return [
            (record.offset, record.timestamp)
            for segment in self.log.segments
            for _, entry in segment.entries()
            for record in entry.records()
            if record.offset >= start
        ]

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions according to the log itself."""
        if start >= end:
            return []
        first = self.log.segments.floor(start) or self.log.segments.first
        return self.log.local.aborted_transactions(start, end, first)
