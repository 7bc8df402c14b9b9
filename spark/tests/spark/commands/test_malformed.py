"""Malformed lines of the input of a load are counted, and reported by file and line."""

from __future__ import annotations

import gzip
import io
import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet_spark.commands import malformed
from kafkalet_spark.commands.command_line import UsageError, parse
from kafkalet_spark.commands.load import prepare
from kafkalet_spark.commands.malformed import Line, Lines, MalformedInput
from kafkalet_spark.commands.running import Running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CSV = "id,at,name\n1,2013-01-01T05:00:00Z,a\n2\n3,2013-01-01T06:00:00Z,c\n4,2013-01-01T07:00:00Z,d,e,f\n2\n"
JSON = '{"id":1,"name":"a"}\n{"id":2,\n{"id":3,"name":"c"}\nnonsense\n'


class Loaded:
    """The output and the records of a load."""

    def __init__(self, spark: SparkSession, tmp_path: Path, *arguments: str) -> None:
        parsed = parse(["load", *arguments, "--data-dir", str(tmp_path / "data"), "--topic", "t"], "p")
        output = io.StringIO()
        assert prepare(parsed).run(Running(spark=spark, output=output)) == 0
        self.summary = output.getvalue().strip().replace(f" into {tmp_path / 'data'}", "")
        self._log = spark.read.format("kafkalog")
        self._path = str(tmp_path / "data")

    @cached_property
    def values(self) -> list[str]:
        return [bytes(row.value).decode() for row in self._log.load(self._path).orderBy("offset").collect()]


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_malformed_lines_of_csv_are_loaded_and_reported(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "in.csv", CSV)
    with caplog.at_level(logging.WARNING, "kafkalet_spark"):
        loaded = Loaded(spark, tmp_path, path, "--value", "id,name")
    assert loaded.summary == "loaded 5 records, 3 from malformed lines"
    assert loaded.values[1] == '{"id":"2","name":null}'
    assert [record.getMessage() for record in caplog.records] == [
        "3 malformed lines were loaded as far as they could be parsed",
        f"malformed: {path}, line 3: 2",
        f"malformed: {path}, line 5: 4,2013-01-01T07:00:00Z,d,e,f",
        f"malformed: {path}, line 6: 2",
    ]


def test_malformed_lines_are_counted_once_if_rows_are_sorted_by_time(spark: SparkSession, tmp_path: Path) -> None:
    text = CSV.replace("\n2\n", "\n2,2013-01-01T05:30:00Z\n")
    loaded = Loaded(spark, tmp_path, written(tmp_path / "in.csv", text), "--timestamp", "at")
    assert loaded.summary == "loaded 5 records, 3 from malformed lines"


def test_malformed_lines_of_csv_are_dropped(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "in.csv", CSV)
    loaded = Loaded(spark, tmp_path, path, "--value", "name", "--option", "mode=dropmalformed")
    assert loaded.summary == "loaded 2 records; dropped 3 malformed lines"
    assert loaded.values == ["a", "c"]
    assert f"malformed: {path}, line 3: 2" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "where"), [("in.csv", CSV, "line 3: 2"), ("in.jsonl", JSON, 'line 2: {"id":2,')]
)
def test_first_malformed_line_fails_a_load_in_failfast_mode(
    spark: SparkSession, tmp_path: Path, name: str, text: str, where: str
) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(MalformedInput) as raised:
        Loaded(spark, tmp_path, path, "--value", "name", "--option", "mode=FAILFAST")
    assert str(raised.value).startswith(f"malformed line in {path}, {where}")


def test_malformed_lines_of_json_are_reported_and_no_column_is_added(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "in.jsonl", JSON)
    loaded = Loaded(spark, tmp_path, path)
    assert loaded.summary == "loaded 4 records, 2 from malformed lines"
    assert loaded.values[:2] == ['{"id":1,"name":"a"}', '{"id":null,"name":null}']
    logged = "\n".join(caplog.messages)  # not caplog.text: PySpark may have changed its format
    assert f'malformed: {path}, line 2: {{"id":2,' in logged
    assert f"malformed: {path}, line 4: nonsense" in logged


def test_text_of_malformed_lines_is_loaded_if_its_column_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path / "in.jsonl", JSON)
    loaded = Loaded(spark, tmp_path, path, "--option", "columnNameOfCorruptRecord=wrong", "--value", "id,wrong")
    assert loaded.values[3] == '{"id":null,"wrong":"nonsense"}'


def test_json_without_a_line_that_can_be_parsed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=r"no line in .* can be parsed as JSON"):
        Loaded(spark, tmp_path, written(tmp_path / "in.jsonl", "a\nb\n"))


def test_line_numbers_are_correct_with_several_files_and_tasks(spark: SparkSession, tmp_path: Path) -> None:
    whole = "".join(f"{n},{n}\n" for n in range(3000))
    (tmp_path / "b.csv").write_text("id,name\n" + whole + "wrong\n" + whole + "wrong\n")
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("id,name\n1,2\n1,2,3\n")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "10000")
    try:
        lines = Lines("csv", {"header": "true"}, [str(tmp_path / "b.csv"), str(tmp_path / "a.csv.gz")])
        first = lines.first(spark)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert first == [
        Line(str(tmp_path / "a.csv.gz"), 3, "1,2,3"),
        Line(str(tmp_path / "b.csv"), 3002, "wrong"),
        Line(str(tmp_path / "b.csv"), 6003, "wrong"),
    ]


def test_only_the_first_malformed_lines_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    malformed.warn([Line("/in.csv", 7, "x" * 200)], 1001, left_out=True)
    assert [record.getMessage() for record in caplog.records] == [
        "1,001 malformed lines were dropped",
        f"malformed: /in.csv, line 7: {'x' * malformed.SHOWN_CHARACTERS}...",
        "malformed: 1,000 more not shown",
    ]


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="must be one of PERMISSIVE, DROPMALFORMED, FAILFAST"):
        Lines("csv", {"MODE": "sloppy"}, ["a"])
