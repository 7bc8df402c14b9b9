"""A command is started in its own process group, and nothing of it survives."""

import os
import sys
import threading

import pytest

from kafkalet_conformance.clients.command import Command


def started(program: str, ended: threading.Event | None = None) -> Command:
    called = (ended or threading.Event()).set
    return Command([sys.executable, "-c", program], os.environ, called, None)


def test_lines_and_status_of_command_are_kept() -> None:
    ended = threading.Event()
    command = started("import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)", ended)
    assert ended.wait(10)
    assert (command.lines, sorted(command.log), command.status) == (["one"], ["one", "two"], 3)


def test_kill_ends_command_and_its_children() -> None:
    child = "import time; print('child', flush=True); time.sleep(600)"
    command = started(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    while not command.lines:
        assert not command.wait(0.01)
    command.kill()
    assert command.was_killed
    assert command.status == -9
    assert command.wait(0)  # both pipes are at their end, so no process has them open


def test_child_that_outlives_command_is_killed() -> None:
    child = "import time; time.sleep(600)"
    command = started(f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid)")
    assert command.wait(10)
    with pytest.raises(ProcessLookupError):
        os.killpg(int(command.lines[0]), 0)


def test_missing_program_raises() -> None:
    with pytest.raises(FileNotFoundError):
        Command(["/no/such/program"], {}, lambda: None, None)


def test_bytes_that_are_not_utf_8_are_escaped() -> None:
    command = started("import sys; sys.stdout.buffer.write(b'a\\xffb\\n')")
    assert command.wait(10)
    assert command.lines == ["a\\xffb"]
