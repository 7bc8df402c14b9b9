"""Replay every transcript against a broker that emulates its release; the answers must be those of Apache Kafka."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.protocol.releases import versions_of

from .messages import APIS
from .replay import HERE, broker_config, load, replay, transcripts
from .scenario import Server

RELEASES = ("3.9", "4.4", "2.8")

LATER_GROUPS = {
    "authorization": "authorization is not supported yet",
}

ABOUT_COORDINATORS = {"groups", "offsets", "consumer_groups", "coordinated_transactions", "coordinators"}

ALL = [
    pytest.param(release, path, id=f"{release}-{path.stem}") for release in RELEASES for path in transcripts(release)
]


@pytest.fixture(scope="session")
def server_of() -> Iterator[Callable[..., Server]]:
    """Start one cluster per release and number of brokers for the whole session, each on a manual clock.

    Scenarios can share a cluster, because each creates its own topics.
    """
    servers: dict[tuple[str, int], Server] = {}
    with ExitStack() as stack:

        def start(release: str, brokers: int = 1) -> Server:
            if (release, brokers) not in servers:
                clock = kafkalet.ManualClock()
                made = kafkalet.Cluster(brokers, kafka_version=release, config=broker_config(release), clock=clock)
                bootstrap = stack.enter_context(made).bootstrap_servers.partition(",")[0]
                servers[release, brokers] = Server(bootstrap, legacy=release == "2.8", clock=clock)
            return servers[release, brokers]

        yield start


def apis_of(scenario: dict[str, Any]) -> set[str]:
    return {step["api"] for step in scenario["steps"] if "api" in step}


def not_served_yet(scenario: dict[str, Any], release: str, server: Server) -> list[str]:
    """Return the APIs of a scenario that the release supports but the broker does not."""
    return sorted(api for api in apis_of(scenario) if APIS[api] in versions_of(release).keys() - server.versions.keys())


@pytest.mark.parametrize(("release", "path"), ALL)
def test_answers_equal_those_of_apache_kafka(release: str, path: Path, server_of: Callable[..., Server]) -> None:
    scenario = load(path)
    group = scenario["group"]
    if reason := LATER_GROUPS.get(group):
        pytest.skip(reason)
    server = server_of(release, scenario["needs"].get("brokers", 1))
    if group in ABOUT_COORDINATORS and (missing := not_served_yet(scenario, release, server)):
        pytest.skip(f"{', '.join(missing)} is not supported yet")
    if lacking := server.lacks(scenario["needs"]):
        pytest.fail(f"the broker of release {release} does not support {lacking}")
    failed = [str(case) for case in replay(scenario, server) if case.problems]
    assert not failed, "\n".join([f"{len(failed)} cases differ from Apache Kafka {release}:", *failed])


def test_served_process_gives_recorded_answers() -> None:
    command = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0", "--kafka-version", "3.9"]
    root = HERE.parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            found = re.fullmatch(r"kafkalet ready bootstrap=(\S+)\n", ready)
            assert found, ready
            server = Server(found[1])
            for name in ("lo_every_version", "fetch_every_version", "produce_every_version", "session_life", "frames"):
                cases = replay(load(HERE / "3.9" / f"{name}.json"), server)
                assert not [str(case) for case in cases if case.problems]
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=10)
    assert process.returncode == 0, log
