"""Brokers for pytest, with nothing to configure.

    def test_it(kafka):                        a fresh broker for this test
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    def test_it(kafka_session):                one broker for all tests of a worker

Each broker runs in a thread of its own on a free port of 127.0.0.1, whatever event loop the test has or has not, and
is gone when its fixture ends: no thread, no socket and no file is left. Workers of pytest-xdist each have their own.

pytest loads this module in every run, so it imports nothing of a broker until a test asks for one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafkalet.embedded import Broker


@pytest.fixture
def kafka() -> "Iterator[Broker]":
    """A Kafka broker that lives as long as the test."""
    yield from _running_broker()


@pytest.fixture(scope="session")
def kafka_session() -> "Iterator[Broker]":
    """A Kafka broker that lives as long as the test session (of each worker). Tests share its topics."""
    yield from _running_broker()


def _running_broker() -> "Iterator[Broker]":
    from kafkalet.embedded import Broker

    with Broker() as broker:
        yield broker
