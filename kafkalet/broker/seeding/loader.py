"""Fill a topic from a file of records.

A file is loaded whole or not at all. So it is read once to its end: each record is parsed, given its partition, put
into a batch, and each batch is checked by the log's own rules and laid aside in a temporary file. Only then are the
batches appended, one after the other. Memory holds a batch for each partition, at most BUFFERED_BYTES of them.

A record goes to the partition it names, else to the one that a Java producer would choose for its key; records without
a key go round. A record without a timestamp gets the time of the load.
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
RECORD_HEAD_BYTES = 30  # at most: length, attributes, time and offset deltas, the lengths of key and value
HEADER_HEAD_BYTES = 10
REMEMBERED_KEYS = 1 << 14
"""The partitions of so many keys are kept during a load: murmur2 in Python takes 2 us for a short key."""

Progress = Callable[[int, float], None]
"""Told how many records have been read, and which part of the file that is (0 to 1)."""

NO_COLUMNS = Columns()


async def load(
    cluster: Server, topic: str, path: str, columns: Columns = NO_COLUMNS, progress: Progress | None = None
) -> int:
    """Append the records of a file to a topic of a cluster that runs in this event loop; give their number.

    A topic that does not exist is made, with the cluster's defaults. LoadError for a file that cannot be loaded: the
    topic is then as it was before. OSError for one that cannot be read, and for the directory of temporary files, each
    by its name. KafkaError for a topic that cannot be made or written; in the second case what was appended stays.
    Other work of the event loop goes on meanwhile.
    """
    check_topic_name(topic)
    try:
        return await _load(cluster, topic, path, columns, progress)
    except OSError as error:
        if error.filename is None:
            error.filename = tempfile.gettempdir()
        raise


async def _load(cluster: Server, topic: str, path: str, columns: Columns, progress: Progress | None) -> int:
    with tempfile.TemporaryFile() as laid_aside:
        count = await _read(cluster, topic, RecordFile(path, columns), laid_aside, progress)
        if topic not in cluster.metadata.topics:
            cluster.controller.create_topic(NewTopic(topic))
        for partition, batch in _batches(laid_aside):
            cluster.leadership.leader_of(topic, partition).append(batch)
            await asyncio.sleep(0)
    return count


async def _read(cluster: Server, topic: str, file: RecordFile, into: IO[bytes], progress: Progress | None) -> int:
    known = cluster.metadata.topics.get(topic)
    partitions = cluster.config.num_partitions if known is None else len(known.partitions)
    config = cluster.config.log_config({} if known is None else known.config)
    sorting = _Sorting(file.path, partitions, config, into, cluster.clock.now_ms())
    count = 0
    for count, record in enumerate(file, 1):
        sorting.add(record)
        if count % BATCH_RECORDS == 0:
            if progress is not None:
                progress(count, file.progress)
            await asyncio.sleep(0)
    sorting.lay_aside_all()
    if progress is not None:
        progress(count, 1.0)
    return count


_AT = struct.Struct(">ii")  # partition, size


def _batches(file: IO[bytes]) -> Iterator[tuple[int, bytearray]]:
    """What was laid aside: partitions and batches, in the order of the file."""
    file.seek(0)
    while head := file.read(_AT.size):
        partition, size = _AT.unpack(head)
        yield partition, bytearray(file.read(size))


class _Filling:
    """A batch that is being filled."""

    __slots__ = ("lines", "records", "size")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.lines: list[int] = []
        self.size = BATCH_HEAD_BYTES


class _Sorting:
    """Records by partition, batch by batch; full batches are checked and laid aside."""

    def __init__(self, path: str, partitions: int, config: LogConfig, into: IO[bytes], now_ms: int) -> None:
        self._path = path
        self._partitions = partitions
        self._config = config
        self._into = into
        self._now_ms = now_ms
        self._limit = min(BATCH_BYTES, config.max_message_bytes, config.segment_bytes)
        self._filling: dict[int, _Filling] = {}
        self._buffered = 0
        self._next = 0
        self._partition_of = lru_cache(maxsize=REMEMBERED_KEYS)(partition_of)

    def add(self, record: FileRecord) -> None:
        partition = self._partition(record)
        size = _size(record)
        filling = self._filling.get(partition)
        if filling is None:
            filling = self._filling[partition] = _Filling()
        elif filling.size + size > self._limit or len(filling.records) == BATCH_RECORDS:
            self._lay_aside(partition)
            filling = self._filling[partition] = _Filling()
        timestamp = self._now_ms if record.timestamp is None else record.timestamp
        filling.records.append(Record(len(filling.records), timestamp, record.key, record.value, record.headers))
        filling.lines.append(record.line)
        filling.size += size
        self._buffered += size
        if self._buffered > BUFFERED_BYTES:
            self.lay_aside_all()

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

    def lay_aside_all(self) -> None:
        for partition in sorted(self._filling):
            self._lay_aside(partition)
        self._filling.clear()
        self._buffered = 0

    def _lay_aside(self, partition: int) -> None:
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
    """How many bytes a record takes in a batch, at most."""
    size = RECORD_HEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += HEADER_HEAD_BYTES + len(name.encode()) + len(value or b"")
    return size
