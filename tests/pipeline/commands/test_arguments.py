"""`kafkalet.pipeline.commands.arguments`: what the command line understands, without Spark."""

import pytest

from kafkalet.pipeline.commands.arguments import parse
from kafkalet.pipeline.commands.settings import UsageError


def test_directories_may_stand_before_and_after_options() -> None:
    assert parse(["dump", "/a", "/b", "--out", "/o"], "p").directories == ["/a", "/b"]
    assert parse(["dump", "--out", "/o", "/a", "/b"], "p").directories == ["/a", "/b"]
    assert parse(["load", "--data-dir", "/d", "--topic", "t", "x.csv"], "p").inputs == ["x.csv"]
    assert parse(["audit", "/a", "--out", "/o"], "p").directories == ["/a"]


def test_an_option_takes_its_value_after_a_space_or_an_equals_sign() -> None:
    told = parse(["load", "x", "--data-dir=/d", "--segment-bytes", "1m", "--batch-size=4k"], "p")
    assert (told.data_dir, told.segmentBytes, told.batchSize) == ("/d", "1m", "4k")


def test_what_is_common_to_all_commands() -> None:
    told = parse(["audit", "/a", "--master", "local[2]", "--conf", "a=b", "--conf", "c=d", "--dry-run"], "p")
    assert (told.master, told.conf, told.dry_run) == ("local[2]", ["a=b", "c=d"], True)
    assert (told.progress, told.log_level) == ("auto", "info")


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
def test_what_is_wrong_is_said_in_one_sentence(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(arguments, "p")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_stands_after_two_dashes_is_no_option() -> None:
    assert parse(["audit", "--out", "/o", "--", "--odd"], "p").directories == ["--odd"]


@pytest.mark.parametrize("command", ["load", "dump", "audit"])
def test_help_names_the_command_and_what_it_needs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([command, "--help"], "kafkalet pipeline")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: kafkalet pipeline {command} ")


def test_help_tells_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"], "kafkalet pipeline")
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("load", "dump", "audit"))
