"""Tests of `LogEnvironment`, which the logs of a directory share."""

from kafkalet.clock import ManualClock
from kafkalet.storage.environment import LogEnvironment
from kafkalet.storage.files import Files


def test_truncation_calls_the_callback() -> None:
    called: list[str] = []
    LogEnvironment(Files(durable=False), ManualClock(), lambda: called.append("truncated")).truncated()
    assert called == ["truncated"]
