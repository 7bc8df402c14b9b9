"""`kafkalet_spark.commands.audit`: the command `audit`."""

import io
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet_spark.audit.audit_options import AuditOptions
from kafkalet_spark.commands.audit import prepare
from kafkalet_spark.commands.command_line import UsageError, parse
from kafkalet_spark.commands.running import Running

from .filled import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("audit") / "data")


def test_options_are_passed_to_the_audit() -> None:
    arguments = ["audit", "/d", "--out", "/o", "--bootstrap", "h:1", "--option", "kafka.client.id=x", "--topic", "a"]
    arguments += ["--timestamps", "7", "--seed", "3", "--compacted", "c", "--max-bytes-per-task", "9"]
    arguments += ["--producer-id-expiration-ms", "5"]
    assert prepare(parse(arguments, "p"))._options == AuditOptions(
        out="/o", bootstrap="h:1", properties={"client.id": "x"}, topics=("a",), compacted=("c",), timestamps=7, seed=3,
        max_bytes_per_task=9, producer_id_expiration_ms=5,
    )  # fmt: skip


def test_options_that_are_not_set_have_their_defaults() -> None:
    assert prepare(parse(["audit", "/d"], "p"))._options == AuditOptions()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--option", "mode=PERMISSIVE"], "--option mode: audit accepts only client properties"),
        (["--timestamps", "-1"], "--timestamps -1: must be 0 or more"),
    ],
)
def test_invalid_options_are_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        prepare(parse(["audit", "/d", *arguments], "p"))


def test_dry_run_does_not_start_spark(logs: Path) -> None:
    output = io.StringIO()
    parsed = parse(["audit", str(logs), "--topic", "a", "--bootstrap", "h:1", "--timestamps", "10"], "p")
    prepare(parsed).dry_run(Running(output=output))
    shown = output.getvalue()
    assert shown.splitlines()[0].split() == ["topic", "partition", "segments", "splits", "bytes"]
    assert shown.splitlines()[1].split()[:4] == ["a", "0", "1", "1"]
    assert "timestamp lookups  20 of h:1" in shown


def test_audit_of_sound_logs_exits_with_0(spark: "SparkSession", logs: Path, tmp_path: Path) -> None:
    output = io.StringIO()
    job = prepare(parse(["audit", str(logs), "--out", str(tmp_path / "out")], "p"))
    assert job.run(Running(spark=spark, output=output)) == 0
    assert "30 records: everything agrees" in output.getvalue()
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["agrees"] is True


def damaged(logs: Path, directory: Path) -> Path:
    return Path(shutil.copytree(logs, directory / "data"))


def run(spark: "SparkSession", *directories: Path) -> tuple[int, list[str]]:
    """Run an audit, and return its exit status and output."""
    output = io.StringIO()
    status = prepare(parse(["audit", *map(str, directories)], "p")).run(Running(spark=spark, output=output))
    return status, output.getvalue().splitlines()


def test_incomplete_audit_exits_with_3(spark: "SparkSession", logs: Path, tmp_path: Path) -> None:
    copy = damaged(logs, tmp_path)
    shutil.rmtree(copy / "b-0")
    (copy / "b-0").symlink_to("/nowhere")
    status, lines = run(spark, copy)
    assert status == 3
    assert f"not checked: {copy}/b-0: a link to /nowhere, which does not exist" in lines
    assert "read: 1 of 2 partitions, 1 of 1 segment" in lines[0]
    assert lines[-1].endswith("no disagreements, but 1 item was not checked")


def test_directory_named_like_a_segment_is_a_finding(spark: "SparkSession", logs: Path, tmp_path: Path) -> None:
    copy = damaged(logs, tmp_path)
    (copy / "a-0" / f"{30:020d}.log").mkdir()
    status, lines = run(spark, copy)
    assert status == 1
    assert lines[0].startswith("file: it is a directory, not a file (a-0; offset 30; ")
    assert lines[1] == "    Kafka: skips it; consumers skip its offsets"


def test_finding_has_reaction_of_kafka_and_consequences(spark: "SparkSession", logs: Path, tmp_path: Path) -> None:
    copy = damaged(logs, tmp_path)
    log = copy / "a-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-20])
    status, lines = run(spark, copy)
    assert status == 1
    assert lines[0].startswith("truncated: ")
    assert lines[1].startswith("    Kafka: searches for the log end after the last entry of the .index")
    assert lines[2] == "    3 consequences: 2 checkpoint, 1 snapshot"
    assert lines[-1].endswith("1 disagreement")


def test_dry_run_lists_unreadable_files(logs: Path, tmp_path: Path) -> None:
    copy = damaged(logs, tmp_path)
    segment = copy / "a-0" / f"{0:020d}.log"
    segment.unlink()
    segment.symlink_to("/nowhere")
    output = io.StringIO()
    prepare(parse(["audit", str(copy)], "p")).dry_run(Running(output=output))
    assert f"unreadable: a-0: {segment}: it is a link to /nowhere, which does not exist" in output.getvalue()


def test_audit_with_findings_exits_with_1_and_names_their_position(
    spark: "SparkSession", logs: Path, tmp_path: Path
) -> None:
    log = tmp_path / "a-0" / "00000000000000000000.log"
    log.parent.mkdir()
    content = bytearray((logs / "a-0" / log.name).read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    output = io.StringIO()
    assert prepare(parse(["audit", str(log.parent)], "p")).run(Running(spark=spark, output=output)) == 1
    assert str(log) in output.getvalue()
    assert "a-0" in output.getvalue()
