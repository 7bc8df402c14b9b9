"""Tests of `kafkalet exec`: the environment of the command, exit statuses, and cleanup, whichever process ends
first.
"""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalet.commands.command_line import UsageError
from kafkalet.commands.exec import Exec

from .processes import run

WAITING = """
import signal, sys
numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("running", flush=True)
print(signal.Signals(signal.sigwait(numbers)).name, flush=True)
sys.exit(5)
"""
"""A command that waits for a signal, prints its name and exits with status 5."""

IN_TERMINAL = """
import os, sys
terminal = os.open(sys.argv[1], os.O_RDWR)  # the first terminal that a session leader opens controls its session
for descriptor in range(3):
    os.dup2(terminal, descriptor)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a command in the terminal of the first argument."""


def execute(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kafkalet", "exec", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@contextmanager
def executing(*arguments: str, directory: Path, script: str = WAITING) -> "Iterator[subprocess.Popen[str]]":
    """`kafkalet exec` with a Python script as its command, and with its own temporary directory."""
    with subprocess.Popen(
        [sys.executable, "-m", "kafkalet", "exec", *arguments, "--", sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(directory)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


# Options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exec needs a command after --: kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]..."),
        (["pytest"], "exec needs a command after --: kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]..."),
        (["--topic", "t", "--"], "exec needs a command after --: kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]..."),
        (["pytest", "--", "x"], "unknown argument pytest; see kafkalet exec --help"),
        (["--topc", "t", "--", "x"], "unknown option --topc; did you mean --topic?"),
        (["--brokers", "0", "--", "x"], "--brokers 0: expected a number of at least 1"),
        (
            ["--env", "A=B", "--", "x"],
            "--env A=B: expected the name of an environment variable; its value is the address",
        ),
    ],
)
def test_invalid_option_is_named_with_the_allowed_values(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Exec.of(arguments)
    assert str(error.value) == message


def test_options_after_the_dashes_belong_to_the_command() -> None:
    assert Exec.of(["--brokers", "2", "--", "x", "--topic", "--", "--help"]).command == ["x", "--topic", "--", "--help"]


def test_port_is_free_and_only_warnings_are_logged_by_default() -> None:
    options = Exec.of(["--", "x"]).serve
    assert (options.address, options.log_level) == (("127.0.0.1", 0), "WARNING")
    assert Exec.of(["--listen", "h:1", "--", "x"]).serve.address == ("h", 1)
    assert Exec.of(["--set", "listeners=PLAINTEXT://h:1", "--", "x"]).serve.address is None


# What the command sees


def test_command_gets_the_address_of_each_listener() -> None:
    options = ("--listen", "PLAINTEXT://127.0.0.1:0", "--listen", "TC-0://127.0.0.1:0", "--advertise", "TC-0=kafka:1")
    protocols = ("--set", "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,TC-0:PLAINTEXT")
    done = run("exec", *options, *protocols, "--", "printenv", "KAFKA_BOOTSTRAP_SERVERS_TC_0")
    assert (done.stdout, done.returncode) == ("kafka:1\n", 0)


def test_command_gets_the_address_of_a_running_broker() -> None:
    script = (
        "import os, socket\n"
        "host, port = os.environ['KAFKA_BOOTSTRAP_SERVERS'].split(':')\n"
        "socket.create_connection((host, int(port))).close()\n"
        "print(host, os.environ['A'] == os.environ['B'] == f'{host}:{port}')\n"
    )
    done = execute("--env", "A", "--env", "B", "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "127.0.0.1 True\n", "")


def test_command_has_the_standard_streams_of_kafkalet() -> None:
    done = execute("--", "sh", "-c", "cat; echo warned >&2", stdin="typed")
    assert (done.returncode, done.stdout, done.stderr) == (0, "typed", "warned\n")


def test_help_option_of_the_command_is_not_taken_by_kafkalet() -> None:
    assert execute("--", "printf", "%s", "--help").stdout == "--help"


def test_command_inherits_other_descriptors() -> None:
    reading, writing = os.pipe()
    command = [
        sys.executable,
        "-m",
        "kafkalet",
        "exec",
        "--",
        sys.executable,
        "-c",
        f"import os; os.write({writing}, b'passed')",
    ]
    subprocess.run(command, pass_fds=[writing], check=True, timeout=30)
    os.close(writing)
    with open(reading) as file:
        assert file.read() == "passed"


def test_ignored_signal_stays_ignored_in_the_command() -> None:
    report = "import signal; print(*(signal.getsignal(n).name for n in (signal.SIGHUP, signal.SIGTERM)))"
    script = f"trap '' HUP; exec {sys.executable} -m kafkalet exec -- {sys.executable} -c '{report}'"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "SIG_IGN SIG_DFL\n"


# What kafkalet returns


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15), ("kill -KILL $$", 128 + 9)]
)
def test_status_is_that_of_the_command(script: str, status: int) -> None:
    done = execute("--", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_missing_command_returns_127() -> None:
    done = execute("--", "no-such-command")
    assert (done.returncode, done.stderr) == (127, "kafkalet: no-such-command: No such file or directory\n")


def test_command_that_is_not_executable_returns_126(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo")
    done = execute("--", str(tmp_path / "script"))
    assert (done.returncode, done.stderr) == (126, f"kafkalet: {tmp_path}/script: Permission denied\n")


def test_broker_that_cannot_start_prints_one_line_and_runs_no_command() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = execute("--listen", address, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kafkalet: cannot listen on {address}: Address already in use; ")
    assert done.stderr.count("\n") == 1


def test_invalid_property_returns_2_and_runs_no_command() -> None:
    done = execute("--set", "num.partitions=0", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kafkalet: Invalid value 0 for configuration num.partitions: Value must be at least 1\n"


# What is left


def test_port_is_free_again_when_kafkalet_returns() -> None:
    address = execute("--", "sh", "-c", "echo $KAFKA_BOOTSTRAP_SERVERS").stdout.strip()
    for _ in range(3):
        assert execute("--listen", address, "--", "true").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_is_forwarded_and_the_command_decides(number: signal.Signals, tmp_path: Path) -> None:
    with executing(directory=tmp_path) as process:
        assert line(process) == "running"
        process.send_signal(number)
        assert process.communicate(timeout=10) == (f"{number.name}\n", "")
    assert process.returncode == 5
    assert list(tmp_path.iterdir()) == []


def test_signal_during_the_start_stops_the_broker_and_runs_no_command(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"key": "k", "value": "v"}\n' * 500_000)
    with executing("--load", f"t={path}", directory=tmp_path) as process:
        while not list(tmp_path.glob("kafkalet-*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
        assert process.communicate(timeout=10) == ("", "")
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == [path]


def test_broker_killed_during_the_start_prints_one_line_and_runs_no_command(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"key": "k", "value": "v"}\n' * 500_000)
    with executing("--load", f"t={path}", directory=tmp_path) as process:
        while not (found := list(tmp_path.glob("kafkalet-*"))):
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(int(found[0].name.split("-")[1]), signal.SIGKILL)  # the name of the directory has the process id
        out, errors = process.communicate(timeout=10)
    assert (process.returncode, out) == (1, "")
    assert errors == "kafkalet: the broker was killed by SIGKILL before it was ready\n"


def test_kafkalet_killed_ends_command_and_broker(tmp_path: Path) -> None:
    """The pipe of stderr reaches its end once the broker and the command, which also hold it, have ended."""
    ready_file = tmp_path / "ready"
    with executing("--ready-file", str(ready_file), directory=tmp_path) as process:
        assert line(process) == "running"
        process.kill()
        assert process.communicate(timeout=10) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_broker_killed_terminates_the_command_and_leaves_nothing(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready"
    with executing("--ready-file", str(ready_file), directory=tmp_path) as process:
        assert line(process) == "running"
        os.kill(int(re.findall(r"pid=(\d+)", ready_file.read_text())[0]), signal.SIGKILL)
        out, errors = process.communicate(timeout=10)
    assert (process.returncode, out) == (1, "SIGTERM\n")
    name = sys.executable
    assert errors == f"kafkalet: the broker was killed by SIGKILL while {name} was running; terminating {name}\n"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_reaches_the_command_once(tmp_path: Path) -> None:
    """The terminal sends SIGINT to kafkalet and to the command; the broker runs until the command ends."""
    script = """
import os, signal, socket, sys
numbers = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("running", flush=True)
interrupts = 0
while signal.sigwait(numbers) == signal.SIGINT:
    interrupts += 1
    print("interrupted", flush=True)
host, port = os.environ["KAFKA_BOOTSTRAP_SERVERS"].split(":")
socket.create_connection((host, int(port))).close()
sys.exit(40 + interrupts)
"""
    ours, theirs = pty.openpty()
    kafkalet = [sys.executable, "-m", "kafkalet", "exec", "--", sys.executable, "-c", script]
    with subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, os.ttyname(theirs), *kafkalet],
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as process:
        shown = b""
        while b"running" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, b"\x03")
        while b"interrupted" not in shown:
            shown += os.read(ours, 4096)
        process.terminate()
        assert process.wait(timeout=10) == 41
    os.close(theirs)
    os.close(ours)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_command_and_broker_end_after_the_parent_of_kafkalet_is_killed(tmp_path: Path) -> None:
    kafkalet = [sys.executable, "-m", "kafkalet", "exec", "--exit-with-parent", "--", sys.executable, "-c", WAITING]
    with subprocess.Popen(
        ["sh", "-c", '"$@" & read forever', "sh", *kafkalet],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as shell:
        assert line(shell) == "running"
        shell.kill()
        assert shell.communicate(timeout=30) == ("SIGTERM\n", "")
    assert list(tmp_path.iterdir()) == []
