"""Replay the transcripts against Apache Kafka, to check the transcripts and the replayer."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.recorded.replay import broker_config, head, load, replay, transcripts
from tests.recorded.scenario import Server

from .apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

PLACES = [("3.9", False), ("4.4", False), ("2.8", False), ("3.9", True), ("4.4", True)]
ALL = [
    pytest.param(release, acl, path, id=f"{release}{'-acl' * acl}-{path.stem}")
    for release, acl in PLACES
    for path in transcripts(release)
    if bool(head(path)["needs"].get("acl")) == acl
]


@pytest.fixture(scope="module")
def server_of() -> Iterator[Callable[[str, bool], Server]]:
    """Start one Kafka at a time and keep it until another is needed; the transcripts are sorted by release."""
    running: dict[tuple[str, bool], Server] = {}
    with ExitStack() as stack:

        def start(release: str, acl: bool) -> Server:
            if (release, acl) not in running:
                stack.close()
                running.clear()
                kafka = stack.enter_context(ApacheKafka(release, acl, broker_config(release)))
                running[release, acl] = Server(kafka.bootstrap_servers, acl, legacy=release == "2.8")
            return running[release, acl]

        yield start


@pytest.mark.parametrize(("release", "acl", "path"), ALL)
def test_apache_kafka_still_gives_recorded_answers(
    release: str, acl: bool, path: Path, server_of: Callable[[str, bool], Server]
) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    scenario, server = load(path), server_of(release, acl)
    assert not server.lacks(scenario["needs"])
    failed = [str(case) for case in replay(scenario, server) if case.problems]
    assert not failed, "\n".join(failed)
