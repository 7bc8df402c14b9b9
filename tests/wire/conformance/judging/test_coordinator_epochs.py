"""A restarted broker: the leader epochs of `__transaction_state`, and so the coordinator epochs, are not 0."""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.transactions.shard import Shard
from kafkalet_conformance.judging.judge import Options, judge
from kafkalet_conformance.results import Outcome

MARKED = ("txn_abort", "transactions_end", "transactions_records_offsets")
"""Scenarios that see coordinator epochs in Fetch, in DescribeProducers, and in records of __consumer_offsets."""
CHOSEN = "transactions_markers"
"""A scenario that writes markers with coordinator epochs of its own."""


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafkalet.Broker]:
    path = tmp_path_factory.mktemp("data")
    with kafkalet.Broker(version="4.4", data_dir=path) as broker:
        outcomes(broker, MARKED[0])  # which creates __transaction_state
    with kafkalet.Broker(version="4.4", data_dir=path) as broker:
        yield broker


def outcomes(broker: kafkalet.Broker, *scenarios: str) -> dict[str, Outcome]:
    run = judge(Options(broker.bootstrap_servers, "4.4", only=scenarios, repeat=0))
    return {result.scenario.name: result.outcome for result in run.results}


def test_restarted_broker_that_responds_like_kafka_is_as_kafka(restarted: kafkalet.Broker) -> None:
    assert outcomes(restarted, *MARKED, CHOSEN) == dict.fromkeys((*MARKED, CHOSEN), Outcome.AS_KAFKA)


@pytest.mark.parametrize("wrong", [0, 7])
def test_coordinator_epoch_that_is_not_the_leader_epoch_differs(
    restarted: kafkalet.Broker, wrong: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shard, "coordinator_epoch", property(lambda _: wrong))
    assert outcomes(restarted, *MARKED) == dict.fromkeys(MARKED, Outcome.DIFFERS)
