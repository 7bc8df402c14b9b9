"""Measure readers of a log in Spark: `kafkalog`, from a directory and from a broker, and Spark's own connector.

All read the same segments into the same seven columns. A query either counts the records and adds up the lengths of the
values, or writes every row to Spark's `noop` sink. The counts must agree.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from . import generate, serving
from .processes import Usage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "generated"
PARTITIONS = 4
LARGER_FETCHES = {"kafka.max.partition.fetch.bytes": str(8 << 20), "kafka.max.poll.records": "10000"}
"""Settings that make the connector faster; the defaults are 1 MiB and 500 records."""
MAX_MEMORY_LOG_BYTES = 2 << 30


class Figure(NamedTuple):
    """The time and memory that one reader used for one query on one log."""

    reader: str
    seconds: float
    cpu_s: float
    worker_mib: float


def count_and_size(rows: DataFrame) -> tuple[int, int]:
    """Return the number of rows and the total size of their values in bytes."""
    [row] = rows.selectExpr("count(*) AS count", "sum(length(value)) AS bytes").collect()
    return row["count"], row["bytes"]


def write_to_noop(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


QUERIES: Mapping[str, Callable[[DataFrame], object]] = {
    "count, sum(length(value))": count_and_size,
    "all rows to noop": write_to_noop,
}


class Log(NamedTuple):
    """A directory with one topic, and the size of its log."""

    directory: Path
    records: int
    value_bytes: int
    size: int


def generated(
    spark: SparkSession, directory: Path, size: int, value_bytes: int, partitions: int = PARTITIONS, **options: object
) -> Log:
    """Generate a log of about `size` bytes."""
    records = generate.count_of(size, value_bytes)
    generate.write(generate.frame(spark, records, value_bytes, partitions), TOPIC, partitions, directory, **options)
    return Log(directory, records, value_bytes, generate.size_of(directory))


def readers(spark: SparkSession, log: Log, stack: ExitStack, *, alone: bool) -> dict[str, DataFrame]:
    """Return the data frames to measure, by name; `stack` stops the brokers that serve them."""
    kafkalet = stack.enter_context(serving.kafkalet(log.directory))
    found = {
        "kafkalog, directory": from_directory(spark, log.directory),
        "kafkalog, kafkalet": from_broker(spark, "kafkalog", kafkalet),
        "connector, kafkalet": from_broker(spark, "kafka", kafkalet),
    }
    if not alone:
        kafka = stack.enter_context(serving.apache_kafka(log.directory, {TOPIC: PARTITIONS}))
        found["connector, Kafka 3.9"] = from_broker(spark, "kafka", kafka)
        found["the same, larger fetches"] = from_broker(spark, "kafka", kafka, **LARGER_FETCHES)
        found["kafkalog, Kafka 3.9"] = from_broker(spark, "kafkalog", kafka)
    return found


def from_directory(spark: SparkSession, directory: Path, **options: object) -> DataFrame:
    given = {"includeHeaders": "false"} | {name: str(value) for name, value in options.items()}
    return spark.read.format("kafkalog").options(**given).load(str(directory))


def from_broker(spark: SparkSession, source: str, servers: str, **options: str) -> DataFrame:
    given = {"kafka.bootstrap.servers": servers, "subscribe": TOPIC, "includeHeaders": "false"} | options
    return spark.read.format(source).options(**given).load()


def measured(log: Log, frames: Mapping[str, DataFrame], query: str, runs: int) -> Iterator[Figure]:
    """Run a query with each reader in turn, `runs` times, and yield the medians of each reader."""
    figures: dict[str, list[Figure]] = {name: [] for name in frames}
    for _ in range(runs):
        for name, rows in frames.items():
            with Usage() as usage:
                begun = time.perf_counter()
                answer = QUERIES[query](rows)
                seconds = time.perf_counter() - begun
            figures[name].append(Figure(name, seconds, usage.cpu_s, usage.worker_mib))
            if answer not in (None, (log.records, log.records * log.value_bytes)):
                raise SystemExit(f"{name} returned {answer}, expected {log.records:,} records")
    for name, found in figures.items():
        _, took, cpu, peaks = zip(*found, strict=True)
        yield Figure(name, median(took), median(cpu), max(peaks))


def worker_memory(spark: SparkSession, root: Path, size: int) -> Iterator[tuple[str, float]]:
    """Yield the peak memory of a worker that reads a log of one partition, by segment size and task size."""
    for segment, tasks in (("16m", ("16m", "4g")), ("1g", ("16m", "128m", "4g"))):
        directory = root / f"segments-{segment}"
        generated(spark, directory, min(size, MAX_MEMORY_LOG_BYTES), 100, 1, segmentBytes=segment)
        for task in tasks:
            rows = from_directory(spark, directory, maxBytesPerTask=task)
            with Usage() as usage:
                count_and_size(rows)
            yield f"segments of {segment}, tasks of {task}", usage.worker_mib
        shutil.rmtree(directory)
