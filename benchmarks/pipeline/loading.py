"""Measure writers that fill topics with Spark: the load job, the `kafkalog` sink, and Spark's own connector.

All write the same Parquet files, with key, value and partition. `kafkalog` also writes the record timestamps, for which
the connector's sink has no column, and flushes its files to disk before it commits them, which brokers do not.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from . import generate, serving
from .processes import Usage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4


class Figure(NamedTuple):
    """The time and memory that one writer used for all records."""

    writer: str
    seconds: float
    cpu_s: float
    worker_mib: float


class Bench:
    """Rows in Parquet that each writer writes repeatedly to topics below a directory."""

    def __init__(self, spark: SparkSession, root: Path, size: int, value_bytes: int) -> None:
        self.spark, self.root = spark, root
        self.value_bytes = value_bytes
        self.records = generate.count_of(size, value_bytes)
        self._numbers = itertools.count()
        path = str(root / f"rows-{value_bytes}.parquet")
        generate.frame(spark, self.records, value_bytes, PARTITIONS).write.mode("overwrite").parquet(path)
        self.rows: DataFrame = spark.read.parquet(path)

    def measured(self, runs: int, *, alone: bool) -> Iterator[Figure]:
        """Run the writers in turn, `runs` times, and yield the medians of each."""
        with ExitStack() as stack:
            writers = self._writers(stack, alone=alone)
            figures: dict[str, list[Figure]] = {name: [] for name in writers}
            for _ in range(runs):
                for name, write in writers.items():
                    with Usage() as usage:
                        begun = time.perf_counter()
                        write(f"loaded-{next(self._numbers)}")
                        seconds = time.perf_counter() - begun
                    figures[name].append(Figure(name, seconds, usage.cpu_s, usage.worker_mib))
                    shutil.rmtree(self.root / "loaded", ignore_errors=True)
        for name, found in figures.items():
            _, seconds_, cpu, peaks = zip(*found, strict=True)
            yield Figure(name, median(seconds_), median(cpu), max(peaks))

    def _writers(self, stack: ExitStack, *, alone: bool) -> dict[str, Callable[[str], None]]:
        found: dict[str, Callable[[str], None]] = {
            "load, in order already": lambda topic: self._load(topic, self.rows),
            "load, to be sorted": lambda topic: self._load(topic, self._disordered()),
            "kafkalog, as it comes": self._sink,
        }
        brokers = {"connector, kafkalet": serving.kafkalet()}
        if not alone:
            brokers["connector, Kafka 3.9"] = serving.apache_kafka()
        for name, broker in brokers.items():
            servers = stack.enter_context(broker)
            found[name] = lambda topic, servers=servers: self._connector(topic, servers)  # type: ignore[misc]
        return found

    def _disordered(self) -> DataFrame:
        """Return the same rows with timestamps that are unrelated to their order."""
        from pyspark.sql import functions

        time = f"timestamp_millis({generate.FIRST_MS} + pmod(hash(key), {self.records}))"
        return self.rows.withColumn("timestamp", functions.expr(time))

    def _load(self, topic: str, rows: DataFrame) -> None:
        from kafkalet_spark.writing.load import LoadOptions, load

        options = {"topic": topic, "partitions": str(PARTITIONS), "segmentMs": "3650d"}
        load(self.spark, rows, LoadOptions(str(self.root / "loaded"), options))

    def _sink(self, topic: str) -> None:
        generate.write(self.rows, topic, PARTITIONS, self.root / "loaded", durable=True)

    def _connector(self, topic: str, servers: str) -> None:
        serving.create(servers, {topic: PARTITIONS})
        options = {"kafka.bootstrap.servers": servers, "topic": topic}
        self.rows.select("key", "value", "partition").write.format("kafka").options(**options).save()
