"""Scenarios with real clients, whose verdicts are known."""

import pytest

from kafkalet.conformance.clients.results import Verdict

from .judged import driver, judged


@pytest.mark.parametrize("scenario", ["produce-transaction", "consume-in-group", "consume-leader-moves"])
def test_kafka_python_is_correct(scenario: str) -> None:
    result = judged(scenario, driver("kafka_python"))
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])
