"""`kafkalet conform --between`: its options, brokers that do not respond, and cleaning up on the brokers."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.commands.command_line import UsageError
from kafkalet_conformance.between import comparing
from kafkalet_conformance.between.comparing import Comparer
from kafkalet_conformance.between.pair import Pair
from kafkalet_conformance.commands.conform import main
from kafkalet_conformance.playing.target import Target

SHORT = ["--histories", "1", "--groups", "list_offsets"]


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with kafkalet.Broker(version="3.9") as found:
        yield found.bootstrap_servers


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_broker_that_does_not_accept_connections_exits_with_2(broker: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--between", broker, "127.0.0.1:1", *SHORT]) == 2
    assert capsys.readouterr().err.startswith("kafkalet: the broker at 127.0.0.1:1 cannot be compared: no connection")


def test_broker_that_does_not_respond_exits_with_2(
    broker: str, silent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparing, "REACH_S", 1)
    assert main(["--between", silent, broker, *SHORT]) == 2
    assert capsys.readouterr().err == f"kafkalet: the broker at {silent} did not respond within 1 s\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--release", "9.9"], "--release 9.9: the releases are 0.8.2"),
        (["--out", __file__], "is not a directory"),
        (["--out", f"{__file__}/differences"], "is not a directory"),
    ],
)
def test_invalid_option_is_refused(options: list[str], message: str, broker: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(["--between", broker, broker, *SHORT, *options])


def test_invalid_address_is_refused(broker: str) -> None:
    with pytest.raises(UsageError, match="--between nowhere: expected HOST:PORT"):
        main(["--between", broker, "nowhere", *SHORT])


def test_topics_and_groups_are_removed_from_both_brokers(broker: str, tmp_path: Path) -> None:
    with kafkalet.Broker(version="3.9") as other:
        options = ["--groups", "produce,groups,transactions,topics", "--histories", "1", "--out", str(tmp_path)]
        assert main(["--between", broker, other.bootstrap_servers, *options]) == 0
        topics = []
        for address in (broker, other.bootstrap_servers):
            connection = Target(address).connect()
            topics += [topic["name"] for topic in connection.ask("Metadata", 4, {"topics": None})["topics"]]
            connection.close()
    assert {name for name in topics if not name.startswith("__")} == set()


def test_broker_that_ends_during_the_comparison_ends_it(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    performed = []

    def first_difference(pair: Pair, steps: object) -> None:
        performed.append(steps)
        pair.coverage.responses += 1
        if len(performed) == 2:
            pair.second.port = 1
            pair.second.connect()

    monkeypatch.setattr(Pair, "first_difference", first_difference)
    options = ["--histories", "5", "--groups", "list_offsets", "--out", str(tmp_path)]
    assert main(["--between", broker, broker, *options]) == 2
    assert len(performed) == 2
    assert "the comparison ended early: list_offsets_1_1: no connection to the broker" in capsys.readouterr().err


def test_comparison_ends_when_its_time_is_over_while_a_broker_is_silent(
    broker: str, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "CLEANING_S", 3)  # the silent broker takes all of it
    second = Target(broker)
    second.port = int(silent.rpartition(":")[2])
    done = Comparer(Target(broker), second, "3.9", tmp_path).run(["list_offsets"], 1 << 70, 1)
    assert done.not_performed == {"list_offsets: the time was over": 1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_comparison_exits_with_130(broker: str, silent: str, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "kafkalet", "conform", "--between", address, broker],
            stderr=subprocess.PIPE,
            text=True,
        )
        timer = threading.Timer(30, process.kill)
        timer.start()
        connection, _ = server.accept()  # the command waits for a response now
        os.kill(process.pid, number)
        _, error = process.communicate()
        timer.cancel()
        connection.close()
    assert (process.returncode, error) == (130, "kafkalet: interrupted\n")
