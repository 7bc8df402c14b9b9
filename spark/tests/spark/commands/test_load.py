"""`kafkalet_spark.commands.load`: the command `load`."""

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet_spark.commands.command_line import UsageError, parse
from kafkalet_spark.commands.load import Input, LoadJob, prepare, suffix_of
from kafkalet_spark.commands.record_columns import Roles
from kafkalet_spark.commands.running import Running
from kafkalet_spark.option_types import BadOption

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHTS = "carrier,at,delay,to\nUA,2013-01-01T05:00:00Z,2,X\nAA,2013-01-01T04:00:00Z,,Y\nUA,2013-01-01T06:00:00Z,-1,Z\n"


def job(*arguments: str) -> LoadJob:
    return prepare(parse(["load", *arguments], "p"))


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.csv", ".csv"),
        ("A.CSV.GZ", ".csv"),
        ("a.b.jsonl.zst", ".jsonl"),
        ("a.gz", ""),
        ("a", ""),
        ("/x.y/a.orc", ".orc"),
    ],
)
def test_suffix_below_the_compression_suffix_determines_the_format(name: str, suffix: str) -> None:
    assert suffix_of(name) == suffix


def test_first_file_of_a_folder_determines_the_format(tmp_path: Path) -> None:
    (tmp_path / "_runs").mkdir()
    (tmp_path / "_runs" / "1.json").touch()
    assert suffix_of(str(tmp_path)) == ""
    (tmp_path / "topic=t").mkdir()
    (tmp_path / "_manifest.json").touch()
    (tmp_path / "topic=t" / ".x.parquet.crc").touch()
    (tmp_path / "topic=t" / "x.parquet").touch()
    assert suffix_of(str(tmp_path)) == ".parquet"


@pytest.mark.parametrize(
    ("inputs", "file_format", "options", "found"),
    [
        (["a.csv"], None, {}, ("csv", {"header": "true"})),
        (["a.csv"], None, {"HEADER": "false"}, ("csv", {"HEADER": "false"})),
        (["a.tsv"], None, {}, ("csv", {"header": "true", "sep": "\t"})),
        (["a"], "csv", {"sep": ";"}, ("csv", {"header": "true", "sep": ";"})),
        (["a.jsonl", "b"], None, {}, ("json", {})),
        ([], "jdbc", {"url": "u"}, ("jdbc", {"url": "u"})),
        (["db.t"], "table", {}, ("table", {})),
    ],
)
def test_format_and_options_follow_from_the_command_line(
    inputs: list[str], file_format: str | None, options: dict[str, str], found: tuple[str, dict[str, str]]
) -> None:
    source = Input.of(inputs, file_format, options)
    assert (source.format, source.options) == found


@pytest.mark.parametrize(
    ("inputs", "file_format", "words"),
    [
        (["a.xlsx"], None, r"cannot tell what format a\.xlsx is: use --from parquet"),
        ([], None, "cannot tell what format the input is"),
        (["a", "b"], "table", "requires the name of one table"),
    ],
)
def test_missing_format_or_table_is_an_error(inputs: list[str], file_format: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Input.of(inputs, file_format, {})


def test_columns_and_options_are_those_of_the_command_line() -> None:
    arguments = ["x.csv", "--data-dir", "/d", "--topic", "t", "--key", "a,b", "--value", "c", "--timestamp", "at"]
    arguments += [
        "--headers",
        "h",
        "--partition-column",
        "p",
        "--topic-column",
        "t",
        "--log-append-time",
        "--overwrite",
    ]
    found = job(*arguments, "--batch-size", "4k", "--sort", "none")
    assert found._roles == Roles(("a", "b"), ("c",), "at", "h", "p", "t")
    assert found._options.options == {"topic": "t", "batchSize": "4k", "timestampType": "LogAppendTime"}
    assert (found._options.path, found._options.overwrite, found._options.sort) == ("/d", True, "none")


def test_invalid_options_are_refused_before_spark_starts() -> None:
    with pytest.raises(BadOption, match="compression must be one of"):
        job("x.csv", "--data-dir", "/d", "--topic", "t", "--compression", "brotli")
    with pytest.raises(BadOption, match="invalid topic name"):
        job("x.csv", "--data-dir", "/d", "--topic", "a/b")


def test_missing_topic_is_an_error(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(FLIGHTS)
    with pytest.raises(UsageError, match="no topic is set"):
        job(str(tmp_path / "x.csv"), "--data-dir", str(tmp_path / "d")).run(Running(spark=spark))


def test_dry_run_shows_input_and_records(spark: "SparkSession", tmp_path: Path) -> None:
    path, output = tmp_path / "flights of a year.csv.gz", io.StringIO()
    path.write_bytes(gzip.compress(FLIGHTS.encode()))
    arguments = [str(path), "--data-dir", str(tmp_path / "d"), "--topic", "flights", "--key", "carrier"]
    job(*arguments, "--timestamp", "at", "--partitions", "3").dry_run(Running(spark=spark, output=output))
    shown = dict(line.split(maxsplit=1) for line in output.getvalue().splitlines())
    assert shown["input"] == f"csv, 1 file, {path.stat().st_size} B"
    assert shown["columns"] == "carrier string, at string, delay string, to string"
    assert shown["records"] == "key string, value string, timestamp timestamp"
    assert (shown["topic"], shown["partitions"]) == ("flights", "3")
    assert not (tmp_path / "d").exists()


def test_loaded_records_can_be_read(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(FLIGHTS)
    output, data = io.StringIO(), str(tmp_path / "d")
    arguments = [str(tmp_path / "x.csv"), "--data-dir", data, "--topic", "flights", "--key", "carrier"]
    assert job(*arguments, "--timestamp", "at").run(Running(spark=spark, output=output)) == 0
    assert output.getvalue() == f"loaded 3 records into {data}\n"
    rows = spark.read.format("kafkalog").load(data).selectExpr(
        "offset", "cast(key as string)", "cast(value as string)", "unix_millis(timestamp)"
    )  # fmt: skip
    assert sorted(map(tuple, rows.collect())) == [
        (0, "AA", '{"delay":null,"to":"Y"}', 1357012800000),
        (1, "UA", '{"delay":"2","to":"X"}', 1357016400000),
        (2, "UA", '{"delay":"-1","to":"Z"}', 1357020000000),
    ]


def test_a_table_may_be_loaded(spark: "SparkSession", tmp_path: Path) -> None:
    spark.sql("select 'a' as k, 1 as n").createOrReplaceTempView("loaded")
    output = io.StringIO()
    arguments = ["loaded", "--from", "table", "--data-dir", str(tmp_path / "d"), "--topic", "t", "--key", "k"]
    assert job(*arguments).run(Running(spark=spark, output=output)) == 0
    assert output.getvalue().startswith("loaded 1 record")
