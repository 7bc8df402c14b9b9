"""`kafkalet_spark.commands.dump`: the command `dump`."""

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet_spark.commands.command_line import parse
from kafkalet_spark.commands.dump import prepare
from kafkalet_spark.commands.running import Running
from kafkalet_spark.dumping.shape import DumpShape
from kafkalet_spark.logs.directory import UnreadableLog
from kafkalet_spark.option_types import BadOption

from .filled import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("dump") / "data")


def test_options_are_passed_to_the_source() -> None:
    arguments = ["dump", "/d", "--out", "/o", "--format", "jsonl", "--compression", "gzip", "--subscribe", "a"]
    options = prepare(parse(arguments, "p"))._options
    assert options.source == {"paths": '["/d"]', "subscribe": "a"}
    assert (options.out, options.shape) == ("/o", DumpShape("jsonl", "gzip"))


def test_broker_is_passed_to_the_source() -> None:
    source = prepare(parse(["dump", "--bootstrap", "h:1", "--subscribe", "a", "--out", "/o"], "p"))._options.source
    assert source == {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no input is set"),
        (["/d", "--bootstrap", "h:1"], "both a directory and"),
        (["/d", "--isolation-level", "none"], "isolationLevel must be one of"),
        (["/d", "--compression", "brotli"], "compression of parquet must be one of"),
    ],
)
def test_invalid_options_are_refused_before_spark_starts(arguments: list[str], words: str) -> None:
    with pytest.raises(BadOption, match=words):
        prepare(parse(["dump", "--out", "/o", *arguments], "p"))


def test_dry_run_does_not_start_spark_and_writes_nothing(logs: Path, tmp_path: Path) -> None:
    output, out = io.StringIO(), tmp_path / "out"
    prepare(parse(["dump", str(logs), "--out", str(out)], "p")).dry_run(Running(output=output))
    lines = output.getvalue().splitlines()
    assert lines[1].split()[:8] == ["a", "0", "0", "to", "30", "1", "1", lines[1].split()[7]]
    assert lines[2].split()[:6] == ["b", "0", "0", "to", "0", "0"]
    assert ["out", str(out)] in [line.split() for line in lines]
    assert "target file bytes  134217728" in lines
    assert not out.exists()


def dangling(logs: Path, directory: Path) -> Path:
    """Copy the logs, and make topic `a` unreadable."""
    copy = Path(shutil.copytree(logs, directory / "data"))
    segment = copy / "a-0" / "00000000000000000000.log"
    segment.unlink()
    segment.symlink_to("/nowhere")
    return copy


def test_dry_run_fails_with_the_name_of_an_unreadable_partition(logs: Path, tmp_path: Path) -> None:
    copy = dangling(logs, tmp_path)
    job = prepare(parse(["dump", str(copy), "--out", str(tmp_path / "out")], "p"))
    with pytest.raises(UnreadableLog, match=rf"cannot be read: a-0 \({copy}/a-0/0+\.log: it is a link to /nowhere"):
        job.dry_run(Running(output=io.StringIO()))


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_run_fails_with_the_name_of_an_unreadable_partition(
    spark: "SparkSession", logs: Path, tmp_path: Path, mode: str
) -> None:
    job = prepare(parse(["dump", str(dangling(logs, tmp_path)), "--out", str(tmp_path / "out"), "--mode", mode], "p"))
    with pytest.raises(UnreadableLog, match="cannot be read: a-0"):
        job.run(Running(spark=spark, output=io.StringIO()))


def test_unreadable_partition_may_be_excluded(logs: Path, tmp_path: Path) -> None:
    output = io.StringIO()
    arguments = ["dump", str(dangling(logs, tmp_path)), "--out", str(tmp_path / "out"), "--subscribe", "b"]
    prepare(parse(arguments, "p")).dry_run(Running(output=output))
    assert output.getvalue().splitlines()[1].split()[:2] == ["b", "0"]


def test_first_run_reports_its_records_and_second_that_nothing_is_new(
    spark: "SparkSession", logs: Path, tmp_path: Path
) -> None:
    output = io.StringIO()
    job = prepare(parse(["dump", str(logs), "--out", str(tmp_path)], "p"))
    assert job.run(Running(spark=spark, output=output)) == 0
    assert job.run(Running(spark=spark, output=output)) == 0
    first, second = output.getvalue().splitlines()
    assert first.startswith(f"dumped 30 records from 1 partition to {tmp_path}: 1 file, ")
    assert second == f"no new records for {tmp_path}"
