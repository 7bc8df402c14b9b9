"""`kafkalet.pipeline.commands.settings`: options of the data source as a command line has them."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from kafkalet.pipeline.commands.settings import (
    READ_OPTIONS,
    WRITE_OPTIONS,
    FormatOption,
    UsageError,
    absolute,
    add_common,
    add_format,
    conf,
    format_options,
    pairs,
    source_options,
)
from kafkalet.pipeline.options import read_options
from kafkalet.pipeline.writing.settings import write_options

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


def value_of(option: FormatOption) -> str:
    """Not the default."""
    return VALUES.get(option.name, "false" if "(true)" in option.help else "true" if option.value == "BOOL" else "4096")


@pytest.mark.parametrize("option", READ_OPTIONS, ids=lambda option: option.name)
def test_the_source_knows_every_option_of_reading(option: FormatOption) -> None:
    assert read_options({"path": "/d", option.name: value_of(option)}) != read_options({"path": "/d"})


@pytest.mark.parametrize("option", WRITE_OPTIONS, ids=lambda option: option.name)
def test_the_sink_knows_every_option_of_writing(option: FormatOption) -> None:
    write_options({"path": "/d", option.name: value_of(option)})


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("subscribe", "--subscribe"),
        ("startingOffsetsByTimestamp", "--starting-offsets-by-timestamp"),
        ("upTo", "--up-to"),
    ],
)
def test_a_flag_is_the_name_in_small_letters(name: str, flag: str) -> None:
    assert FormatOption(name, "", "").flag == flag


def told(*arguments: str) -> Namespace:
    parser = ArgumentParser()
    add_format(parser.add_argument_group(), READ_OPTIONS)
    add_common(parser)
    parser.set_defaults(option=[], bootstrap=None, directories=[])
    return parser.parse_args(arguments)


def test_only_what_was_given_is_told() -> None:
    assert format_options(told("--up-to", "logEnd"), READ_OPTIONS) == {"upTo": "logEnd"}


def test_the_source_is_told_where_to_read() -> None:
    arguments = told("--isolation-level", "read_committed")
    arguments.directories = ["/a", "/b,c"]
    assert source_options(arguments) == {"isolationLevel": "read_committed", "paths": '["/a", "/b,c"]'}
    assert read_options(source_options(arguments)).paths == ("/a", "/b,c")


def test_paths_are_told_from_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert [absolute(path) for path in ("logs", "/a/../b", "file:/c")] == [str(tmp_path / "logs"), "/b", "file:/c"]


def test_the_source_is_told_of_a_broker_and_its_client() -> None:
    arguments = told()
    arguments.bootstrap = "h:9092"
    arguments.option = ["kafka.client.id=a=b"]
    assert source_options(arguments) == {"kafka.bootstrap.servers": "h:9092", "kafka.client.id": "a=b"}


@pytest.mark.parametrize("text", ["a", "=b", " =b"])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--conf .*: not K=V"):
        pairs("--conf", [text])


def test_the_settings_of_the_user_go_before() -> None:
    found = conf(told("--conf", "spark.sql.session.timeZone=Europe/Berlin", "--conf", "a=b"))
    assert found["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert found["a"] == "b"
    assert conf(told())["spark.sql.session.timeZone"] == "UTC"


def test_sparks_own_log_is_for_debugging() -> None:
    assert conf(told())["spark.log.level"] == "FATAL"
    assert conf(told("--log-level", "debug"))["spark.log.level"] == "WARN"


def test_heartbeats_are_quick_where_progress_is_shown() -> None:
    assert "spark.executor.heartbeatInterval" in conf(told())
    assert "spark.executor.heartbeatInterval" not in conf(told("--progress", "none"))
