"""Brokers and clients for the tests of this folder. One broker serves them all; each test has a topic of its own."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from tests.oracle.apache_kafka import ApacheKafka, missing

from .drivers import DRIVERS, Driver
from .toolchains import Workshop

CONFIG = {"message.max.bytes": str(8 << 20), "log.retention.ms": "-1"}
"""Tests give their records times of long ago, which retention would take at its next look."""

QUICK = {"group.consumer.heartbeat.interval.ms": "100", "group.consumer.min.heartbeat.interval.ms": "100"}
"""Members of the new consumer protocol are told by the broker how often to call; every five seconds by default."""

ASKED = [pytest.param(None, id="kafkalet")]
ASKED += [pytest.param(release, id=f"kafka-{release}", marks=pytest.mark.oracle) for release in ("3.9", "4.4")]

HERE = Path(__file__).parent

_numbers = itertools.count()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has to fetch another language's packages first, unless it is asked for (`make clients`).

    kafka-python leaves sockets open that were connecting when it was closed, or refused; nobody else is told.
    """
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    if "toolchain" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("toolchain")]
        items[:] = [item for item in items if not item.get_closest_marker("toolchain")]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def kafka() -> Iterator[kafkalet.Broker]:
    """A broker that serves every version, for the whole run."""
    with kafkalet.Broker(config=CONFIG | QUICK) as broker:
        yield broker


@pytest.fixture(scope="session", params=ASKED)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a broker listens that is asked from outside alone: kafkalet, and Apache Kafka itself with `-m oracle`."""
    release = request.param
    if release is None:
        yield request.getfixturevalue("kafka").bootstrap_servers
    elif reason := missing(release):
        pytest.skip(reason)
    else:
        with ApacheKafka(release, config=CONFIG | QUICK) as kafka:
            yield kafka.bootstrap_servers


@pytest.fixture
def topic(kafka: kafkalet.Broker) -> str:
    """A topic with three partitions that nobody else uses."""
    name = f"topic-{next(_numbers)}"
    kafka.create_topic(name, partitions=3)
    return name


@pytest.fixture(params=sorted(DRIVERS))
def driver_type(request: pytest.FixtureRequest) -> type[Driver]:
    return DRIVERS[request.param]


@pytest.fixture
def client(driver_type: type[Driver], kafka: kafkalet.Broker) -> Iterator[Driver]:
    """Each of the three clients in turn."""
    driver = driver_type(kafka.bootstrap_servers)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """What builds programs of other languages."""
    return Workshop(tmp_path_factory.mktemp("toolchains"))
