"""Load a file of records into a topic.

A file is loaded completely or not at all. The whole file is read first: each record is parsed, assigned to a partition
and added to a batch, and each batch is validated like a produced batch and written to a temporary file. Only then are
the batches appended to the log. Memory use is limited to one batch per partition, BUFFERED_BYTES in total.

A record goes to the partition that it specifies, or otherwise to the one that the Java producer would choose for its
key. Records without a key are distributed round-robin. A record without a timestamp gets the time at which the file is
loaded.
"""

import asyncio
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO

from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.broker.server import Server
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet.storage.config import LogConfig
from kafkalet.storage.refusals import RecordsRefused
from kafkalet.storage.validation import validate
from kafkalet.storage.values import Origin

from .partitioner import partition_of
from .record_files import Columns, FileRecord, LoadError, RecordFile

BATCH_RECORDS = 1000
BATCH_BYTES = 900_000
BUFFERED_BYTES = 16 << 20
BATCH_HEAD_BYTES = 61
RECORD_HEAD_BYTES = 30  # the maximum: length, attributes, timestamp and offset deltas, key length, value length
HEADER_HEAD_BYTES = 10
REMEMBERED_KEYS = 1 << 14
"""The size of the cache of keys' partitions. In Python, murmur2 takes 2 us for a short key."""

Progress = Callable[[int, float], None]
"""Called with the number of records read and the fraction of the file read (0 to 1)."""

NO_COLUMNS = Columns()


async def load(
    cluster: Server, topic: str, path: str, columns: Columns = NO_COLUMNS, progress: Progress | None = None
) -> int:
    """Append the records of a file to a topic, and return their number. Must run in the event loop of the cluster.

    A missing topic is created with the cluster's defaults. Raises LoadError if the file cannot be loaded; the topic is
    then unchanged. Raises OSError, with the file name, if the file or the temporary directory cannot be used. Raises
    KafkaError if the topic cannot be created or written to; batches that have already been appended stay. The event
    loop is not blocked.
    """
    check_topic_name(topic)
    try:
        return await _load(cluster, topic, path, columns, progress)
    except OSError as error:
        if error.filename is None:
            error.filename = tempfile.gettempdir()
        raise


async def _load(cluster: Server, topic: str, path: str, columns: Columns, progress: Progress | None) -> int:
    with tempfile.TemporaryFile() as spool:
        count = await _read(cluster, topic, RecordFile(path, columns), spool, progress)
        if topic not in cluster.metadata.topics:
            cluster.controller.create_topic(NewTopic(topic))
        for partition, batch in _batches(spool):
            cluster.leadership.leader_of(topic, partition).append(batch)
            await asyncio.sleep(0)
    return count


async def _read(cluster: Server, topic: str, file: RecordFile, into: IO[bytes], progress: Progress | None) -> int:
    known = cluster.metadata.topics.get(topic)
    partitions = cluster.config.num_partitions if known is None else len(known.partitions)
    config = cluster.config.log_config({} if known is None else known.config)
    builder = _BatchBuilder(file.path, partitions, config, into, cluster.clock.now_ms())
    count = 0
    for count, record in enumerate(file, 1):
        builder.add(record)
        if count % BATCH_RECORDS == 0:
            if progress is not None:
                progress(count, file.progress)
            await asyncio.sleep(0)
    builder.spool_all()
    if progress is not None:
        progress(count, 1.0)
    return count


_AT = struct.Struct(">ii")  # partition, size


def _batches(file: IO[bytes]) -> Iterator[tuple[int, bytearray]]:
    """Read partitions and batches back from the temporary file, in order."""
    file.seek(0)
    while head := file.read(_AT.size):
        partition, size = _AT.unpack(head)
        yield partition, bytearray(file.read(size))


class _OpenBatch:
    """A batch that is being filled."""

    __slots__ = ("lines", "records", "size")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.lines: list[int] = []
        self.size = BATCH_HEAD_BYTES


class _BatchBuilder:
    """Groups records into batches by partition; full batches are validated and written to the temporary file."""

    def __init__(self, path: str, partitions: int, config: LogConfig, into: IO[bytes], now_ms: int) -> None:
        self._path = path
        self._partitions = partitions
        self._config = config
        self._into = into
        self._now_ms = now_ms
        self._limit = min(BATCH_BYTES, config.max_message_bytes, config.segment_bytes)
        self._filling: dict[int, _OpenBatch] = {}
        self._buffered = 0
        self._next = 0
        self._partition_of = lru_cache(maxsize=REMEMBERED_KEYS)(partition_of)

    def add(self, record: FileRecord) -> None:
        partition = self._partition(record)
        size = _size(record)
        filling = self._filling.get(partition)
        if filling is None:
            filling = self._filling[partition] = _OpenBatch()
        elif filling.size + size > self._limit or len(filling.records) == BATCH_RECORDS:
            self._spool_batch(partition)
            filling = self._filling[partition] = _OpenBatch()
        timestamp = self._now_ms if record.timestamp is None else record.timestamp
        filling.records.append(Record(len(filling.records), timestamp, record.key, record.value, record.headers))
        filling.lines.append(record.line)
        filling.size += size
        self._buffered += size
        if self._buffered > BUFFERED_BYTES:
            self.spool_all()

    def _partition(self, record: FileRecord) -> int:
        if record.partition is not None:
            if record.partition < self._partitions:
                return record.partition
            reason = f"partition {record.partition} does not exist; the topic has {self._partitions}"
            raise LoadError(self._path, record.line, reason)
        if record.key is not None:
            return self._partition_of(record.key, self._partitions)
        self._next = (self._next + 1) % self._partitions
        return self._next

    def spool_all(self) -> None:
        for partition in sorted(self._filling):
            self._spool_batch(partition)
        self._filling.clear()
        self._buffered = 0

    def _spool_batch(self, partition: int) -> None:
        filling = self._filling[partition]
        batch = build_batch(filling.records)
        try:
            validate(
                bytearray(batch),
                self._config,
                next_offset=0,
                leader_epoch=0,
                origin=Origin.CLIENT,
                now_ms=self._now_ms,
            )
        except RecordsRefused as error:
            first = error.record_errors[0]
            raise LoadError(self._path, filling.lines[first.batch_index], first.message) from error
        except KafkaError as error:
            raise LoadError(self._path, filling.lines[0], str(error)) from error
        self._into.write(_AT.pack(partition, len(batch)))
        self._into.write(batch)
        self._buffered -= filling.size - BATCH_HEAD_BYTES


def _size(record: FileRecord) -> int:
    """Return the maximum size of a record in a batch, in bytes."""
    size = RECORD_HEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += HEADER_HEAD_BYTES + len(name.encode()) + len(value or b"")
    return size
