"""Drivers that are killed with SIGKILL in the middle of their work, which is then completed exactly once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet_spark.dumping import dump_runs
from kafkalet_spark.dumping.dump import dump, dump_options
from kafkalet_spark.session import spark_session

from .killed import run_until_killed, wait_to_be_killed
from .settings import QUICK

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

RECORDS = 60
PARTITIONS = 2


class Killed(NamedTuple):
    """The files of a driver that was killed in the middle of a stream's batch, and between two renames of a dump."""

    logs: str
    """The input log directory: topic `t` with the numbers below RECORDS, in two partitions."""
    place: str
    """The output and checkpoint of the stream."""
    out: str
    """The output of the dump."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """One driver for both tests, because starting a JVM takes long."""
    folder = tmp_path_factory.mktemp("killed")
    left = Killed(fill(folder / "data"), str(folder / "place"), str(folder / "out"))
    run_until_killed(work_until_killed, folder / "moment", *left)
    return left


def fill(directory: Path) -> str:
    with kafkalet.Broker(data_dir=directory) as broker:
        broker.topic("t").create(PARTITIONS)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for number in range(RECORDS):
            producer.produce("t", b"%d" % number, b"k", number % PARTITIONS)
        assert producer.flush(60) == 0
    return str(directory)


def work_until_killed(logs: str, place: str, out: str) -> None:
    """Dump until the first file of a committed run is in place, then stream."""
    from kafkalet_spark.dumping import dump as module

    spark = spark_session("local[2]", conf={**QUICK, "spark.log.level": "OFF"})

    def finish(out: str, run: dump_runs.DumpRun, before: Any) -> Any:
        dump_runs.finish(out, run._replace(files=run.files[:1]), before)
        start(spark, logs, place, kills=True).awaitTermination()

    module.finish = finish  # type: ignore[assignment]
    dump_runs.write_manifest = lambda *_: None  # type: ignore[assignment]
    dump(spark, dump_options({"path": logs}, out, "parquet"), lambda _: None)


def start(spark: SparkSession, logs: str, place: str, kills: bool) -> Any:
    """Start a query that copies the log to Parquet, 20 offsets at a time; with `kills`, it waits to be killed."""

    def copied(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if kills and max(map(int, batch.column("value").to_pylist()), default=0) >= RECORDS // 2:
                wait_to_be_killed()

    options = {"subscribe": "t", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "20"}
    frame = spark.readStream.format("kafkalog").options(**options).load(logs)
    values = frame.selectExpr("CAST(value AS STRING) AS value").mapInArrow(copied, "value string")
    writer = values.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
    return writer.trigger(availableNow=True).start(f"{place}/rows")


def values(table: DataFrame) -> Counter[int]:
    return Counter(int(row.value) for row in table.collect())


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_stream_with_killed_driver_reads_each_record_once(spark: SparkSession, killed: Killed) -> None:
    place = Path(killed.place)
    before = values(spark.read.parquet(str(place / "rows")))
    assert 0 < before.total() < RECORDS
    assert len(list((place / "checkpoint" / "offsets").glob("[0-9]*"))) > len(
        list((place / "checkpoint" / "commits").glob("[0-9]*"))
    )
    start(spark, killed.logs, killed.place, kills=False).awaitTermination()
    assert values(spark.read.parquet(str(place / "rows"))) == Counter(range(RECORDS))


def test_dump_killed_between_renames_is_finished_by_the_next(spark: SparkSession, killed: Killed) -> None:
    out = Path(killed.out)
    assert len(list(out.glob("topic=t/*/*/*.parquet"))) == 1
    assert (out / dump_runs.STAGING).exists()
    result = dump_options({"path": killed.logs}, str(out), "parquet")
    assert dump(spark, result, lambda _: None) is None
    assert not (out / dump_runs.STAGING).exists()
    rows = spark.read.parquet(str(out)).selectExpr("CAST(value AS STRING) AS value")
    assert values(rows) == Counter(range(RECORDS))
