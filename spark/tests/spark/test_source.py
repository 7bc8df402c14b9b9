"""`kafkalog` returns the records that consumers see, from a directory and from a broker."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.options import read_options
from kafkalet_spark.source import LogReader, default_columns
from kafkalet_spark.tasks import ReadTask

from .history import PARTITIONS, T0, ConsumedRecord, History

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession


def as_seen(row: Any) -> ConsumedRecord:
    row = row if isinstance(row, dict) else row.asDict(recursive=True)
    milliseconds = round(row["timestamp"].timestamp() * 1000)
    headers = row["headers"] and tuple((header["key"], header["value"]) for header in row["headers"])
    value = {name: None if row[name] is None else bytes(row[name]) for name in ("key", "value")}
    return ConsumedRecord(
        row["topic"], row["partition"], row["offset"], value["key"], value["value"], milliseconds,
        row["timestampType"], headers,
    )  # fmt: skip


def planned(path: Path | None = None, **texts: str) -> tuple[LogReader, list[Any]]:
    """Return the reader with these options, and its tasks, without Spark."""
    given = {key.replace("_", "."): text for key, text in texts.items()}
    options = read_options({"path": str(path), **given} if path else given)
    reader = LogReader(default_columns(options), options)
    return reader, [task for task in reader.partitions() if isinstance(task, ReadTask)]


def rows(path: Path | None = None, **texts: str) -> list[dict[str, Any]]:
    reader, tasks = planned(path, **texts)
    found = [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def format_of(spark: SparkSession) -> DataFrameReader:
    return spark.read.format("kafkalog")


# With Spark


def test_spark_reads_every_record_like_a_consumer(spark: SparkSession, written: History) -> None:
    frame = format_of(spark).option("subscribe", "plain").load(str(written.directory))
    found = frame.orderBy("partition", "offset").collect()
    assert [as_seen(row) for row in found] == written.plain


def test_spark_reads_committed_records(spark: SparkSession, written: History) -> None:
    reading = format_of(spark).option("subscribe", "txn").option("isolationLevel", "read_committed")
    assert [
        as_seen(row) for row in reading.load(str(written.directory)).orderBy("offset").collect()
    ] == written.committed


def test_workers_use_the_callers_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable


def test_spark_reads_a_live_broker(spark: SparkSession, written: History, serving: str) -> None:
    reading = format_of(spark).option("subscribe", "plain").option("kafka.bootstrap.servers", serving)
    found = reading.load().orderBy("partition", "offset").collect()
    assert [as_seen(row) for row in found] == written.plain


def test_schema_is_that_of_sparks_kafka_source_with_headers(spark: SparkSession, written: History) -> None:
    assert format_of(spark).load(str(written.directory)).schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )


def test_schema_selects_columns(spark: SparkSession, written: History) -> None:
    reading = format_of(spark).schema("`offset` bigint, `partition` int").option("subscribe", "txn")
    found = reading.load(str(written.directory)).orderBy("offset").collect()
    assert [(row.offset, row.partition) for row in found] == [(record.offset, 0) for record in written.uncommitted]


def test_schema_with_unknown_column_is_rejected(spark: SparkSession, written: History) -> None:
    with pytest.raises(Exception, match="unknown column color"):
        format_of(spark).schema("color string").load(str(written.directory)).collect()


def partitions_of(frame: DataFrame) -> int:
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def test_pushed_filters_reduce_tasks_but_not_results(spark: SparkSession, written: History) -> None:
    reading = format_of(spark).option("maxBytesPerTask", "10k").option("pushFilters", "true")
    narrowed = reading.load(str(written.directory)).where(
        "topic = 'plain' and partition = 1 and offset >= 500 and offset < 510"
    )
    assert [row.offset for row in narrowed.collect()] == list(range(500, 510))
    assert partitions_of(narrowed) < partitions_of(reading.load(str(written.directory))) / 4


@pytest.mark.parametrize("sign", [">=", "="])
def test_timestamp_filter_loses_no_record(spark: SparkSession, written: History, sign: str) -> None:
    at = T0 + 12340
    reading = format_of(spark).option("subscribe", "plain").option("pushFilters", "true")
    frame = reading.load(str(written.directory)).where(f"timestamp {sign} timestamp_millis({at})")
    expected = [each for each in written.plain if each.timestamp == at or (sign == ">=" and each.timestamp > at)]
    assert sorted((row.partition, row.offset) for row in frame.collect()) == [each[1:3] for each in expected]


def test_dataframe_can_be_filtered_repeatedly(spark: SparkSession, written: History) -> None:
    frame = format_of(spark).load(str(written.directory))
    assert frame.where("topic = 'plain' and offset < 3").count() == 3 * PARTITIONS
    assert frame.count() == len(written.plain) + len(written.uncommitted)


def test_invalid_option_is_named(spark: SparkSession, written: History) -> None:
    with pytest.raises(Exception, match="isolationLevel must be one of"):
        format_of(spark).option("isolationLevel", "some").load(str(written.directory))


# Without


@pytest.mark.parametrize("live", [False, True], ids=["directory", "broker"])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_isolation_levels_match_a_consumer(written: History, serving: str, live: bool, level: str) -> None:
    where = {"kafka_bootstrap_servers": serving} if live else {"path": written.directory}
    found = rows(**where, subscribe="txn", isolationLevel=level)  # type: ignore[arg-type]
    assert [as_seen(row) for row in found] == (written.committed if level == "read_committed" else written.uncommitted)


@pytest.mark.parametrize("size", ["100", "1k", "30k"])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_each_record_is_read_once_for_any_split(written: History, size: str, level: str) -> None:
    plain = rows(written.directory, subscribe="plain", maxBytesPerTask=size)
    assert [as_seen(row) for row in plain] == written.plain
    txn = rows(written.directory, subscribe="txn", maxBytesPerTask=size, isolationLevel=level)
    assert [as_seen(row) for row in txn] == (written.committed if level == "read_committed" else written.uncommitted)


@pytest.mark.parametrize("live", [False, True], ids=["directory", "broker"])
def test_min_partitions_is_reached(written: History, serving: str, live: bool) -> None:
    where = {"kafka_bootstrap_servers": serving} if live else {"path": written.directory}
    _, tasks = planned(**where, subscribe="plain", minPartitions="12")  # type: ignore[arg-type]
    assert 12 <= len(tasks) <= 12 + PARTITIONS


@pytest.mark.parametrize("live", [False, True], ids=["directory", "broker"])
def test_tasks_respect_max_records_per_partition(written: History, serving: str, live: bool) -> None:
    where = {"kafka_bootstrap_servers": serving} if live else {"path": written.directory}
    _, tasks = planned(**where, subscribe="plain", maxRecordsPerPartition="300")  # type: ignore[arg-type]
    assert max(task.want.end - task.want.start for task in tasks) <= 300


@pytest.mark.parametrize("live", [False, True], ids=["directory", "broker"])
def test_offsets_inside_batches_are_exact(written: History, serving: str, live: bool) -> None:
    where = {"kafka_bootstrap_servers": serving} if live else {"path": written.directory}
    starts, ends = {"0": 17, "1": 501, "2": 999}, {"0": 400, "1": 502, "2": -1}
    found = rows(
        **where,  # type: ignore[arg-type]
        subscribe="plain",
        startingOffsets=json.dumps({"plain": starts}),
        endingOffsets=json.dumps({"plain": ends}),
    )
    expected = [*(("plain", 0, at) for at in range(17, 400)), ("plain", 1, 501), ("plain", 2, 999)]
    assert [(row["topic"], row["partition"], row["offset"]) for row in found] == expected


@pytest.mark.parametrize("live", [False, True], ids=["directory", "broker"])
def test_timestamp_lookups_match_a_broker(written: History, serving: str, live: bool) -> None:
    where = {"kafka_bootstrap_servers": serving} if live else {"path": written.directory}
    found = rows(**where, subscribe="txn", startingTimestamp=str(T0 + 15), endingTimestamp=str(T0 + 19))  # type: ignore[arg-type]
    first = next(record.offset for record in written.uncommitted if record.timestamp >= T0 + 15)
    last = next(record.offset for record in written.uncommitted if record.timestamp >= T0 + 19)
    assert [row["offset"] for row in found] == [
        each.offset for each in written.uncommitted if first <= each.offset < last
    ]


def test_batch_columns_are_read_on_request(written: History) -> None:
    found = rows(written.directory, subscribe="txn", includeBatch="true", includeControl="true")
    control = [row for row in found if row["control"]]
    assert len(control) == 12
    assert all(row["transactional"] and row["producerId"] >= 0 for row in control)
    assert {row["codec"] for row in found} == {"none"}
    assert {row["leaderEpoch"] for row in found} == {0}
    assert all(row["baseOffset"] <= row["offset"] for row in found)
    assert {row["producerEpoch"] for row in found if row["producerId"] == -1} == {-1}


def test_all_codecs_are_named(written: History) -> None:
    found = rows(written.directory, subscribe="plain", includeBatch="true")
    assert {row["codec"] for row in found} == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_internal_topics_are_read_by_name(written: History) -> None:
    assert {row["topic"] for row in rows(written.directory)} == {"plain", "txn"}
    assert rows(written.directory, subscribe="__transaction_state")


def test_missing_topic_is_named(written: History) -> None:
    with pytest.raises(BadOption, match="has no topic nothing"):
        rows(written.directory, subscribe="plain,nothing")


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_missing_transaction_index_is_detected(written: History, tmp_path: Path, mode: str) -> None:
    copy = Path(shutil.copytree(written.directory, tmp_path / "data"))
    for index in (copy / "txn-0").glob("*.txnindex"):
        index.unlink()
    if mode == "FAILFAST":
        with pytest.raises(CorruptFile, match="txnindex"):
            rows(copy, subscribe="txn", isolationLevel="read_committed")
    else:
        found = rows(copy, subscribe="txn", isolationLevel="read_committed", mode=mode)
        assert [as_seen(row) for row in found] == written.committed
