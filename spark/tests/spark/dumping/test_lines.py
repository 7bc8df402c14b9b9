"""`kafkalet_spark.dumping.lines`: records as unambiguous JSON."""

import json
from typing import TYPE_CHECKING, Any

from kafkalet_spark.dumping.lines import with_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "key": "X'6b'",
    "value": "X'76'",
    "topic": "'t'",
    "partition": "3",
    "offset": "12L",
    "timestamp": "timestamp_millis(1357035300000)",
    "timestampType": "0",
    "headers": "cast(null as array<struct<key:string,value:binary>>)",
}


def line(spark: "SparkSession", **columns: str) -> dict[str, Any]:
    """Return the line of a record with these columns, given as SQL."""
    sql = ", ".join(f"{expression} as {name}" for name, expression in {**COLUMNS, **columns}.items())
    (row,) = with_lines(spark.sql(f"select {sql}")).collect()
    assert (row["topic"], row["partition"], row["offset"]) == ("t", 3, 12)
    assert row["line"].endswith("}\n")
    assert row["line"].count("\n") == 1
    found: dict[str, Any] = json.loads(row["line"])
    return found


def test_utf8_is_written_as_text(spark: "SparkSession") -> None:
    assert line(spark) == {
        "offset": 12,
        "timestamp": "2013-01-01T10:15:00.000Z",
        "timestampType": "CreateTime",
        "key": "k",
        "value": "v",
    }


def test_other_bytes_are_base64_and_marked(spark: "SparkSession") -> None:
    long = "ff" * 100
    found = line(spark, key=f"X'{long}'", value="X'c3a90a22'")
    assert found["key"] == "/" * 133 + "w=="
    assert found["value"] == 'é\n"'
    assert found["base64"] == ["key"]
    assert line(spark, key="X'80'", value="X'feff'")["base64"] == ["key", "value"]


def test_null_is_omitted(spark: "SparkSession") -> None:
    found = line(spark, key="cast(null as binary)", value="cast(null as binary)", timestampType="-1")
    assert found == {"offset": 12}


def test_empty_value_is_written(spark: "SparkSession") -> None:
    found = line(spark, key="X''", value="X''")
    assert (found["key"], found["value"]) == ("", "")


def test_headers_keep_their_order_and_mark_base64(spark: "SparkSession") -> None:
    headers = "array(('b', X'00ff'), ('a', X'78'), ('b', cast(null as binary)))"
    found = line(spark, headers=f"cast({headers} as array<struct<key:string,value:binary>>)")
    assert found["headers"] == [{"key": "b", "value": "AP8=", "base64": True}, {"key": "a", "value": "x"}, {"key": "b"}]


def test_log_append_time_is_named(spark: "SparkSession") -> None:
    assert line(spark, timestampType="1")["timestampType"] == "LogAppendTime"


def test_batch_columns_are_written(spark: "SparkSession") -> None:
    found = line(spark, codec="'zstd'", producerId="-1L", transactional="false")
    assert (found["codec"], found["producerId"], found["transactional"]) == ("zstd", -1, False)


def test_timestamps_are_utc_in_any_session_time_zone(spark: "SparkSession") -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        assert line(spark)["timestamp"] == "2013-01-01T10:15:00.000Z"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_lines_without_headers_column_have_no_headers(spark: "SparkSession") -> None:
    sql = ", ".join(f"{expression} as {name}" for name, expression in COLUMNS.items() if name != "headers")
    (row,) = with_lines(spark.sql(f"select {sql}")).collect()
    assert "headers" not in json.loads(row["line"])
