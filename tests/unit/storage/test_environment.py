"""Tests of `LogEnvironment`, which the logs of a directory share."""

from pathlib import Path

from kafkalet.clock import ManualClock
from kafkalet.storage.environment import LogEnvironment
from kafkalet.storage.files import Files


def test_new_environment_has_no_open_files(tmp_path: Path) -> None:
    environment = LogEnvironment(Files(durable=False), ManualClock())
    assert environment.files.open_count == 0


def test_truncated_calls_the_callback() -> None:
    called: list[str] = []
    LogEnvironment(Files(durable=False), ManualClock(), lambda: called.append("truncated")).truncated()
    assert called == ["truncated"]
