"""Tests of `--exit-with-parent`."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from kafkalet.commands import parent

from .processes import COMMAND, ready


def test_parent_is_there_until_its_id_changes() -> None:
    assert not parent.is_gone(os.getppid())
    assert parent.is_gone(0)


async def looks_until_stopped(ids: list[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often the id of the parent, which is 7 at first, is read until `stop` is called."""
    monkeypatch.setattr(parent, "PERIOD_S", 0)
    looks = iter(ids)
    monkeypatch.setattr(os, "getppid", lambda: next(looks))
    stopped = asyncio.Event()
    parent.call_when_gone(7, stopped.set)
    await stopped.wait()
    return len(ids) - len(list(looks))


def test_stop_is_called_when_the_parent_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(looks_until_stopped([7, 7, 1, 1], monkeypatch)) == 3


def test_stop_is_called_immediately_for_a_parent_that_ended_during_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(looks_until_stopped([1, 1], monkeypatch)) == 1


@pytest.mark.slow
def test_broker_stops_after_its_parent_is_killed(tmp_path: Path) -> None:
    """The pipe of stdout reaches its end once the broker, the last to hold it, has ended."""
    script = '"$@" & read forever'
    with subprocess.Popen(
        ["sh", "-c", script, "sh", *COMMAND, "--exit-with-parent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as shell:
        ready(shell)
        shell.kill()
        out, errors = shell.communicate(timeout=30)
    assert out == ""
    assert f"the process that started kafkalet (pid {shell.pid}) is gone; stopping" in errors
    assert list(tmp_path.iterdir()) == []
