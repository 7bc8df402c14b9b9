"""Creates rows and loads them without Spark, by calling what the tasks and the driver call, one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructType, TimestampType

from kafkalet.clock import ManualClock
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.record import Record
from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.writing.rows import HEADERS
from kafkalet_spark.writing.writer import Fragments, KafkaLogWriter

T0 = 1_600_000_000_000
_SPARK = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "timestamp": TimestampType(),
    "headers": ArrayType(StructType().add("key", StringType()).add("value", BinaryType())),
}
_ARROW = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "headers": HEADERS,
}


def rows(**columns: Sequence[object]) -> pa.RecordBatch:
    """Return rows with the columns of a record; timestamps are in milliseconds."""
    if "timestamp" in columns:
        columns["timestamp"] = [None if ms is None else ms * 1000 for ms in columns["timestamp"]]  # type: ignore[operator]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, _ARROW[name]) for name, values in columns.items()], names=list(columns)
    )


def numbered(start: int, count: int, *, keys: bool = True, size: int = 20) -> pa.RecordBatch:
    """Return records with numbered values, one per millisecond."""
    numbers = range(start, start + count)
    values = [str(number).encode().ljust(size, b".") for number in numbers]
    times = [T0 + number for number in numbers]
    if not keys:
        return rows(value=values, timestamp=times)
    return rows(key=[b"%d" % (number % 97) for number in numbers], value=values, timestamp=times)


def writer(
    path: Path, columns: Iterable[str], options: Mapping[str, object], *, overwrite: bool = False
) -> KafkaLogWriter:
    schema = StructType()
    for name in columns:
        schema.add(name, _SPARK[name])
    texts = {name: str(value) for name, value in options.items()}
    return KafkaLogWriter(schema, {"path": str(path), **texts}, overwrite, ManualClock(T0))


def load(path: Path, *tasks: Sequence[pa.RecordBatch], overwrite: bool = False, **options: object) -> list[Fragments]:
    """Run a job with these tasks. Writes to topic `t` unless there is a topic column."""
    columns = tasks[0][0].schema.names
    if "topic" not in columns:
        options = {"topic": "t", **options}
    job = writer(path, columns, options, overwrite=overwrite)
    messages = [job.write_task(iter(batches), task, task + 100) for task, batches in enumerate(tasks)]
    job.commit(list(messages))
    return messages


def log(path: Path, partition: int = 0, topic: str = "t") -> PartitionLog:
    return open_partition(str(path / f"{topic}-{partition}"))


def entries(path: Path, partition: int = 0, topic: str = "t") -> list[Batch]:
    """Return all batches of a log, after checking that checksums match and offsets have no gaps."""
    found: list[Batch] = []
    for segment in log(path, partition, topic).segments:
        read = list(batches(Path(segment.path).read_bytes()))
        assert sum(batch.size for batch in read) == segment.size
        assert not read or read[0].base_offset == segment.base_offset
        found += read
    expected = 0
    for batch in found:
        batch.check_crc()
        assert batch.base_offset == expected
        expected = batch.next_offset
    return found


def records(path: Path, partition: int = 0, topic: str = "t") -> list[Record]:
    """Return all records except markers."""
    return [record for batch in entries(path, partition, topic) if not batch.is_control for record in batch.records()]
