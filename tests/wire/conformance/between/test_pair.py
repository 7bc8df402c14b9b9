"""The same history against two brokers."""

from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet_conformance.between.histories import GROUPS, Group, history
from kafkalet_conformance.between.pair import Pair
from kafkalet_conformance.between.shrinking import Shrinker, units
from kafkalet_conformance.playing.player import Player
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Difference
from kafkalet_conformance.transcripts import Step

SEED = 1
ALONE = sorted(name for name, group in GROUPS.items() if group == Group(group.write))
"""The groups that one broker without an authorizer can perform quickly."""


@pytest.fixture(scope="module")
def two_brokers() -> Iterator[tuple[Target, Target]]:
    with kafkalet.Broker(version="4.4") as one, kafkalet.Broker(version="4.4") as other:
        yield Target(one.bootstrap_servers), Target(other.bootstrap_servers)


@pytest.mark.parametrize("group", GROUPS)
def test_same_seed_produces_same_history(group: str, two_brokers: tuple[Target, Target]) -> None:
    nodes = (1, 2, 3)
    steps = [history(group, SEED, number, "4.4", two_brokers[0].versions, nodes).steps for number in (0, 0, 1)]
    assert steps[0] == steps[1] != steps[2]


@pytest.mark.parametrize("group", ALONE)
def test_two_equal_brokers_have_no_difference(group: str, two_brokers: tuple[Target, Target]) -> None:
    steps = history(group, SEED, 0, "4.4", two_brokers[0].versions).steps
    assert Pair(*two_brokers).first_difference(steps) is None


def test_shrinker_removes_unneeded_steps(two_brokers: tuple[Target, Target]) -> None:
    steps = history("list_offsets", SEED, 0, "4.4", two_brokers[0].versions).steps

    class Odd(Pair):
        """Reports a difference for every response to ListOffsets since version 4."""

        def compare(self, step: Step, players: list[Player], expected: Any, got: Any) -> list[Difference]:
            odd = step.get("api") == "ListOffsets" and step["version"] >= 4
            return [Difference("topics", expected, got)] if odd else []

    pair = Odd(*two_brokers)
    found = pair.first_difference(steps)
    assert found is not None
    shrunk = Shrinker(pair, found.kind(steps)).shrunk(steps)
    assert [step["api"] for step in shrunk if "case" in step] == ["ListOffsets"]
    assert len(units(shrunk)) < len(units(steps))
