"""One program per language for Java, Go, Node and kcat: produce, look up offsets by time, and fetch by assignment.

Run them with `make clients` (pytest -m toolchain); their packages have to be downloaded first (toolchains.py). All
other features are tested in test_toolchain_steps.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet

from .toolchains import RUNNING_S, Workshop, run

pytestmark = pytest.mark.toolchain

KAFKA_CLIENTS = ["0.10.2.2", "1.1.1", "2.8.2", "3.9.2", "4.0.0", "4.4.0"]
"""Releases of the Java client: the oldest with lookups by timestamp, the newest, and some in between."""

BROKERS = ["2.8", "3.9", "4.4", "newest"]
TIMES = {0: 1000, 1: 2000, 2: 3000, 3: 4000, 4: 5000}
REPORT = {
    "produced": [0, 1, 2, 3, 4],
    "beginning": 0,
    "end": 5,
    "stable": 5,
    "found": [2, 3000],
    "none": None,
    "read": [[n, TIMES[n], f"k{n}", f"v{n}"] for n in (2, 3, 4)],
    "out_of_range": True,
}


@pytest.fixture(scope="module", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(version=request.param) as running:
        yield running


@pytest.fixture
def topic(broker: kafkalet.Broker) -> str:
    name = f"t{len(broker._server.metadata.topics)}"
    broker.topic(name).create(1)
    return name


def report(*command: str | Path) -> dict[str, Any]:
    """Run a program and return the report in its last line of output; the name of the client is printed."""
    result: dict[str, Any] = json.loads(run(*command, limit_s=RUNNING_S).splitlines()[-1])
    print(" ", result.pop("client", ""), end=" ")
    return result


@pytest.mark.parametrize("release", KAFKA_CLIENTS)
def test_java_kafka_clients(workshop: Workshop, release: str, broker: kafkalet.Broker, topic: str) -> None:
    java = workshop.java("RoundTrip", release)
    if release == "0.10.2.2" and broker._server.release.name == "4.4":
        with pytest.raises(AssertionError, match="server disconnected"):  # 4.0 removed message sets (KIP-896)
            report(*java, broker.bootstrap_servers, topic)
    else:
        assert report(*java, broker.bootstrap_servers, topic) == REPORT


def test_franz_go_client(workshop: Workshop, broker: kafkalet.Broker, topic: str) -> None:
    assert report(*workshop.go("roundtrip"), broker.bootstrap_servers, topic) == REPORT


def test_kafkajs_client(workshop: Workshop, broker: kafkalet.Broker, topic: str) -> None:
    result = report(*workshop.node("roundtrip.js"), broker.bootstrap_servers, topic)
    assert result == {**REPORT, "found": 2}  # kafkajs does not return the timestamp


def test_kcat_client(workshop: Workshop, broker: kafkalet.Broker, topic: str) -> None:
    result = report(*workshop.kcat("roundtrip.sh"), broker.bootstrap_servers, topic)
    assert (result["beginning"], result["end"], result["out_of_range"]) == (0, 5, True)
    assert (result["found"], result["none"]) == (0, -1)
    assert [(offset, key, value) for offset, _, key, value in result["read"]] == [
        (2, "k2", "v2"),
        (3, "k3", "v3"),
        (4, "k4", "v4"),
    ]
