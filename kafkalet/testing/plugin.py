"""The pytest plugin: fixtures that run a broker.

    def test_it(kafka):                        a new broker for this test
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    def test_it(kafka_session):                one broker for the test session

Each broker runs in its own thread and listens on a free port of 127.0.0.1, independently of any event loop in the test.
Its thread, sockets and files are gone when its fixture ends. Each pytest-xdist worker has its own brokers.

pytest loads this module in every run, so the broker is imported only when a test requests a fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .cluster import Broker


@pytest.fixture
def kafka() -> "Iterator[Broker]":
    """Provide a new Kafka broker for the test."""
    yield from _running_broker()


@pytest.fixture(scope="session")
def kafka_session() -> "Iterator[Broker]":
    """Provide one Kafka broker for the test session, or for each pytest-xdist worker. Tests share its topics."""
    yield from _running_broker()


def _running_broker() -> "Iterator[Broker]":
    from .cluster import Broker

    with Broker() as broker:
        yield broker
