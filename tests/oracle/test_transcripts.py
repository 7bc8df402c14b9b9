"""Replay the transcripts against Apache Kafka, to check the transcripts and the replayer."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kafkalet_conformance.catalog import Scenario, scenarios
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import load
from tests.recorded.test_golden import wrong
from tools.recording.recorded_properties import RACKS, broker_properties

from .apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

PLACES = [(release, security, 1) for security in ("", "acl", "tokens") for release in ("3.9", "4.3", "4.4", "2.8")]
PLACES += [(release, "", 3) for release in ("3.9", "4.3", "4.4")] + [
    (release, "faults", 3) for release in ("3.9", "4.4")
]
ALL = [
    pytest.param((release, security, brokers), scenario, id="-".join(filter(None, (release, security, scenario.name))))
    for release, security, brokers in PLACES
    for scenario in scenarios().values()
    if release in scenario.releases
    and security == next((need for need in ("tokens", "acl", "faults") if need in scenario.needs), "")
    and scenario.needs.get("brokers", 1) == brokers
]
Place = tuple[str, str, int]
"""A release, what its brokers have to be prepared for, and the number of brokers."""


@pytest.fixture(scope="module")
def target_of() -> Iterator[Callable[[Place], Target]]:
    """Start one Kafka at a time and keep it until another is needed; the transcripts are sorted by release."""
    running: dict[Place, Target] = {}
    with ExitStack() as stack:

        def start(place: Place) -> Target:
            release, need, brokers = place
            if place not in running:
                stack.close()
                running.clear()
                acl, tokens, faults = need in ("acl", "tokens"), need == "tokens", need == "faults"
                properties = broker_properties(release, brokers, tokens=tokens, faults=faults)
                kafka = ApacheKafka(release, acl, properties, brokers, racks=RACKS if faults else ())
                stack.enter_context(kafka)
                running[place] = Target(kafka.bootstrap_servers, acl, legacy=release == "2.8", tokens=tokens)
                running[place].brokers = kafka if faults else None
            return running[place]

        yield start


@pytest.mark.parametrize(("place", "scenario"), ALL)
def test_apache_kafka_still_returns_the_recorded_responses(
    place: Place, scenario: Scenario, target_of: Callable[[Place], Target]
) -> None:
    release = place[0]
    if reason := missing(release):
        pytest.skip(reason)
    target = target_of(place)
    assert not target.lacks(scenario.needs)
    assert wrong(replay(load(scenario.name), release, target)) == []
