"""`kafkalet_spark.commands.record_columns`: mapping of columns to records."""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalet.broker.seeding.record_files import Columns, LoadError, RecordFile
from kafkalet_spark.commands.command_line import UsageError
from kafkalet_spark.commands.record_columns import Roles, are_records, as_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime.datetime(2013, 1, 1, 10, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("columns", "yes"),
    [
        (["key", "value"], True),
        (["key", "value", "offset", "timestamp", "timestampType", "headers", "topic", "partition", "date"], True),
        (["value"], True),
        (["key", "timestamp"], False),
        (["sensor", "value"], False),
    ],
)
def test_table_of_records_is_recognized_by_its_columns(columns: list[str], yes: bool) -> None:
    assert are_records(columns) is yes


def records(spark: "SparkSession", sql: str, roles: Roles = Roles()) -> list[dict[str, Any]]:  # noqa: B008
    return [row.asDict(recursive=True) for row in as_records(spark.sql(sql), roles).collect()]


def value(spark: "SparkSession", sql: str, roles: Roles = Roles()) -> Any:  # noqa: B008
    return records(spark, sql, roles)[0]["value"]


def test_remaining_columns_are_the_value(spark: "SparkSession") -> None:
    found = records(spark, "select 'UA' as carrier, 7 as delay, null as tail", Roles(key=("carrier",)))
    assert found == [{"key": "UA", "value": '{"delay":7,"tail":null}'}]


def test_single_column_is_written_unchanged(spark: "SparkSession") -> None:
    assert value(spark, "select 'a' as k, X'ff00' as v", Roles(value=("v",))) == bytearray(b"\xff\x00")
    assert value(spark, "select 'text' as line") == "text"
    assert value(spark, "select 1 as k, 42 as v", Roles(value=("v",))) == "42"


def test_single_column_of_a_complex_type_is_written_as_json(spark: "SparkSession") -> None:
    assert value(spark, "select named_struct('a', 1, 'b', array(2)) as v") == '{"a":1,"b":[2]}'


def test_column_may_be_part_of_the_key_and_the_value(spark: "SparkSession") -> None:
    roles = Roles(key=("a", "b"), value=("a", "c"))
    assert records(spark, "select 1 as a, 2 as b, 3 as c", roles) == [
        {"key": '{"a":1,"b":2}', "value": '{"a":1,"c":3}'}
    ]


def test_times_in_a_value_are_utc(spark: "SparkSession") -> None:
    text = value(spark, "select timestamp'2013-01-01 12:00:00+02:00' as at, 1 as b")
    assert json.loads(text) == {"at": "2013-01-01T10:00:00.000Z", "b": 1}


def test_column_names_may_contain_dots(spark: "SparkSession") -> None:
    assert records(spark, "select 'k' as `a.b`, 1 as `c.d`, 2 as e", Roles(key=("a.b",))) == [
        {"key": "k", "value": '{"c.d":1,"e":2}'}
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "timestamp'2013-01-01 10:00:00Z'",
        "timestamp_ntz'2013-01-01 10:00:00'",
        "1357034400000L",
        "'1357034400000'",
        "'2013-01-01T10:00:00Z'",
        "'2013-01-01T11:00:00+01:00'",
        "'2013-01-01 10:00:00'",
    ],
)
def test_timestamps_of_all_formats_are_converted(spark: "SparkSession", expression: str) -> None:
    sql = f"select 'v' as v, {expression} as at"
    table = as_records(spark.sql(sql), Roles(timestamp="at"))
    (found,) = table.selectExpr("unix_millis(timestamp) as ms", "value").collect()
    assert (found["ms"], found["value"]) == (1357034400000, "v")


TIMESTAMPS = (
    "2013-01-01T05:00:00Z",
    "2013-01-01 05:00:00",
    "2013-01-01T05:00",
    "2013-01-01",
    "2013-01-01T05:00:00+01:00",
    "2013-01-01T05:00:00.5+0530",
    "2013-01-01T05:00:00.123956Z",
    "9999-12-31T23:59:59Z",
    "1357016400000",
    " 1357016400000 ",
    "2013",
    "",
    "noon",
    "1.3e12",
)
KEYS = ("a b", "", '""', " ", "null", "NULL", "ä")

Record = tuple[bytes | None, int | None]
"""The key and the timestamp of a record."""


def test_timestamp_equals_that_of_serve(spark: "SparkSession", tmp_path: Path) -> None:
    """Timestamps that serve accepts are in one file. One that it refuses fails the job, so it has a separate file."""
    rows = {field: f"a,{field},v\n" for field in TIMESTAMPS}
    by_serve = {field: loaded_by_serve(tmp_path, row) for field, row in rows.items()}
    taken = [field for field, found in by_serve.items() if found is not None]
    by_spark = loaded_by_spark(spark, tmp_path, *(rows[field] for field in taken))
    assert by_spark is not None
    assert {field: [found] for field, found in zip(taken, by_spark, strict=True)} == {
        field: by_serve[field] for field in taken
    }
    refused = [field for field in TIMESTAMPS if field not in taken]
    assert refused
    for field in refused:
        assert loaded_by_spark(spark, tmp_path, rows[field]) is None, field


