"""kafkalet answers as Apache Kafka answered: every transcript, on a broker that emulates the release it is from."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import kafkalet
from kafkalet.protocol.api import Api

from .replay import HERE, load, replay, transcripts
from .scenario import Server
from .stand_in import ServerWithStandIn

RELEASES = ("3.9", "4.4", "2.8")

LATER_GROUPS = {
    "authorization": "authorization is not served yet",
}
COORDINATORS_APIS = {"AddPartitionsToTxn", "EndTxn"}
LATER_CASES = {
    ("txn_coordinator_errors", case): reason
    for reason, cases in {
        "which timeout a transaction may have, the coordinator decides": (
            "timeout 0",
            "timeout beyond the broker's maximum",
        ),
        "which transaction ends, the coordinator knows": (
            "end without a transaction",
            "end of an unknown id",
            "end with another producer id",
            "end with a newer epoch",
        ),
        "what belongs to a transaction, the coordinator checks": (
            "add an unknown topic",
            "add an unknown partition",
        ),
    }.items()
    for case in cases
}
"""What the coordinator itself answers, which is not served yet; `stand_in.py` does not stand in for that."""

ALL = [
    pytest.param(release, path, id=f"{release}-{path.stem}") for release in RELEASES for path in transcripts(release)
]


@pytest.fixture(scope="session")
def server_of() -> Iterator[Callable[..., Server]]:
    """One broker per release for the whole run: scenarios use topics of their own."""
    servers: dict[tuple[str, bool], Server] = {}
    with ExitStack() as stack:

        def start(release: str, with_stand_in: bool = False) -> Server:
            if (release, with_stand_in) not in servers:
                broker = stack.enter_context(kafkalet.Broker(kafka_version=release))
                servers[release, with_stand_in] = (
                    ServerWithStandIn(broker)
                    if with_stand_in
                    else Server(broker.bootstrap_servers, legacy=release == "2.8")
                )
            return servers[release, with_stand_in]

        yield start


@pytest.mark.parametrize(("release", "path"), ALL)
def test_answers_are_those_of_apache_kafka(release: str, path: Path, server_of: Callable[..., Server]) -> None:
    scenario = load(path)
    name, group = scenario["scenario"], scenario["group"]
    if reason := LATER_GROUPS.get(group):
        pytest.skip(reason)
    server = server_of(release, any(step.get("api") in COORDINATORS_APIS for step in scenario["steps"]))
    if lacking := server.lacks(scenario["needs"]):
        pytest.fail(f"the broker of release {release} lacks {lacking}")
    scenario["steps"] = [step for step in scenario["steps"] if (name, step.get("case")) not in LATER_CASES]
    failed = [str(case) for case in replay(scenario, server) if case.problems]
    assert not failed, "\n".join([f"{len(failed)} cases differ from Apache Kafka {release}:", *failed])


@pytest.mark.parametrize(("name", "case"), LATER_CASES)
def test_what_is_left_out_is_in_the_transcript(name: str, case: str) -> None:
    for release in ("3.9", "4.4"):
        assert case in {step.get("case") for step in load(HERE / release / f"{name}.json")["steps"]}


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_stands_in_for_what_is_served(release: str, server_of: Callable[..., Server]) -> None:
    """So that no case stays left out once the broker has a coordinator."""
    assert Api.END_TXN not in server_of(release).versions


def test_a_served_process_answers_the_same() -> None:
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
