"""Histories made by chance: a few against Apache Kafka itself, and that the tool does what it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from tests.recorded.asking import Step
from tests.recorded.matching import Difference
from tests.recorded.replay import broker_config
from tests.recorded.scenario import Player, Server

from .apache_kafka import ApacheKafka, missing
from .differential import QUIET, Pair, Run, Shrinker, units
from .histories import GROUPS, history

SEED = 1


@pytest.fixture(scope="module")
def twins() -> Iterator[tuple[Server, Server]]:
    with kafkalet.Broker(kafka_version="3.9") as one, kafkalet.Broker(kafka_version="3.9") as other:
        yield Server(one.bootstrap_servers), Server(other.bootstrap_servers)


@pytest.mark.parametrize("group", GROUPS)
def test_a_seed_makes_the_same_history_again(group: str, twins: tuple[Server, Server]) -> None:
    steps = [history(group, SEED, number, "3.9", twins[0].versions).steps for number in (0, 0, 1)]
    assert steps[0] == steps[1] != steps[2]


@pytest.mark.parametrize("group", GROUPS)
def test_a_broker_answers_as_itself(group: str, twins: tuple[Server, Server]) -> None:
    steps = history(group, SEED, 0, "3.9", twins[0].versions).steps
    assert Pair(*twins).first_difference(steps) is None


def test_what_a_difference_does_not_need_is_left_out(twins: tuple[Server, Server]) -> None:
    steps = history("list_offsets", SEED, 0, "3.9", twins[0].versions).steps

    class Odd(Pair):
        """Finds every answer to a newer ListOffsets wrong."""

        def compare(self, step: Step, players: list[Player], expected: Any, got: Any) -> list[Difference]:
            odd = step.get("api") == "ListOffsets" and step["version"] >= 4
            return [Difference("topics", expected, got)] if odd else []

    pair = Odd(*twins)
    found = pair.first_difference(steps)
    assert found is not None
    shrunk = Shrinker(pair, found.kind(steps)).shrunk(steps)
    assert [step["api"] for step in shrunk if "case" in step] == ["ListOffsets"]
    assert len(units(shrunk)) < len(units(steps))


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_apache_kafka_answers_the_same_to_some_histories(release: str, tmp_path: Path) -> None:
    """What chance or time decides is no difference; every other one is written down for `tests.recorded.replay`."""
    if reason := missing(release):
        pytest.skip(reason)
    config = broker_config(release)
    with (
        ApacheKafka(release, config=config) as kafka,
        kafkalet.Broker(kafka_version=release, config=config | QUIET) as broker,
    ):
        run = Run(Pair(Server(kafka.bootstrap_servers), Server(broker.bootstrap_servers)), release, tmp_path)
        for number in range(5):
            for group in GROUPS:
                run.one(group, SEED, number)
    assert not run.steady, f"kept in {tmp_path}"
