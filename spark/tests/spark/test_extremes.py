"""Extreme records, timestamps and numbers of partitions, through load, source and dump."""

from __future__ import annotations

import hashlib
import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_spark.commands.command_line import parse
from kafkalet_spark.commands.load import prepare
from kafkalet_spark.commands.running import Running
from kafkalet_spark.dumping.dump import dump, dump_options, plan
from kafkalet_spark.failures import JobFailed
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.options import read_options
from kafkalet_spark.source import LogReader
from kafkalet_spark.tasks import ReadTask
from kafkalet_spark.writing.load import LoadOptions, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = int(os.environ.get("KAFKALET_TEST_PARTITIONS", "500"))
"""The number of partitions in the test of many partitions; 10000 takes a minute or two."""
GIANT_BYTES = 24_000_000
LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the maximum of Python's datetime."""


def read(directory: Path, **texts: str) -> list[dict[str, object]]:
    """Return the rows of a directory, read without Spark."""
    options = read_options({"path": str(directory), **texts})
    reader = LogReader(("topic", "partition", "offset", "timestamp", "key", "value", "headers"), options)
    return [
        row
        for task in reader.partitions()
        if isinstance(task, ReadTask)
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]


# Times


def test_times_to_the_end_of_the_year_9999_are_loaded_read_and_dumped(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        f"SELECT timestamp_millis(t) AS timestamp, CAST(t AS STRING) AS value FROM VALUES (0L), ({LAST_MS}L) AS x(t)"
    )
    load(spark, frame, LoadOptions(str(tmp_path / "data"), {"topic": "t"}))
    rows = read(tmp_path / "data")
    assert [row["value"] for row in rows] == [b"0", b"%d" % LAST_MS]
    assert [row["timestamp"] for row in rows] == [
        datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, UTC),
    ]  # fmt: skip
    dump(spark, dump_options({"path": str(tmp_path / "data")}, str(tmp_path / "out"), "jsonl"), lambda _: None)
    lines = [json.loads(path.read_text()) for path in sorted((tmp_path / "out").glob("topic=t/*/*/*"))]
    assert [line["timestamp"] for line in lines] == ["1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]
    assert {path.name for path in (tmp_path / "out" / "topic=t" / "partition=0").iterdir()} == {
        "date=1970-01-01", "date=9999-12-31",
    }  # fmt: skip
    by_time = read(tmp_path / "data", startingTimestamp=str(LAST_MS))
    assert [row["offset"] for row in by_time] == [1]


def test_time_before_1970_is_rejected_by_load_with_the_value(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("SELECT timestamp'1969-12-31 23:59:59' AS timestamp, 'v' AS value")
    with pytest.raises(JobFailed, match=r"^Invalid timestamp: -1000\. Timestamp should always be non-negative"):
        load(spark, frame, LoadOptions(str(tmp_path / "data"), {"topic": "t"}))
    assert list((tmp_path / "data").glob("t-*")) == []


def test_time_before_1970_in_a_log_is_read(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path / "data", topics=["t"]) as broker:
        broker.topic("t").append(build_batch(numbered([(-86_400_000, b"k", b"v", ())])))
    (row,) = read(tmp_path / "data")
    assert row["timestamp"] == datetime(1969, 12, 31, tzinfo=UTC)


# Text

SCRIPTS = "Grüße 東京 🛫 \u202eabc\u202c e\u0301 \x00"


def test_keys_values_and_headers_of_any_script_survive_load_and_dump(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [(SCRIPTS, SCRIPTS, [(SCRIPTS, SCRIPTS.encode())])],
        "key string, value string, headers array<struct<key:string,value:binary>>",
    )
    load(spark, frame, LoadOptions(str(tmp_path / "data"), {"topic": "t"}))
    (row,) = read(tmp_path / "data")
    assert (row["key"], row["value"]) == (SCRIPTS.encode(), SCRIPTS.encode())
    assert row["headers"] == [{"key": SCRIPTS, "value": SCRIPTS.encode()}]
    dump(spark, dump_options({"path": str(tmp_path / "data")}, str(tmp_path / "out"), "jsonl"), lambda _: None)
    (path,) = (tmp_path / "out").glob("topic=t/*/*/*")
    (line,) = path.read_bytes().decode().rstrip("\n").split("\n")
    found = json.loads(line)
    assert (found["key"], found["value"], found["headers"]) == (SCRIPTS, SCRIPTS, [{"key": SCRIPTS, "value": SCRIPTS}])


@pytest.mark.parametrize("topic", ["flüge", "航班", "a b", "a/b", "..", "x" * 250])
def test_invalid_topic_name_is_rejected_by_name(spark: SparkSession, tmp_path: Path, topic: str) -> None:
    with pytest.raises(BadOption, match="invalid topic name"):
        load(spark, spark.sql("SELECT 'v' AS value"), LoadOptions(str(tmp_path), {"topic": topic}))
    with pytest.raises(BadOption, match="has no topic"):
        read(tmp_path, subscribe=topic)


def test_group_name_of_any_script_is_accepted(tmp_path: Path) -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        live = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t", "kafka.group.id": "群 é"}
        assert LogReader(("offset",), read_options(live)).partitions() == []


# Sizes


def test_giant_record_is_loaded_read_and_dumped(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(f"SELECT repeat('key', 1000) AS key, repeat('0123456789', {GIANT_BYTES // 10}) AS value")
    load(spark, frame, LoadOptions(str(tmp_path / "data"), {"topic": "t", "compression": "zstd"}))
    table = spark.read.format("kafkalog").option("maxBytesPerTask", "1k").load(str(tmp_path / "data"))
    (row,) = table.selectExpr("length(key) AS key", "length(value) AS value", "md5(value) AS md5").collect()
    assert (row.key, row.value) == (3000, GIANT_BYTES // 10 * 10)
    for file_format in ("parquet", "jsonl"):
        dump(
            spark,
            dump_options({"path": str(tmp_path / "data")}, str(tmp_path / file_format), file_format),
            lambda _: None,
        )
    (dumped,) = spark.read.parquet(str(tmp_path / "parquet")).selectExpr("md5(value) AS md5").collect()
    assert dumped.md5 == row.md5
    (path,) = (tmp_path / "jsonl").glob("topic=t/*/*/*")  # Spark limits JSON strings to 20 million characters
    assert hashlib.md5(json.loads(path.read_text())["value"].encode()).hexdigest() == row.md5


def test_many_small_partitions_are_planned_read_and_followed(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    from kafkalet_spark.stream import LogStream

    with kafkalet.Broker(data_dir=tmp_path / "data", config={"log.retention.ms": "-1"}) as broker:
        broker.topic("many").create(PARTITIONS)
        for partition in range(PARTITIONS):
            broker.topic("many").append(build_batch(numbered([(1000, b"k", b"%d" % partition, ())])), partition)
        live = read_options({"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "many"})
        assert len(LogReader(("offset",), live).partitions()) == PARTITIONS
    directory = {"path": str(tmp_path / "data")}
    assert sorted(int(str(row["partition"])) for row in read(tmp_path / "data")) == list(range(PARTITIONS))
    stream = LogStream(("offset",), read_options({**directory, "maxOffsetsPerTrigger": "1"}, streaming=True))
    start = {"many": {str(partition): 0 for partition in range(PARTITIONS)}}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"many": {str(partition): 1 for partition in range(PARTITIONS)}}
    assert stream.latestOffset(start, stream.getDefaultReadLimit()) == end
    found = plan(dump_options(directory, str(tmp_path / "out"), "parquet"))
    assert len(found.covered) == PARTITIONS


# JDBC


def test_database_table_is_copied_to_a_log_and_back(spark: SparkSession, tmp_path: Path) -> None:
    """Derby is a database that comes with Spark."""
    driver = "org.apache.derby.jdbc.EmbeddedDriver"
    try:
        spark._jvm.java.lang.Class.forName(driver)  # type: ignore[union-attr]
    except Exception as reason:  # noqa: BLE001 - py4j's own
        pytest.skip(f"this Spark comes without Derby: {reason}")
    url = f"jdbc:derby:memory:{tmp_path.name};create=true"
    rows = spark.sql("SELECT CAST(id AS STRING) AS name, timestamp_millis(id * 1000) AS made FROM range(100)")
    rows.write.jdbc(url, "things", properties={"driver": driver})
    options = {"url": url, "dbtable": "things", "driver": driver}
    arguments = [part for name, text in options.items() for part in ("--option", f"{name}={text}")]
    columns = ["--key", "name", "--value", "name", "--timestamp", "made"]
    target = ["--data-dir", str(tmp_path / "data"), "--topic", "things"]
    result = parse(["load", "--from", "jdbc", *arguments, *columns, *target], "p")
    output = io.StringIO()
    assert prepare(result).run(Running(spark=spark, output=output)) == 0
    assert output.getvalue().startswith("loaded 100 records")
    assert [int(bytes(row["key"])) for row in read(tmp_path / "data")] == list(range(100))  # type: ignore[arg-type]
    log = spark.read.format("kafkalog").load(str(tmp_path / "data"))
    log.selectExpr("offset", "CAST(key AS STRING) AS name").write.jdbc(url, "logged", properties={"driver": driver})
    assert spark.read.jdbc(url, "logged", properties={"driver": driver}).count() == 100