def test_key_equals_that_of_serve(spark: "SparkSession", tmp_path: Path) -> None:
    rows = [f"{field},1,v\n" for field in KEYS]
    by_serve = loaded_by_serve(tmp_path, *rows)
    assert by_serve is not None
    assert len(by_serve) == len(KEYS)
    assert loaded_by_spark(spark, tmp_path, *rows) == by_serve


def loaded_by_spark(spark: "SparkSession", tmp_path: Path, *rows: str) -> list[Record] | None:
    """Load a CSV file, and return its records, or None if it is refused."""
    (tmp_path / "x.csv").write_text("k,at,v\n" + "".join(rows))
    table = spark.read.csv(str(tmp_path / "x.csv"), header=True)
    records = as_records(table, Roles(key=("k",), timestamp="at"))
    try:
        found = records.selectExpr("cast(key as binary) as key", "unix_millis(timestamp) as ms").collect()
    except Exception:  # noqa: BLE001 - Spark's own
        return None
    return [(None if row["key"] is None else bytes(row["key"]), row["ms"]) for row in found]


def loaded_by_serve(tmp_path: Path, *rows: str) -> list[Record] | None:
    (tmp_path / "y.csv").write_text("k,at,v\n" + "".join(rows))
    try:
        return [(found.key, found.timestamp) for found in RecordFile(str(tmp_path / "y.csv"), Columns("k", "at"))]
    except LoadError:
        return None


def test_a_date_is_midnight(spark: "SparkSession") -> None:
    table = as_records(spark.sql("select 'v' as v, date'2013-01-01' as at"), Roles(timestamp="at"))
    assert table.selectExpr("unix_millis(timestamp) as ms").collect()[0]["ms"] == 1356998400000


def test_null_timestamp_stays_null(spark: "SparkSession") -> None:
    sql = "select 'v' as v, cast(null as string) as at"
    assert records(spark, sql, Roles(timestamp="at")) == [{"value": "v", "timestamp": None}]


def test_invalid_timestamp_fails(spark: "SparkSession") -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        records(spark, "select 'v' as v, 'noon' as at", Roles(timestamp="at"))
    with pytest.raises(UsageError, match="the column at has type boolean, not a time"):
        records(spark, "select 'v' as v, true as at", Roles(timestamp="at"))


@pytest.mark.parametrize(
    ("expression", "headers"),
    [
        ("array(named_struct('key', 'a', 'value', X'01'))", [("a", b"\1")]),
        ("array(named_struct('name', 'a', 'text', 'x'))", [("a", b"x")]),
        ("map('a', 'x', 'b', null)", [("a", b"x"), ("b", None)]),
        ("named_struct('a', 1, 'b', cast(null as string), 'c', 'x')", [("a", b"1"), ("c", b"x")]),
    ],
)
def test_headers_of_all_types_are_converted(
    spark: "SparkSession", expression: str, headers: list[tuple[str, bytes | None]]
) -> None:
    (found,) = records(spark, f"select 'v' as v, {expression} as h", Roles(headers="h"))
    assert [(each["key"], each["value"]) for each in found["headers"]] == headers


def test_invalid_headers_are_refused(spark: "SparkSession") -> None:
    with pytest.raises(UsageError, match="the column h has type int, not an array, map or struct of headers"):
        records(spark, "select 'v' as v, 1 as h", Roles(headers="h"))


def test_partition_and_topic_may_be_columns(spark: "SparkSession") -> None:
    roles = Roles(partition="p", topic="t")
    assert records(spark, "select 'v' as v, 3L as p, 'orders' as t", roles) == [
        {"value": "v", "topic": "orders", "partition": 3}
    ]


def test_table_of_records_is_loaded_unchanged(spark: "SparkSession") -> None:
    sql = "select 'k' as key, 'v' as value, 5L as offset, 2 as partition, date'2013-01-01' as date"
    assert records(spark, sql) == [{"key": "k", "value": "v", "partition": 2}]


def test_table_of_records_is_an_ordinary_table_if_a_column_is_named(spark: "SparkSession") -> None:
    assert records(spark, "select 'k' as key, 'v' as value, 5L as offset", Roles(key=("key",))) == [
        {"key": "k", "value": '{"value":"v","offset":5}'}
    ]


def test_unknown_column_is_an_error(spark: "SparkSession") -> None:
    with pytest.raises(UsageError, match="unknown column nope; the columns are a, b"):
        records(spark, "select 1 as a, 2 as b", Roles(key=("nope",)))


def test_no_remaining_column_for_the_value_is_an_error(spark: "SparkSession") -> None:
    with pytest.raises(UsageError, match="no column is left for the value"):
        records(spark, "select 1 as a", Roles(key=("a",)))
