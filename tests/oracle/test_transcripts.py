"""Replay the transcripts against Apache Kafka, to check the transcripts and the replayer."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kafkalet.conformance.catalogue import Scenario, scenarios
from kafkalet.conformance.judging.replaying import replay
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.recording.recorded_properties import broker_properties
from kafkalet.conformance.transcripts import load
from tests.recorded.test_golden import wrong

from .apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

PLACES = [("3.9", False, 1), ("4.4", False, 1), ("2.8", False, 1), ("3.9", True, 1), ("4.4", True, 1)]
PLACES += [("3.9", False, 3), ("4.4", False, 3)]
ALL = [
    pytest.param((release, acl, brokers), scenario, id=f"{release}{'-acl' * acl}-{scenario.name}")
    for release, acl, brokers in PLACES
    for scenario in scenarios().values()
    if release in scenario.releases
    and bool(scenario.needs.get("acl")) == acl
    and scenario.needs.get("brokers", 1) == brokers
]
Place = tuple[str, bool, int]
"""A release, whether it has an authorizer, and the number of brokers."""


@pytest.fixture(scope="module")
def target_of() -> Iterator[Callable[[Place], Target]]:
    """Start one Kafka at a time and keep it until another is needed; the transcripts are sorted by release."""
    running: dict[Place, Target] = {}
    with ExitStack() as stack:

        def start(place: Place) -> Target:
            release, acl, brokers = place
            if place not in running:
                stack.close()
                running.clear()
                kafka = stack.enter_context(ApacheKafka(release, acl, broker_properties(release), brokers))
                running[place] = Target(kafka.bootstrap_servers, acl, legacy=release == "2.8")
            return running[place]

        yield start


@pytest.mark.parametrize(("place", "scenario"), ALL)
def test_apache_kafka_still_gives_recorded_answers(
    place: Place, scenario: Scenario, target_of: Callable[[Place], Target]
) -> None:
    release = place[0]
    if reason := missing(release):
        pytest.skip(reason)
    target = target_of(place)
    assert not target.lacks(scenario.needs)
    assert wrong(replay(load(scenario.name), release, target)) == []
