"""Tests of the command line: which command runs, the help and the version."""

import subprocess
import sys

import pytest

from kafkalet.cli import COMMANDS, help_text, main
from kafkalet.commands.command_line import Option
from kafkalet.commands.exec import EXEC_OPTIONS
from kafkalet.commands.serve import SERVE_OPTIONS
from kafkalet.version import VERSION

from .commands.processes import run


def test_serve_does_not_import_what_other_commands_need() -> None:
    needless = ("argparse", "difflib", "testing", "commands.exec", "loading", "ready_file", "parent")
    script = (
        "import sys, kafkalet.cli, kafkalet.commands.serve\n"
        f"print([name for name in sys.modules if name.endswith({needless})])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
@pytest.mark.parametrize(
    "command",
    [
        "",
        "serve",
        "exec",
        "container",
        "inspect",
        "export",
        "conform",
        "conform diff",
        "conform client",
        "conform --between",
        "top",
        "ctl",
    ],
)
def test_help_fits_the_terminal(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*command.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > min(columns, 100)] == []


@pytest.mark.parametrize(("command", "options"), [("serve", SERVE_OPTIONS), ("exec", EXEC_OPTIONS)])
def test_help_of_a_command_names_its_options(
    command: str, options: tuple[Option, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert [option.name for option in options if f"  {option.name}" not in shown] == []


@pytest.mark.parametrize("command", ["", "-h", "--help", "help"])
def test_help_without_command_lists_the_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []


@pytest.mark.parametrize(
    "command", ["serve -h", "serve --help", "serve help", "help serve", "serve --topic t -h", "serve -h --topic t"]
)
def test_every_form_of_help_shows_the_help_of_the_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert capsys.readouterr().out == help_text("serve")


@pytest.mark.parametrize("command", ["pipeline", "pipeline --help", "help pipeline", "pipeline load a --topic t"])
def test_pipeline_names_the_command_that_replaces_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    line = "kafkalet: the Spark pipeline is the command kafkalet-spark: pip install 'kafkalet[spark]'\n"
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("command", ["--version", "-V", "version", "serve --version"])
def test_version_is_printed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert capsys.readouterr().out == f"kafkalet {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "kafkalet: listener SSL: ssl.keystore.location: the listener uses TLS, but has no keystore. "),
        (
            ["--set", "ssl.principal.mapping.rules=x"],
            "kafkalet: listener SSL: Invalid value x for configuration ssl.prin",
        ),
    ],
)
def test_invalid_property_of_a_listener_prints_one_line_on_stderr(arguments: list[str], line: str) -> None:
    done = run("serve", "--listen", "ssl://127.0.0.1:0", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["fly"], 2, "kafkalet: unknown command fly; see kafkalet --help\n"),
        (["sevre"], 2, "kafkalet: unknown command sevre; did you mean serve?\n"),
        (["--listen", ":1"], 2, "kafkalet: --listen must follow a command: kafkalet serve --listen ...\n"),
        (["serve", "--nope"], 2, "kafkalet: unknown option --nope; see kafkalet serve --help\n"),
        (
            ["serve", "--set", "num.partitions=0"],
            2,
            "kafkalet: Invalid value 0 for configuration num.partitions: Value must be at least 1\n",
        ),
        (["serve", "--topic", "a b"], 2, "kafkalet: --topic a b: Topic name is invalid: "),
        (
            ["serve", "--topic", "t:1:retention.ms=x"],
            2,
            "kafkalet: --topic t: Invalid value x for configuration retention",
        ),
        (
            ["serve", "--topic", "t:1:retention.mss=1"],
            2,
            "kafkalet: --topic t: Unknown topic config name: retention.mss; did you mean retention.ms?\n",
        ),
        (
            ["serve", "--topic", "t:99999999999999"],
            2,
            "kafkalet: Excessively large number of partitions per request.\n",
        ),
        (
            ["serve", "--advertise", "h:65535", "--brokers", "2"],
            2,
            "kafkalet: the port that the last of 2 brokers would",
        ),
        (["serve", "--kafka-version", "7.7"], 2, "kafkalet: Kafka 7.7 cannot be emulated; known are 0.8.2, "),
    ],
)
def test_invalid_command_line_prints_one_line_on_stderr(arguments: list[str], status: int, line: str) -> None:
    done = run(*arguments, "--listen", "127.0.0.1:0") if arguments[0] == "serve" else run(*arguments)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1
