"""All flights that left New York City in 2013, with the steps of `examples/pipeline.py`: each step reads all of
them."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafkalet.testing.cluster import Broker
from tests.source import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses deprecated Python features
    from kafka.partitioner.default import murmur2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # kafka-python's
]

FLIGHTS = 336_776
PLANES = 4043
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Spark's defaults, which other tests change (settings.py)."""


class Example:
    """The example script, with its data in a temporary directory."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._script = runpy.run_path(str(ROOT / "examples" / "pipeline.py"))
        self.spark, self.logs = spark, folder / "logs"
        self.rows = self.step("flights", spark, folder)
        self.sums = self.step("sums", self.rows)
        self.partitions: int = self._script["PARTITIONS"]

    def step(self, name: str, *arguments: object) -> Any:
        return self._script[name](*arguments)


@pytest.fixture(scope="module")
def example(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    """The example, loaded. There are many flights, so Spark compiles its queries, as it does by default."""
    before = {name: str(spark.conf.get(name)) for name in COMPILED}
    for name, value in COMPILED.items():
        spark.conf.set(name, value)
    example = Example(spark, tmp_path_factory.mktemp("flights"))
    example.step("fill", example.rows, example.logs)
    yield example
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def broker(example: Example) -> Iterator[Broker]:
    """A broker of the loaded directory."""
    with example.step("serve", example.logs) as broker:
        yield broker


def test_the_package_has_every_flight(example: Example) -> None:
    assert example.sums.flights == FLIGHTS


def test_a_broker_finds_every_flight_in_its_directory(example: Example, broker: Broker) -> None:
    logs = [broker.topic("flights").log(partition) for partition in range(example.partitions)]
    assert sum(log.log_end_offset for log in logs) == FLIGHTS
    assert all(log.log_start_offset == 0 for log in logs)
    assert all(log.high_watermark == log.last_stable_offset == log.log_end_offset for log in logs)


def test_spark_reads_every_flight_from_the_directory(example: Example) -> None:
    rows = example.step("from_directory", example.spark, example.logs)
    assert example.step("sums", rows) == example.sums


def test_spark_reads_every_flight_from_the_broker(example: Example, broker: Broker) -> None:
    rows = example.step("from_broker", example.spark, broker.bootstrap_servers)
    assert example.step("sums", rows) == example.sums


def test_kafka_python_reads_every_flight(example: Example, broker: Broker) -> None:
    assert example.step("sums_by_kafka_python", broker.bootstrap_servers) == example.sums


@pytest.fixture(scope="module")
def placed(example: Example) -> pa.Table:
    """The partition, key and timestamp of each flight."""
    rows = example.step("from_directory", example.spark, example.logs)
    table: pa.Table = rows.select("key", "partition", "offset", "timestamp").toArrow()
    return table.sort_by([("partition", "ascending"), ("offset", "ascending")])


def test_planes_are_in_the_partitions_of_the_java_producer(example: Example, placed: pa.Table) -> None:
    keyed = placed.select(["key", "partition"]).filter(pc.is_valid(placed["key"]))
    found = keyed.group_by(["key", "partition"]).aggregate([]).to_pylist()
    assert len(found) == PLANES
    assert all((murmur2(row["key"]) & 0x7FFFFFFF) % example.partitions == row["partition"] for row in found)


def test_flights_are_sorted_by_time(example: Example, placed: pa.Table) -> None:
    for partition in range(example.partitions):
        times = placed["timestamp"].filter(pc.equal(placed["partition"], partition)).to_numpy()
        assert len(times)
        assert (times[1:] >= times[:-1]).all()


def test_the_audit_agrees_with_the_files_and_with_the_broker(example: Example, broker: Broker) -> None:
    verdict = example.step("audited", example.spark, example.logs, broker.bootstrap_servers)
    assert verdict.agrees, "\n".join(verdict.lines())
    assert verdict.total("records") == FLIGHTS
    assert verdict.compared is not None
