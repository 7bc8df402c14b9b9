"""`kafkalet_spark.commands.command_line`: parsing of command lines, without Spark."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from kafkalet_spark.commands.command_line import (
    COMMON,
    UsageError,
    absolute,
    add_options,
    conf,
    format_options,
    pairs,
    parse,
    source_options,
)
from kafkalet_spark.option_table import READ, WRITE
from kafkalet_spark.option_types import Option
from kafkalet_spark.options import read_options
from kafkalet_spark.writing.write_options import write_options

FLAGS_OF_READ = [option for option in READ if option.flag]
FLAGS_OF_WRITE = [option for option in WRITE if option.flag]
VALUES = {
    "assign": '{"t":[0]}',
    "startingOffsets": '{"t":{"0":1}}',
    "startingTimestamp": "1",
    "startingOffsetsByTimestamp": '{"t":{"0":1}}',
    "startingOffsetsByTimestampStrategy": "latest",
    "endingOffsets": '{"t":{"0":1}}',
    "endingTimestamp": "1",
    "endingOffsetsByTimestamp": '{"t":{"0":1}}',
    "isolationLevel": "read_committed",
    "upTo": "highWatermark",
    "mode": "DROPMALFORMED",
    "partitionBy": "column",
    "openShare": "0.5",
    "compression": "zstd",
    "timestampType": "LogAppendTime",
    "transactionalShare": "0.5",
    "abortedShare": "0.5",
}


def value_of(option: Option) -> str:
    """Return a value other than the default."""
    return VALUES.get(
        option.name, "false" if option.default == "true" else "true" if option.takes == "BOOL" else "4096"
    )


@pytest.mark.parametrize("option", FLAGS_OF_READ, ids=lambda option: option.name)
def test_source_accepts_every_read_option(option: Option) -> None:
    assert read_options({"path": "/d", option.name: value_of(option)}) != read_options({"path": "/d"})


@pytest.mark.parametrize("option", FLAGS_OF_WRITE, ids=lambda option: option.name)
def test_sink_accepts_every_write_option(option: Option) -> None:
    write_options({"path": "/d", option.name: value_of(option)})


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("subscribe", "--subscribe"),
        ("startingOffsetsByTimestamp", "--starting-offsets-by-timestamp"),
        ("upTo", "--up-to"),
    ],
)
def test_flag_is_the_option_name_in_lower_case_with_dashes(name: str, flag: str) -> None:
    assert Option(name, "", "").flag_name == flag


def parsed(*arguments: str) -> Namespace:
    parser = ArgumentParser()
    add_options(parser.add_argument_group(), READ)
    add_options(parser.add_argument_group(), COMMON)
    parser.set_defaults(option=[], bootstrap=None, directories=[])
    return parser.parse_args(arguments)


def test_only_options_that_were_set_are_passed_on() -> None:
    assert format_options(parsed("--up-to", "logEnd"), READ) == {"upTo": "logEnd"}


def test_directories_are_passed_to_the_source() -> None:
    arguments = parsed("--isolation-level", "read_committed")
    arguments.directories = ["/a", "/b,c"]
    assert source_options(arguments) == {"isolationLevel": "read_committed", "paths": '["/a", "/b,c"]'}
    assert read_options(source_options(arguments)).paths == ("/a", "/b,c")


def test_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert [absolute(path) for path in ("logs", "/a/../b", "file:/c")] == [str(tmp_path / "logs"), "/b", "file:/c"]


def test_broker_and_client_properties_are_passed_to_the_source() -> None:
    arguments = parsed()
    arguments.bootstrap = "h:9092"
    arguments.option = ["kafka.client.id=a=b"]
    assert source_options(arguments) == {"kafka.bootstrap.servers": "h:9092", "kafka.client.id": "a=b"}


@pytest.mark.parametrize("text", ["a", "=b", " =b"])
def test_option_without_a_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--conf .*: must have the form K=V"):
        pairs("--conf", [text])


def test_settings_of_the_user_take_precedence() -> None:
    found = conf(parsed("--conf", "spark.sql.session.timeZone=Europe/Berlin", "--conf", "a=b"))
    assert found["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert found["a"] == "b"
    assert conf(parsed())["spark.sql.session.timeZone"] == "UTC"


def test_log_of_spark_is_shown_only_at_level_debug() -> None:
    assert conf(parsed())["spark.log.level"] == "FATAL"
    assert conf(parsed("--log-level", "debug"))["spark.log.level"] == "WARN"


def test_heartbeat_interval_is_set_only_if_progress_is_shown() -> None:
    assert "spark.executor.heartbeatInterval" in conf(parsed())
    assert "spark.executor.heartbeatInterval" not in conf(parsed("--progress", "none"))


def test_directories_may_precede_or_follow_options() -> None:
    assert parse(["dump", "/a", "/b", "--out", "/o"], "p").directories == ["/a", "/b"]
    assert parse(["dump", "--out", "/o", "/a", "/b"], "p").directories == ["/a", "/b"]
    assert parse(["load", "--data-dir", "/d", "--topic", "t", "x.csv"], "p").inputs == ["x.csv"]
    assert parse(["audit", "/a", "--out", "/o"], "p").directories == ["/a"]


def test_value_of_an_option_may_follow_a_space_or_an_equals_sign() -> None:
    parsed = parse(["load", "x", "--data-dir=/d", "--segment-bytes", "1m", "--batch-size=4k"], "p")
    assert (parsed.data_dir, parsed.segmentBytes, parsed.batchSize) == ("/d", "1m", "4k")


def test_all_commands_have_the_common_options() -> None:
    parsed = parse(["audit", "/a", "--master", "local[2]", "--conf", "a=b", "--conf", "c=d", "--dry-run"], "p")
    assert (parsed.master, parsed.conf, parsed.dry_run) == ("local[2]", ["a=b", "c=d"], True)
    assert (parsed.progress, parsed.log_level) == ("auto", "info")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["fill"], "unknown command fill; see p --help"),
        (["lod"], "unknown command lod; did you mean load?"),
        (["dump", "/a"], "required: --out; see p dump --help"),
        (["dump", "/a", "--out", "/o", "--nope"], "unknown option --nope; see p dump --help"),
        (["dump", "/a", "--out", "/o", "--form", "jsonl"], "unknown option --form; did you mean --format?"),
        (["load", "x.csv", "--datadir=/d"], "unknown option --datadir; did you mean --data-dir?"),
        (["load", "x.csv", "--key_", "a"], "unknown option --key_; did you mean --key?"),
        (["dump", "/a", "--out", "/o", "--format", "avro"], "invalid choice: 'avro'"),
        (["load", "x.csv"], "required: --data-dir"),
        (["audit"], "required: DIR"),
        (["audit", "/a", "--timestamps", "many"], "invalid int value: 'many'"),
        (["audit", "/a", "--progress", "loud"], "invalid choice: 'loud'"),
    ],
)
def test_error_message_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(arguments, "p")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_argument_after_two_dashes_is_not_an_option() -> None:
    assert parse(["audit", "--out", "/o", "--", "--odd"], "p").directories == ["--odd"]


@pytest.mark.parametrize("command", ["load", "dump", "audit"])
def test_help_of_a_command_begins_with_its_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([command, "--help"], "kafkalet-spark")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: kafkalet-spark {command} ")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"], "kafkalet-spark")
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("load", "dump", "audit"))


@pytest.mark.parametrize("columns", [60, 80, 140])
@pytest.mark.parametrize("command", ["", "load", "dump", "audit"])
def test_help_fits_the_terminal(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        parse([*command.split(), "--help"], "kafkalet-spark")
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > min(columns, 100)] == []
