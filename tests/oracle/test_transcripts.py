"""The transcripts against Apache Kafka itself: they are still what it answers, and the replayer reads it right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.replay import load, replay, transcripts
from tests.golden.scenario import Server

from .apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

PLACES = [("3.9", False), ("4.4", False), ("2.8", False), ("3.9", True), ("4.4", True)]
ALL = [
    pytest.param((release, acl), path, id=f"{release}{'-acl' * acl}-{path.stem}")
    for release, acl in PLACES
    for path in transcripts(release)
    if bool(load(path)["needs"].get("acl")) == acl
]


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> tuple[str, bool]:
    """Release and whether with an authorizer; one Kafka runs at a time."""
    chosen: tuple[str, bool] = request.param
    return chosen


@pytest.fixture(scope="module")
def server(place: tuple[str, bool]) -> Iterator[Server]:
    release, acl = place
    if reason := missing(release):
        pytest.skip(reason)
    with ApacheKafka(release, acl) as kafka:
        yield Server(kafka.bootstrap_servers, acl, legacy=release == "2.8")


@pytest.mark.parametrize(("place", "path"), ALL, indirect=["place"])
def test_apache_kafka_answers_as_recorded(server: Server, path: Path) -> None:
    scenario = load(path)
    assert not server.lacks(scenario["needs"])
    failed = [str(case) for case in replay(scenario, server) if case.problems]
    assert not failed, "\n".join(failed)
