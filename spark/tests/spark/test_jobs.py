"""`kafkalet_spark.jobs`: output and exit status of the commands."""

import io
import logging
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalet.properties import InvalidProperty
from kafkalet_spark import jobs
from kafkalet_spark.commands import dump as dump_command
from kafkalet_spark.commands.command_line import UsageError
from kafkalet_spark.jobs import main
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.positions import DataLoss

from .commands.filled import RECORDS, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Restore the log levels of the packages."""
    logs = [logging.getLogger(package) for package in ("kafkalet", "kafkalet_spark")]
    before = [log.level for log in logs]
    yield
    for log, level in zip(logs, before, strict=True):
        log.setLevel(level)


def dry(tmp_path: Path) -> list[str]:
    return ["dump", str(tmp_path), "--out", str(tmp_path / "out"), "--dry-run"]


def test_log_is_dumped_and_loaded_again(spark: "SparkSession", tmp_path: Path) -> None:
    logs, out, output = fill(tmp_path / "data"), str(tmp_path / "out"), io.StringIO()
    assert main(["dump", str(logs), "--out", out], spark=spark, output=output) == 0
    again = str(tmp_path / "again")
    assert (
        main(["load", out, "--data-dir", again, "--partitions", "1", "--topic", "a"], spark=spark, output=output) == 0
    )
    assert main(["audit", again], spark=spark, output=output) == 0
    first, second, *_, last = output.getvalue().splitlines()
    assert first.startswith(f"dumped {RECORDS} records")
    assert second == f"loaded {RECORDS} records into {again}"
    assert last.endswith("everything agrees")
    assert spark.range(3).count() == 3


def test_failed_task_is_reported_in_one_line(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = fill(tmp_path / "data") / "a-0" / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    assert main(["dump", str(tmp_path / "data"), "--out", str(tmp_path / "out")], spark=spark) == 1
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kafkalet-spark:")]
    assert len(shown) == 1
    assert shown[0].startswith(f"kafkalet-spark: {log} cannot be read at position 0")


@pytest.mark.parametrize(
    "arguments",
    [["load", "x", "--data-dir", "d"], ["dump", "d", "--out", "o"], ["audit", "d"], ["audit", "d", "--dry-run"]],
)
def test_commands_without_spark_report_it_in_one_sentence(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jobs, "missing", lambda *, with_java: f"Spark needs something, with_java={with_java}.")
    assert main(arguments) == 1
    needs_java = "--dry-run" not in arguments
    assert capsys.readouterr().err == f"kafkalet-spark: Spark needs something, with_java={needs_java}.\n"


def test_nothing_that_needs_pyspark_is_imported_without_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in ("numpy", "pyarrow", "pyspark") or name.startswith("kafkalet_spark"):
            monkeypatch.delitem(sys.modules, name)
    for name in ("numpy", "pyarrow", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert import_module("kafkalet_spark.jobs").main(["dump", "d", "--out", "o"]) == 1
    assert capsys.readouterr().err == "kafkalet-spark: The pipeline requires pyspark: pip install kafkalet-spark.\n"
    assert import_module("kafkalet_spark.jobs").main(["--help"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fill"], "unknown command fill; see kafkalet-spark --help"),
        (["dump", "d", "--out", "o", "--nope"], "unknown option --nope; see kafkalet-spark dump --help"),
        (["dump", "d", "--out", "o", "--starting-offsets", "latest"], "startingOffsets cannot be latest for a batch"),
        (["dump", "d", "--out", "o", "--conf", "a"], "--conf a: must have the form K=V"),
        (
            ["load", "x.csv", "--data-dir", "d", "--topic", "t", "--batch-size", "many"],
            "batchSize must be a size in bytes",
        ),
        (["load", "x", "--data-dir", "d", "--topic", "t"], "cannot tell what format x is"),
        (["audit", "d", "--option", "a=b"], "--option a: audit accepts only"),
    ],
)
def test_wrong_command_line_exits_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("kafkalet-spark: ")
    assert words in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["load", "--help"]])
def test_help_exits_with_0(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("usage: kafkalet-spark ")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadOption("that"), 2),
        (UsageError("that"), 2),
        (InvalidProperty("x", "y", "bad"), 2),
        (DataLoss("that"), 1),
        (OSError("that"), 1),
        (KeyError("that"), 1),
    ],
)
def test_exception_of_a_job_becomes_a_line_and_an_exit_status(
    error: Exception, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: Namespace) -> Any:
        raise error

    monkeypatch.setattr(dump_command, "prepare", fails)
    assert main(dry(tmp_path)) == status
    assert capsys.readouterr().err == f"kafkalet-spark: {error}\n"


def test_interrupted_job_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: Namespace) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(dump_command, "prepare", fails)
    assert main(dry(tmp_path)) == 1
    assert capsys.readouterr().err == "kafkalet-spark: interrupted\n"


def test_missing_input_is_named(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["load", str(tmp_path / "no.csv"), "--data-dir", str(tmp_path / "d"), "--topic", "t"]
    assert main(arguments, spark=spark) == 1
    assert "Path does not exist" in capsys.readouterr().err


def test_java_failure_is_reported_by_its_reason(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 this is no Parquet file")
    options = ["--option", "mergeSchema=false", "--data-dir", str(tmp_path / "d"), "--topic", "t"]
    assert main(["load", str(tmp_path / "a.parquet"), *options], spark=spark) == 1
    said = capsys.readouterr().err
    assert "a.parquet" in said
    assert "An error occurred while calling" not in said
