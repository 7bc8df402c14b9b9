"""Judging a broker."""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.conformance.judging.judge import Options, judge
from kafkalet.conformance.results import Outcome


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(kafka_version="3.9") as broker:
        yield broker


def test_broker_that_answers_like_kafka_is_as_kafka(broker: kafkalet.Broker) -> None:
    run = judge(Options(broker.bootstrap_servers, "3.9", only=("lo_every_version", "lo_time_equal")))
    assert run.counts() == {Outcome.AS_KAFKA: 2}
    assert run.case_counts()[Outcome.AS_KAFKA] > 20
