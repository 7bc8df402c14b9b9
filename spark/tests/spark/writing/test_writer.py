"""The sink: failed jobs, retried tasks, and Spark itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kafkalet_spark.option_types import BadOption
from kafkalet_spark.writing import staging, task
from kafkalet_spark.writing.rows import BadRows
from kafkalet_spark.writing.target import TargetDirectory
from spark.tests.unit.writing.making import load, numbered, records, rows, writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
COLUMNS = ["key", "value", "timestamp"]


def test_only_reported_attempts_are_committed(tmp_path: Path) -> None:
    job = writer(tmp_path, COLUMNS, {"topic": "t"})
    for attempt in (0, 1):  # the first task ran twice, and both attempts completed
        message = job.write_task(iter([numbered(0, 100)]), 0, attempt)
    other = job.write_task(iter([numbered(100, 100)]), 1, 2)
    job.commit([message, other])
    assert len(records(tmp_path)) == 200


def test_failed_attempt_leaves_no_files(tmp_path: Path) -> None:
    job = writer(tmp_path, ["value", "partition"], {"topic": "t", "partitions": 1})
    good = job.write_task(iter([rows(value=[b"x"], partition=[0])]), 0, 0)
    with pytest.raises(BadRows):
        job.write_task(iter([rows(value=[b"x"] * 2, partition=[0, 1])]), 1, 1)
    assert os.listdir(staging.writing(TargetDirectory(str(tmp_path)), job.job)) == ["0-0"]
    job.commit([good])
    assert len(records(tmp_path)) == 1


def test_files_of_killed_attempt_are_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def dying() -> Iterator[pa.RecordBatch]:
        yield numbered(0, 5000)
        raise Killed

    job = writer(tmp_path, COLUMNS, {"topic": "t"})
    with monkeypatch.context() as patch:
        patch.setattr(task, "CHUNK_BYTES", 1000)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process does not clean up
        with pytest.raises(Killed):
            job.write_task(dying(), 0, 0)
    (left,) = Path(staging.writing(TargetDirectory(str(tmp_path)), job.job)).rglob("*.log")
    assert left.stat().st_size > 10_000
    job.commit([job.write_task(iter([numbered(0, 5000)]), 0, 1)])
    assert len(records(tmp_path)) == 5000
    assert not list(tmp_path.glob(".kafkalog-*"))


def test_failed_job_leaves_no_files(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)])
    before = sorted(os.listdir(tmp_path))
    job = writer(tmp_path, COLUMNS, {"topic": "t"})
    message = job.write_task(iter([numbered(0, 100)]), 0, 0)
    job.abort([message, None])
    assert sorted(os.listdir(tmp_path)) == before
    assert len(records(tmp_path)) == 100


def test_topic_without_rows_is_created(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 0)], partitions=2)
    assert [records(tmp_path, partition) for partition in range(2)] == [[], []]


def test_partition_column_determines_number_of_partitions(tmp_path: Path) -> None:
    load(tmp_path, [rows(value=[b"a", b"b"], partition=[0, 4])])
    assert [len(records(tmp_path, partition)) for partition in range(5)] == [1, 0, 0, 0, 1]


def test_keys_are_placed_in_existing_partitions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)], partitions=4)
    load(tmp_path, [numbered(0, 100)])
    for partition in range(4):
        found = [record.value for record in records(tmp_path, partition)]
        assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_append_cannot_reduce_partitions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], partitions=4)
    with pytest.raises(BadOption, match="partitions is 2, but topic t already has 4"):
        load(tmp_path, [numbered(0, 10)], partitions=2)


# With Spark


def save(frame: Any, path: Path, mode: str = "append", **options: Any) -> None:
    frame.write.format("kafkalog").mode(mode).options(topic="t", **options).save(str(path))


def test_spark_reads_back_what_it_has_written(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1000).selectExpr(
        "cast(id % 7 as string) key",
        "cast(id as string) value",
        "timestamp_millis(1600000000000 + id) timestamp",
        "array(named_struct('key', 'n', 'value', cast(cast(id as string) as binary))) headers",
    )
    save(frame, tmp_path, partitions=3, compression="gzip")
    back = spark.read.format("kafkalog").load(str(tmp_path))
    found = back.selectExpr("cast(value as string) v", "cast(headers[0].value as string) h", "unix_millis(timestamp) t")
    rows_found = sorted((int(row.v), int(row.h), row.t) for row in found.collect())
    assert rows_found == [(number, number, 1_600_000_000_000 + number) for number in range(1000)]
    save(back.drop("topic"), tmp_path / "copy")
    assert sum(len(records(tmp_path / "copy", partition)) for partition in range(3)) == 1000


def test_mode_overwrite_replaces_topic(spark: SparkSession, tmp_path: Path) -> None:
    for mode, expected in (("append", 10), ("append", 20), ("overwrite", 10)):
        save(spark.range(10).selectExpr("cast(id as string) value"), tmp_path, mode)
        assert len(records(tmp_path)) == expected


def test_retried_task_writes_no_duplicates(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions

    marks = str(tmp_path / "marks")
    os.makedirs(marks)

    def fail_once(ids: pa.Array) -> pa.Array:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        if ids[0].as_py() % 1000 >= 300 and context.attemptNumber() == 0:
            Path(marks, str(context.partitionId())).touch()
            raise RuntimeError("the first attempt fails")
        return ids.cast(pa.string())

    value = functions.arrow_udf(fail_once, "string")("id")  # type: ignore[attr-defined]
    size = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(size)
    spark.conf.set(size, "100")
    try:
        save(spark.range(0, 2000, numPartitions=2).select(value.alias("value")), tmp_path / "data")
    finally:
        spark.conf.set(size, str(before))
    assert sorted(os.listdir(marks)) == ["0", "1"]
    assert [int(record.value or b"") for record in records(tmp_path / "data")] == list(range(2000))


def test_failed_spark_job_leaves_directory_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(10).selectExpr("cast(id as string) value"), tmp_path)
    before = sorted(os.listdir(tmp_path))
    bad = spark.range(1000).selectExpr("cast(id as string) value", "cast(id as int) partition")
    with pytest.raises(Exception, match=r"partition \d+ of topic t is out of range; it must be 0 to 0"):
        save(bad, tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    assert len(records(tmp_path)) == 10
