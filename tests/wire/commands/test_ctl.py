"""Tests of the command line of `kafkalet ctl`: words, options, help, exit status, and the URL of the API."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafkalet.commands.command_line import UsageError
from kafkalet.commands.ctl import help_text, main
from kafkalet.commands.ctl_commands import FORMS, commands, document, duration
from tests.wire.control.asking import Asking, asking

CTL = [sys.executable, "-m", "kafkalet", "ctl"]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    """A control API whose URL is in the environment."""
    with asking() as found:
        monkeypatch.setenv("KAFKALET_CONTROL", found.control.url)
        yield found


def test_success_returns_0_and_prints_a_table(api: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "create", "t", "--partitions", "2"]) == 0
    assert main(["topics"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "TOPIC  PARTITIONS  REPLICAS  OFFSETS  SIZE",
        "t               2         1        0   0 B",
    ]


def test_json_output_equals_the_response_of_the_api(api: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "brokers"])
    assert json.loads(capsys.readouterr().out) == api.get("/v1/brokers")


def test_refusal_returns_1_and_prints_kafka_error_code(api: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "delete", "missing"]) == 1
    assert capsys.readouterr().err.startswith("kafkalet: UNKNOWN_TOPIC_OR_PARTITION: ")


def test_wait_that_times_out_returns_1_and_prints_arrived_records(
    api: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["send", "t", "other"])
    assert main(["wait", "t", "--value", "x", "--timeout", "0"]) == 1
    assert "the only record in the topic does not match\n  <t-0@0 value=b'other'>" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tpics"], "unknown command tpics; did you mean topics?"),
        (["topic"], "unknown command topic; topic has the commands topic create, topic show, topic delete"),
        (["topic", "make"], "unknown command topic make; topic has the commands topic create"),
        (["zzz"], "unknown command zzz; see kafkalet ctl --help"),
        (["topic", "create"], "TOPIC is missing: kafkalet ctl topic create TOPIC"),
        (["topics", "x"], "unknown argument x: kafkalet ctl topics"),
        (["topics", "--internel"], "unknown option --internel; did you mean --internal?"),
        (["topics", "--zzz"], "unknown option --zzz; see kafkalet ctl topics --help"),
        (["topics", "--json=1"], "--json=1: --json takes no value"),
        (["send", "t", "x", "--key"], "--key needs a value: --key KEY"),
        (["send", "t", "x", "--key", "a", "--key", "b"], "--key is given twice; it takes one value"),
        (["send", "t", "x", "--partition", "a"], "--partition a: expected a whole number"),
        (["send", "t", "x", "--header", "a"], "--header a: expected NAME=VALUE"),
        (["wait", "t", "many"], "N many: expected a whole number"),
        (["wait", "t", "--timeout", "soon"], "--timeout soon: expected a number"),
        (["clock", "advance", "soon"], "soon is not a duration; expected a number and ms, s, m, h or d, as in 90m"),
        (["fault", "remove", "x"], "FAULT x: expected a whole number"),
        (["transaction", "send-offsets", "x", "g", "t-0"], "JSON t-0: expected JSON with topic, partition, offset"),
        (
            ["--control", "ftp://a:1", "topics"],
            "ftp://a:1 is not the URL of a control API, as in http://127.0.0.1:9093",
        ),
    ],
)
def test_invalid_command_line_returns_2(
    api: Asking, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"kafkalet: {message}")


def test_missing_url_returns_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("KAFKALET_CONTROL", raising=False)
    assert main(["topics"]) == 2
    assert capsys.readouterr().err.startswith("kafkalet: the URL of the control API is missing; give --control URL or ")


def test_general_options_may_come_before_the_command(api: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--control", api.control.url, "topic", "create", "--json", "t", "--partitions", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)["partitions"]) == 2


def test_words_after_two_dashes_are_not_options(api: Asking) -> None:
    assert main(["send", "t", "--", "--value"]) == 0
    assert [record["value"] for record in api.get("/v1/topics/t/records")["records"]] == ["--value"]


def test_negative_numbers_are_words(api: Asking) -> None:
    assert main(["send", "t", "-5"]) == 0
    assert [record["value"] for record in api.get("/v1/topics/t/records")["records"]] == ["-5"]


def test_token_is_an_option_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with asking(token="secret") as api:
        monkeypatch.setenv("KAFKALET_CONTROL", api.control.url)
        assert main(["brokers"]) == 1
        assert main(["brokers", "--token", "secret"]) == 0
        monkeypatch.setenv("KAFKALET_CONTROL_TOKEN", "secret")
        assert main(["brokers"]) == 0


def test_help_lists_every_command_and_every_option() -> None:
    for name, command in commands().items():
        assert f"  {command.usage}" in help_text()
        text = help_text(command)
        assert text.startswith(f"usage: kafkalet ctl {name}")
        assert all(option.name in text for option in command.options)


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_help_of_every_command_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = [line for command in commands().values() for line in help_text(command).splitlines()]
    assert [line for line in lines if len(line) > min(columns, 100)] == []


def test_help_of_an_option_names_all_its_values_and_the_default() -> None:
    isolation = next(each for each in commands()["wait"].inputs if each.option == "isolation")
    assert isolation.help.endswith("One of read_uncommitted, read_committed. The default is read_uncommitted.")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["topics", "-h"], ["fault", "add", "--help"]])
def test_help_needs_no_api(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.delenv("KAFKALET_CONTROL", raising=False)
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("usage: kafkalet ctl")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("90m", {"minutes": 90.0}),
        ("1.5h", {"hours": 1.5}),
        ("7d", {"days": 7.0}),
        ("5s", {"seconds": 5.0}),
        ("9ms", {"milliseconds": 9.0}),
    ],
)
def test_duration_has_a_unit(text: str, fields: dict[str, float]) -> None:
    assert duration(text) == fields


@pytest.mark.parametrize("text", ["5", "h", "", "5w", "1h30m"])
def test_duration_without_a_unit_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        duration(text)


def test_commands_have_different_names() -> None:
    assert len(commands()) == sum(len(operations) for operations in document()["paths"].values())


def test_forms_belong_to_operations() -> None:
    assert set(FORMS) <= {command.operation["operationId"] for command in commands().values()}


def test_ctl_does_not_import_the_broker() -> None:
    script = (
        "import sys, kafkalet.cli, kafkalet.commands.ctl\n"
        "rooms = ('kafkalet.broker', 'kafkalet.testing', 'kafkalet.storage')\n"
        "print([name for name in sys.modules if name.startswith(rooms)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_events_are_printed_until_the_command_is_interrupted(api: Asking) -> None:
    with subprocess.Popen([*CTL, "events", "--only", "brokers"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert (event["event"], len(event["brokers"]), process.wait(10)) == ("brokers", 1, 130)
