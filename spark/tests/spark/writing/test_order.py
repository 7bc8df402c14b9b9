"""Sorted input is recognized by its timestamps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkalet_spark.writing.load import LoadOptions, arranged, load
from kafkalet_spark.writing.order import falls, is_in_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS = 3


def rows(spark: SparkSession, milliseconds: str) -> DataFrame:
    """Return 300 rows in three tasks; `milliseconds` is an expression of `id`."""
    time = f"timestamp_millis({milliseconds}) AS timestamp"
    return spark.range(0, 300, 1, TASKS).selectExpr("CAST(id AS STRING) AS value", time)


def fallen(*columns: list[int | None]) -> list[bool]:
    found = falls(pa.array(column, pa.int64()) for column in columns)
    return [each for column in found for each in column.to_pylist()]


def test_decrease_is_found_across_batches() -> None:
    assert fallen([1, 3, 3, 2], [3, 2, 4]) == [False, False, False, True, False, True, False]


def test_null_timestamp_is_unsorted() -> None:
    assert fallen([1, None, 2], [], [2]) == [False, True, False, False]


@pytest.mark.parametrize("milliseconds", ["id", "id DIV 7", "5", "1000 * (2 - id DIV 100) + id % 100"])
def test_ascending_timestamps_are_sorted(spark: SparkSession, milliseconds: str) -> None:
    assert is_in_order(rows(spark, milliseconds))


@pytest.mark.parametrize("milliseconds", ["id % 90", "300 - id", "IF(id = 150, NULL, id)", "IF(id = 199, 201, id)"])
def test_descending_overlapping_or_null_timestamps_are_unsorted(spark: SparkSession, milliseconds: str) -> None:
    assert not is_in_order(rows(spark, milliseconds))


def test_shuffled_input_is_unsorted(spark: SparkSession) -> None:
    assert not is_in_order(rows(spark, "5").repartition(2))


def test_sorted_rows_are_not_shuffled(spark: SparkSession, tmp_path: Path) -> None:
    options = LoadOptions(str(tmp_path / "logs"), {"topic": "t", "partitions": "2"})
    frame = rows(spark, "id")
    assert arranged(spark, frame, options) is frame
    assert arranged(spark, rows(spark, "300 - id"), options) is not frame


@pytest.mark.parametrize("milliseconds", ["id", "300 - id"])
def test_logs_are_sorted_for_any_input(spark: SparkSession, tmp_path: Path, milliseconds: str) -> None:
    load(spark, rows(spark, milliseconds), LoadOptions(str(tmp_path / "logs"), {"topic": "t", "partitions": "2"}))
    found = spark.read.format("kafkalog").load(str(tmp_path / "logs")).orderBy("partition", "offset").collect()
    for number in (0, 1):
        times = [row.timestamp for row in found if row.partition == number]
        assert times == sorted(times)
        assert len(times) == 150
