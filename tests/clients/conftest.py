"""Brokers and clients for the tests in this directory. One broker serves all tests; each test uses its own topics."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from tests.garbage import collect_and_freeze
from tests.oracle.apache_kafka import ApacheKafka, missing

from .drivers import DRIVERS, Driver
from .toolchains import Workshop

CONFIG = {"message.max.bytes": str(8 << 20), "log.retention.ms": "-1"}
"""The tests use record timestamps in the distant past, which time-based retention would delete."""

QUICK = {"group.consumer.heartbeat.interval.ms": "100", "group.consumer.min.heartbeat.interval.ms": "100"}
"""In the new consumer protocol (KIP-848) the broker sets the heartbeat interval; the default is five seconds."""

ASKED = [pytest.param(None, id="kafkalet")]
ASKED += [pytest.param(release, id=f"kafka-{release}", marks=pytest.mark.oracle) for release in ("3.9", "4.4")]

HERE = Path(__file__).parent

_numbers = itertools.count()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need packages of another language, unless `-m toolchain` selects them (`make clients`). Also
    ignore the warnings about sockets that kafka-python leaves open if it is closed or refused while they are
    connecting.
    """
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    if "toolchain" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("toolchain")]
        items[:] = [item for item in items if not item.get_closest_marker("toolchain")]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def _freeze() -> None:
    """Make garbage collections by the clients of this directory fast."""
    collect_and_freeze()


@pytest.fixture(scope="session")
def kafka() -> Iterator[kafkalet.Broker]:
    """A broker that supports all versions, for the whole session."""
    with kafkalet.Broker(config=CONFIG | QUICK) as broker:
        yield broker


@pytest.fixture(scope="session", params=ASKED)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker that tests use over the network only: kafkalet or, with `-m oracle`, Apache Kafka."""
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
    """A new topic with three partitions."""
    name = f"topic-{next(_numbers)}"
    kafka.topic(name).create(3)
    return name


@pytest.fixture(params=sorted(DRIVERS))
def driver_type(request: pytest.FixtureRequest) -> type[Driver]:
    return DRIVERS[request.param]


@pytest.fixture
def client(driver_type: type[Driver], kafka: kafkalet.Broker) -> Iterator[Driver]:
    """A client of each of the three libraries in turn."""
    driver = driver_type(kafka.bootstrap_servers)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Builds and runs programs in other languages."""
    return Workshop(tmp_path_factory.mktemp("toolchains"))
