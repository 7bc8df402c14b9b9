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

PLACES = [("3.9", False), ("4.4", False), ("2.8", False), ("3.9", True), ("4.4", True)]
ALL = [
    pytest.param(release, acl, scenario, id=f"{release}{'-acl' * acl}-{scenario.name}")
    for release, acl in PLACES
    for scenario in scenarios().values()
    if release in scenario.releases and bool(scenario.needs.get("acl")) == acl and "brokers" not in scenario.needs
]


@pytest.fixture(scope="module")
def target_of() -> Iterator[Callable[[str, bool], Target]]:
    """Start one Kafka at a time and keep it until another is needed; the transcripts are sorted by release."""
    running: dict[tuple[str, bool], Target] = {}
    with ExitStack() as stack:

        def start(release: str, acl: bool) -> Target:
            if (release, acl) not in running:
                stack.close()
                running.clear()
                kafka = stack.enter_context(ApacheKafka(release, acl, broker_properties(release)))
                running[release, acl] = Target(kafka.bootstrap_servers, acl, legacy=release == "2.8")
            return running[release, acl]

        yield start


@pytest.mark.parametrize(("release", "acl", "scenario"), ALL)
def test_apache_kafka_still_gives_recorded_answers(
    release: str, acl: bool, scenario: Scenario, target_of: Callable[[str, bool], Target]
) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    target = target_of(release, acl)
    assert not target.lacks(scenario.needs)
    assert wrong(replay(load(scenario.name), release, target)) == []
