"""Tests of `kafkalet top`: once, and live on a terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Producer

from kafkalet.commands.command_line import UsageError
from kafkalet.commands.top import main
from kafkalet.control.top import is_interactive
from tests.descriptors import is_readable
from tests.wire.control.asking import TOKEN, Asking, asking

TOP = [sys.executable, "-m", "kafkalet", "top"]
SCREEN, NORMAL_SCREEN = b"\x1b[?1049h", b"\x1b[?25h\x1b[?1049l"
ANSI = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def api() -> Iterator[Asking]:
    with asking(brokers=2) as found:
        yield found


def produce(api: Asking, topic: str) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "client.id": "shop"})
    producer.produce(topic, b"x")
    assert producer.flush(20) == 0


# Once


def test_state_is_printed_once_if_output_is_not_a_terminal(api: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    produce(api, "orders")
    api.cluster.fault("Fetch", delay=1)
    assert main(["--control", api.control.url]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0].startswith("kafkalet  Kafka newest  brokers 1 2  127.0.0.1:")
    assert next(line for line in lines if line.startswith("orders-0")).split()[2:6] == ["0", "1", "1", "1"]
    assert "not fired  fault('Fetch', delay=1)" in lines
    assert any(line.startswith("Produce 1 ") or " Produce 1" in line for line in lines)
    assert any("shop Produce v" in line for line in lines[lines.index("LAST REQUESTS") :])
    assert "\x1b" not in shown


def test_url_and_token_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with asking(token=TOKEN) as found:
        monkeypatch.setenv("KAFKALET_CONTROL", found.control.url)
        monkeypatch.setenv("KAFKALET_CONTROL_TOKEN", TOKEN)
        assert main(["--once"]) == 0
    assert "TOPICS: none" in capsys.readouterr().out


def test_missing_or_wrong_url_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKALET_CONTROL", raising=False)
    with pytest.raises(UsageError, match="give --control URL or set KAFKALET_CONTROL"):
        main([])
    with pytest.raises(UsageError, match="not the URL of a control API"):
        main(["--control", "https://127.0.0.1:1"])


def test_unreachable_api_returns_1() -> None:
    done = subprocess.run([*TOP, "--control", "127.0.0.1:1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("kafkalet: there is no control API at 127.0.0.1:1: ")


def test_help_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--once" in capsys.readouterr().out


# Live


class Terminal:
    """A terminal in which `kafkalet top` runs."""

    def __init__(self, *arguments: str, rows: int = 30, columns: int = 110, term: str = "xterm") -> None:
        self.ours, self._theirs = pty.openpty()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            [*TOP, *arguments],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=os.environ | {"TERM": term, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", "LINES": "24"},
            start_new_session=True,
        )
        self.shown = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, text: str) -> str:
        """Wait until the last screen contains a text, and return the screen."""
        end_s = time.monotonic() + 20
        while text not in self.screen():
            ready = is_readable(self.ours, max(0.0, end_s - time.monotonic()))
            assert ready, f"{text!r} is not shown:\n{self.screen()}"
            self.shown += os.read(self.ours, 65536)
        return self.screen()

    def screen(self) -> str:
        """Return the text of the last screen that has been drawn completely."""
        screens = [each for each in self.shown.split(b"\x1b[H") if b"PgUp" in each or b"filter: " in each]
        return ANSI.sub(b"", screens[-1]).decode() if screens else ""

    def end(self) -> int:
        """Wait until the process has ended, read the rest, and return the exit status."""
        while self.process.poll() is None:
            if is_readable(self.ours, 0.05):
                self.shown += os.read(self.ours, 65536)
        while is_readable(self.ours, 0):
            self.shown += os.read(self.ours, 65536)
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        """Whether the terminal is as it was before."""
        return self.shown.endswith(NORMAL_SCREEN) and termios.tcgetattr(self._theirs) == self.modes

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self._theirs)


@contextmanager
def terminal(*arguments: str, **options: Any) -> Iterator[Terminal]:
    found = Terminal(*arguments, **options)
    try:
        yield found
    finally:
        found.close()


def test_terminal_shows_changes_until_q(api: Asking) -> None:
    with terminal("--control", api.control.url) as shown:
        shown.wait_for("TOPICS: none")
        produce(api, "orders")
        screen = shown.wait_for("shop Produce")
        assert "orders" in screen
        api.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
        shown.wait_for("not fired")
        produce(api, "orders")
        shown.wait_for("fired 1")
        api.post("/v1/brokers/2/stop")
        shown.wait_for("2 stopped")
        api.post("/v1/clock/advance", {"days": 3})
        shown.wait_for("(+3 d)")
        assert shown.shown.startswith(SCREEN)
        os.write(shown.ours, b"q")
        assert shown.end() == 0
        assert shown.is_restored


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signal_restores_the_terminal(api: Asking, name: str) -> None:
    number = getattr(signal, name)
    with terminal("--control", api.control.url) as shown:
        shown.wait_for("TOPICS: none")
        shown.process.send_signal(number)
        assert shown.end() == 128 + number
        assert shown.is_restored


def test_terminal_is_drawn_again_in_its_new_size(api: Asking) -> None:
    api.cluster.topic("t").create(20)
    with terminal("--control", api.control.url, rows=40, columns=120) as shown:
        assert len(shown.wait_for("t-19 ").splitlines()) == 40
        shown.resize(12, 60)
        shown.process.send_signal(signal.SIGWINCH)
        lines = shown.wait_for("TOPICS 1-7/20").splitlines()
        assert len(lines) == 12
        assert max(map(len, lines)) <= 60


def test_keys_scroll_and_filter_the_view(api: Asking) -> None:
    for name in ("orders", "payments"):
        api.cluster.topic(name).create(20)
    with terminal("--control", api.control.url, rows=24, columns=80) as shown:
        assert "orders-0 " in shown.wait_for("scroll topics")
        os.write(shown.ours, b"\x1b[6~")
        assert "orders-0 " not in shown.wait_for("TOPICS 20-38/40")
        os.write(shown.ours, b"\x1b[B\x1bOF")
        shown.wait_for("payments-19 ")
        os.write(shown.ours, b"/quay\x7fx\x1b")
        shown.wait_for("q quit")
        os.write(shown.ours, b"/pay\r")
        assert "orders" not in shown.wait_for("filter: pay  Esc clear")
        os.write(shown.ours, b"q")
        assert shown.end() == 0
        assert shown.is_restored


def test_stopped_process_gives_the_terminal_back_until_it_continues(api: Asking) -> None:
    with terminal("--control", api.control.url) as shown:
        shown.wait_for("TOPICS: none")
        shown.process.send_signal(signal.SIGTSTP)
        while NORMAL_SCREEN not in shown.shown:
            shown.shown += os.read(shown.ours, 65536)
        os.waitid(os.P_PID, shown.process.pid, os.WSTOPPED)
        assert termios.tcgetattr(shown.ours)[3] & termios.ICANON
        shown.shown = b""
        shown.process.send_signal(signal.SIGCONT)
        shown.wait_for("TOPICS: none")
        os.write(shown.ours, b"q")
        assert shown.end() == 0
        assert shown.is_restored


def test_lost_connection_is_shown_until_the_broker_is_back() -> None:
    with asking() as first:
        port = first.control.port
        with terminal("--control", first.control.url) as shown:
            shown.wait_for("TOPICS: none")
            first.control.close()
            shown.wait_for("trying again")
            with asking(control_port=port) as second:
                second.cluster.topic("again").create()
                assert "trying again" not in shown.wait_for("again-0")
            shown.wait_for("trying again")
            os.write(shown.ours, b"q")
            assert shown.end() == 0
            assert shown.is_restored


def test_terminal_cannot_be_redrawn_without_termios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.control.top.find_spec", lambda name: None)
    assert not is_interactive("xterm")


def test_view_without_colors_has_no_ansi_colors(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal("--control", api.control.url) as shown:
        shown.wait_for("TOPICS: none")
        assert not re.search(rb"\x1b\[\d*m", shown.shown)


def test_state_is_printed_once_on_request(api: Asking) -> None:
    with terminal("--control", api.control.url, "--once") as shown:
        assert shown.end() == 0
        assert shown.shown.startswith(b"kafkalet  Kafka ")
        assert b"TOPICS: none" in shown.shown


def test_terminal_that_cannot_be_redrawn_shows_the_state_once_and_says_so(api: Asking) -> None:
    with terminal("--control", api.control.url, term="dumb") as shown:
        assert shown.end() == 0
        assert shown.shown.startswith(b"kafkalet: this terminal cannot be redrawn, so top shows the state once\r\n")
        assert b"TOPICS: none" in shown.shown
        assert SCREEN not in shown.shown
