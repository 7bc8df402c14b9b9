"""Loads: records are assigned to partitions by key, and sorted by time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet_spark.logs.ends import log_end_offset
from kafkalet_spark.logs.transactions import last_stable_offset
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.writing.load import LoadOptions, arranged, load
from kafkalet_spark.writing.rows import BadRows
from spark.tests.unit.writing.making import entries, log, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T0 = 1_600_000_000_000
ROWS = 3000


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """Unsorted records, each of which shares its timestamp with another."""
    return spark.range(0, ROWS, numPartitions=3).selectExpr(
        "if(id % 10 = 0, null, cast(concat('key ', id % 97) as binary)) key",
        "cast(id as string) value",
        f"timestamp_millis({T0} + (id * 7919 % {ROWS}) div 2) timestamp",
    )


def order(path: Path, partition: int = 0, topic: str = "t") -> list[tuple[int, int]]:
    return [(record.timestamp, int(record.value or b"")) for record in records(path, partition, topic)]


def options(path: Path, *, sort: str = "time", **of_the_sink: object) -> LoadOptions:
    texts = {name: str(value) for name, value in of_the_sink.items()}
    return LoadOptions(str(path), {"topic": "t", **texts}, sort=sort)


@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_records_are_partitioned_by_key_and_sorted_by_time(
    spark: SparkSession, frame: DataFrame, tmp_path: Path, partitions: int
) -> None:
    load(spark, frame, options(tmp_path, partitions=partitions))
    found = []
    for partition in range(partitions):
        ordered = order(tmp_path, partition)
        assert ordered == sorted(ordered)
        found += ordered
        keys = {record.key for record in records(tmp_path, partition)} - {None}
        assert {partition_of(key, partitions) for key in keys if key} <= {partition}
    assert sorted(value for _, value in found) == list(range(ROWS))
    assert all(time == T0 + (value * 7919 % ROWS) // 2 for time, value in found)


def test_records_without_key_are_spread(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    load(spark, frame.drop("key"), options(tmp_path, partitions=4))
    assert [len(records(tmp_path, partition)) for partition in range(4)] == [ROWS // 4] * 4


def test_same_input_gives_same_logs(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    for name in ("one", "two"):
        load(spark, frame, options(tmp_path / name, partitions=3, compression="zstd"))
    for partition in range(3):
        one, two = ([batch.to_bytes() for batch in entries(tmp_path / name, partition)] for name in ("one", "two"))
        assert one == two


def test_large_partition_is_written_by_several_tasks(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    rows = arranged(spark, frame, options(tmp_path))
    assert rows.rdd.getNumPartitions() == 4  # two tasks per core, two cores


def test_sorted_input_is_not_shuffled(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    assert arranged(spark, frame, options(tmp_path, sort="none")) is frame
    assert arranged(spark, frame.drop("timestamp"), options(tmp_path)).columns == ["key", "value"]


def test_topic_column_is_used(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    several = frame.selectExpr("*", "concat('topic-', cast(value as int) % 3) topic")
    load(spark, several, LoadOptions(str(tmp_path), {"partitions": '{"topic-1": 2}'}))
    found = {
        (topic, partition): order(tmp_path, partition, f"topic-{topic}")
        for topic, partition in ((0, 0), (1, 0), (1, 1), (2, 0))
    }
    assert all(ordered == sorted(ordered) for ordered in found.values())
    assert sorted(value for (topic, _), ordered in found.items() for _, value in ordered) == list(range(ROWS))
    assert all(value % 3 == topic for (topic, _), ordered in found.items() for _, value in ordered)


def test_partition_column_is_used(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    load(spark, frame.selectExpr("*", "cast(value as int) % 5 partition"), options(tmp_path))
    for partition in range(5):
        ordered = order(tmp_path, partition)
        assert ordered == sorted(ordered)
        assert {value % 5 for _, value in ordered} == {partition}


def test_records_without_timestamp_are_last_with_time_of_the_load(
    spark: SparkSession, frame: DataFrame, tmp_path: Path
) -> None:
    some = frame.selectExpr("value", "if(cast(value as int) < 5, null, timestamp) timestamp")
    load(spark, some, options(tmp_path))
    *_, last = order(tmp_path)
    ordered = order(tmp_path)
    assert {value for _, value in ordered[-5:]} == set(range(5))
    assert last[0] > T0 + ROWS


def test_transactions_of_a_partition_are_written_by_one_task(
    spark: SparkSession, frame: DataFrame, tmp_path: Path
) -> None:
    shape = {"transactionalShare": 0.5, "abortedShare": 0.3, "transactionSize": 20, "openTransactions": 1}
    load(spark, frame, options(tmp_path, partitions=2, **shape))
    for partition in range(2):
        found = log(tmp_path, partition)
        assert log_end_offset(found) - 60 < last_stable_offset(found) < log_end_offset(found)


def test_second_load_appends_or_replaces(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    for overwrite, expected in ((False, ROWS), (False, 2 * ROWS), (True, ROWS)):
        load(spark, frame, options(tmp_path)._replace(overwrite=overwrite))
        assert len(records(tmp_path)) == expected


def test_invalid_input_is_rejected_before_reading(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(BadRows, match="unsupported column price"):
        load(spark, frame.selectExpr("*", "1.5 price"), options(tmp_path))
    with pytest.raises(BadOption, match="sort must be time or none, not key"):
        load(spark, frame, options(tmp_path, sort="key"))
    with pytest.raises(BadOption, match="unknown write option batch"):
        load(spark, frame, options(tmp_path, batch=3))
