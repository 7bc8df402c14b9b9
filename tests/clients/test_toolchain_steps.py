"""Clients in other languages run the same steps as far as they support them; their programs check the results.

The steps: create a topic, produce a thousand records with an idempotent producer, consume them in a group and resume,
rebalance, look up offsets by time, commit and abort transactions with and without offsets, fence a producer, delete
records, compress, describe, delete, use an unknown topic, and fetch out of range. Newer clients also test the consumer
protocol, administration and Kafka Streams.

A program prints `ok NAME` after each step and stops at the first failure. Run them with `make clients`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet

from .toolchains import RUNNING_S, Workshop, run

pytestmark = pytest.mark.toolchain

STEPS = """create, produce, resume, rebalance, times, transactions, offsets in a transaction, fencing, delete records,
    codecs, describe, delete, unknown topic, out of range"""
OLD_STEPS = "produce, resume, rebalance, times, codecs, describe, out of range"
KCAT_STEPS = "produce, resume, rebalance, times, transactions, fencing, codecs, describe, unknown topic, out of range"
PROTOCOL_STEPS = """resume, two members, assignors, pattern, static members, classic static members, migration,
    offsets in a transaction"""
ADMIN_STEPS = """topics, offsets, configs, groups, offsets of groups, transactions, aborts, fencing, leaders,
    reassignments, quotas, features, quorum, telemetry"""
STREAMS_STEPS = "create, count, count on after a restart, once each"

BROKERS = ["2.8", "3.9", "4.4", "newest"]
QUICK = {"group.consumer.min.heartbeat.interval.ms": "100", "group.consumer.heartbeat.interval.ms": "200"}
"""Members of the consumer protocol learn of a rebalance with their next heartbeat, by default every five seconds."""

_prefixes = (f"steps{number}" for number in range(10_000))


@pytest.fixture(scope="module", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(version=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[kafkalet.Cluster]:
    """A cluster of two brokers, so that leaders and replicas can move."""
    with kafkalet.Cluster(brokers=2, version=request.param, config=QUICK) as running:
        yield running


@pytest.fixture
def prefix() -> str:
    return next(_prefixes)


def steps(*command: str | Path) -> list[str]:
    """Run a program and return the steps it completed; its other output is printed."""
    lines = run(*command, limit_s=RUNNING_S).splitlines()
    print("\n".join(["", *(line for line in lines if not line.startswith("ok "))]), end=" ")
    return [line.removeprefix("ok ") for line in lines if line.startswith("ok ")]


def named(listing: str) -> list[str]:
    return [step.strip() for step in listing.split(",")]


@pytest.mark.parametrize("release", ["2.4.1", "3.9.2", "4.4.0"])
def test_java_kafka_clients(workshop: Workshop, release: str, broker: kafkalet.Broker, prefix: str) -> None:
    java = workshop.java("Steps", release, path="until2" if release < "3" else "since3")
    assert steps(*java, broker.bootstrap_servers, prefix) == named(STEPS)


def test_java_client_without_record_headers(workshop: Workshop, broker: kafkalet.Broker, prefix: str) -> None:
    broker.topic(prefix).create(3)
    java = workshop.java("OldSteps", "0.10.1.1")
    if broker._server.release.name == "4.4":
        with pytest.raises(AssertionError, match=r"failed produce.*server disconnected"):  # KIP-896
            steps(*java, broker.bootstrap_servers, prefix)
    else:
        assert steps(*java, broker.bootstrap_servers, prefix) == named(OLD_STEPS)


@pytest.mark.parametrize("pair", ["4.4", "newest"], indirect=True)
def test_java_uses_the_consumer_protocol(workshop: Workshop, pair: kafkalet.Cluster, prefix: str) -> None:
    java = workshop.java("ConsumerProtocol", "4.4.0", path="since3")
    assert steps(*java, pair.bootstrap_servers, prefix) == named(PROTOCOL_STEPS)


@pytest.mark.parametrize("pair", ["3.9", "4.4", "newest"], indirect=True)
def test_java_admin_client(workshop: Workshop, pair: kafkalet.Cluster, prefix: str) -> None:
    java = workshop.java("AdminSteps", "4.4.0", path="since3")
    assert steps(*java, pair.bootstrap_servers, prefix) == named(ADMIN_STEPS)


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_kafka_streams_counts_words(
    workshop: Workshop, release: str, broker: kafkalet.Broker, prefix: str, tmp_path: Path
) -> None:
    java = workshop.java("WordCount", release, library="kafka-streams", path="streams since3")
    assert steps(*java, broker.bootstrap_servers, prefix, tmp_path) == named(STREAMS_STEPS)


@pytest.mark.parametrize("program", ["franz", "sarama"])
def test_go_clients(workshop: Workshop, program: str, broker: kafkalet.Broker, prefix: str) -> None:
    assert steps(*workshop.go(program), broker.bootstrap_servers, prefix) == named(STEPS)


def test_kafkajs_client(workshop: Workshop, broker: kafkalet.Broker, prefix: str) -> None:
    assert steps(*workshop.node("steps.js"), broker.bootstrap_servers, prefix) == named(STEPS)


def test_kcat_client(workshop: Workshop, broker: kafkalet.Broker, prefix: str) -> None:
    broker.topic(prefix).create(3)
    assert steps(*workshop.kcat("steps.sh"), broker.bootstrap_servers, prefix) == named(KCAT_STEPS)
