"""Replay every transcript against a broker that emulates its release; the responses must be those of Apache Kafka."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.config.release import Release
from kafkalet.broker.security.short_forms import AUTHORIZER
from kafkalet.clock import ManualClock
from kafkalet_conformance.catalog import Scenario, scenarios
from kafkalet_conformance.judging.nearest import recorded_releases
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import CaseResult, Outcome
from kafkalet_conformance.transcripts import load
from tests.source import ROOT
from tools.recording.recorded_properties import RACKS, broker_properties

RELEASES = ("3.9", "4.4", "4.3", "2.8")
BETWEEN = [release for release in recorded_releases() if release not in RELEASES]
"""The other recorded releases. Most of their responses are those of their neighbors, so they are tested as slow."""
WITH_ACLS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin" user_user="user";'
    ),
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:admin",
}
"""The properties of a broker that denies by default, with the super user admin and the user user."""
ALL = [
    pytest.param(release, scenario, id=f"{release}-{scenario.name}", marks=[pytest.mark.slow] * (release in BETWEEN))
    for release in (*RELEASES, *BETWEEN)
    for scenario in scenarios().values()
    if release in scenario.releases
]


@pytest.fixture(scope="session")
def target_of() -> Iterator[Callable[[str, Mapping[str, Any]], Target]]:
    """Start one cluster for each release and the needs of scenarios, for the whole session, each on a manual clock.

    Scenarios can share a cluster, because each creates its own topics. The ACLs of earlier scenarios are removed.
    """
    targets: dict[tuple[str, int, bool, bool, bool, bool], Target] = {}
    clusters: dict[tuple[str, int, bool, bool, bool, bool], kafkalet.Cluster] = {}
    with ExitStack() as stack:

        def start(release: str, needs: Mapping[str, Any]) -> Target:
            brokers = needs.get("brokers", 1)
            acl, tokens, faults = ("acl" in needs), ("tokens" in needs), ("faults" in needs)
            tiered = "tiered" in needs
            place = release, brokers, acl, tokens, faults, tiered
            if place not in targets:
                clock = ManualClock()
                config = broker_properties(release, brokers, tokens=tokens, faults=faults, tiered=tiered)
                config |= WITH_ACLS if acl else {}
                racks = RACKS if faults else None
                at = None if acl else "127.0.0.1:0"
                made = kafkalet.Cluster(
                    brokers, version=release, config=config, clock=clock, racks=racks, controller=at
                )
                bootstrap = stack.enter_context(made).bootstrap_servers.partition(",")[0]
                legacy = Release.of(release).honors_message_format
                targets[place] = Target(bootstrap, acl, legacy, clock, tokens=tokens, tiered=tiered)
                targets[place].brokers = Nodes(made) if faults else None
                clusters[place] = made
            if acl:
                remove_acls(clusters[place])
            return targets[place]

        yield start


class Nodes:
    """The brokers of a cluster, which scenarios stop and start."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self._cluster = cluster

    def kill(self, node_id: int) -> None:
        if node_id:
            self._cluster.broker(node_id).kill()
        else:
            self._cluster.stop_controller()

    def start(self, node_id: int) -> None:
        if node_id:
            self._cluster.broker(node_id).start()
        else:
            self._cluster._server.call(self._cluster._server.start_controller)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda node_id, *peers: getattr(self._cluster.broker(node_id), name)(*peers)


def remove_acls(cluster: kafkalet.Cluster) -> None:
    controller = cluster._server.controller
    cluster._server.call(lambda: controller.delete_acls(list(controller.metadata.acls)))


def wrong(cases: list[CaseResult]) -> list[str]:
    """Describe the cases whose responses differ from those of Apache Kafka."""
    return [
        "\n    ".join([case.name, case.reason, *map(str, case.differences[:8])])
        for case in cases
        if case.outcome is not Outcome.AS_KAFKA
    ]


@pytest.mark.parametrize(("release", "scenario"), ALL)
def test_responses_equal_those_of_apache_kafka(
    release: str, scenario: Scenario, target_of: Callable[[str, Mapping[str, Any]], Target]
) -> None:
    target = target_of(release, scenario.needs)
    if lacking := target.lacks(scenario.needs):
        pytest.fail(f"the broker of release {release} does not support {lacking}")
    replayed = replay(load(scenario.name), release, target)
    assert replayed
    assert wrong(replayed) == []


def test_served_process_returns_the_recorded_responses() -> None:
    command = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0", "--kafka-version", "3.9"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            found = re.fullmatch(r"kafkalet ready bootstrap=(\S+)\n", ready)
            assert found, ready
            target = Target(found[1])
            for name in ("lo_every_version", "fetch_every_version", "produce_every_version", "session_life", "frames"):
                assert wrong(replay(load(name), "3.9", target)) == []
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=10)
    assert process.returncode == 0, log
