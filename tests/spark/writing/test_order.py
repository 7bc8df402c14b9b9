"""Sorted input is recognized by its timestamps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkalet.pipeline.writing.load import LoadOptions, arranged, load
from kafkalet.pipeline.writing.order import falls, is_in_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

TASKS = 3


def rows(spark: SparkSession, milliseconds: str) -> DataFrame:
    """Return 300 rows in three tasks; `milliseconds` is an expression of `id`."""
    time = f"timestamp_millis({milliseconds}) AS timestamp"
    return spark.range(0, 300, 1, TASKS).selectExpr("CAST(id AS STRING) AS value", time)


def fallen(*columns: list[int | None]) -> list[bool]:
    found = falls(pa.array(column, pa.int64()) for column in columns)
    return [each for column in found for each in column.to_pylist()]


def test_a_time_is_late_if_one_before_it_is_later_also_in_another_piece() -> None:
    assert fallen([1, 3, 3, 2], [3, 2, 4]) == [False, False, False, True, False, True, False]


def test_no_time_is_in_no_order() -> None:
    assert fallen([1, None, 2], [], [2]) == [False, True, False, False]


@pytest.mark.parametrize("milliseconds", ["id", "id DIV 7", "5", "1000 * (2 - id DIV 100) + id % 100"])
def test_times_that_rise_are_in_order(spark: SparkSession, milliseconds: str) -> None:
    assert is_in_order(rows(spark, milliseconds))


@pytest.mark.parametrize("milliseconds", ["id % 90", "300 - id", "IF(id = 150, NULL, id)", "IF(id = 199, 201, id)"])
def test_times_that_fall_or_overlap_or_are_missing_are_not(spark: SparkSession, milliseconds: str) -> None:
    assert not is_in_order(rows(spark, milliseconds))


def test_what_was_dealt_out_by_a_shuffle_is_not_trusted(spark: SparkSession) -> None:
    assert not is_in_order(rows(spark, "5").repartition(2))


def test_rows_in_order_stay_where_they_are(spark: SparkSession, tmp_path: Path) -> None:
    options = LoadOptions(str(tmp_path / "logs"), {"topic": "t", "partitions": "2"})
    frame = rows(spark, "id")
    assert arranged(spark, frame, options) is frame
    assert arranged(spark, rows(spark, "300 - id"), options) is not frame


@pytest.mark.parametrize("milliseconds", ["id", "300 - id"])
def test_logs_are_in_order_either_way(spark: SparkSession, tmp_path: Path, milliseconds: str) -> None:
    load(spark, rows(spark, milliseconds), LoadOptions(str(tmp_path / "logs"), {"topic": "t", "partitions": "2"}))
    found = spark.read.format("kafkalog").load(str(tmp_path / "logs")).orderBy("partition", "offset").collect()
    for number in (0, 1):
        times = [row.timestamp for row in found if row.partition == number]
        assert times == sorted(times)
        assert len(times) == 150
