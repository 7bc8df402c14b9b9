"""Clients that stay connected while a broker restarts on the same data directory."""

import contextlib
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet

from .drivers import BrokerError, ConfluentKafka, Driver, Row
from .test_steps import FENCED, values
from .waiting import shared, take, until

_numbers = itertools.count()


class RestartableBroker:
    """A broker on a fixed port with a data directory, so that it can be restarted."""

    def __init__(self, directory: Path) -> None:
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.directory = str(directory)
        self.servers = f"127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        cleanup = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
        config = {"log.retention.ms": "-1", **cleanup}
        self.broker = kafkalet.Broker(port=self.port, data_dir=self.directory, config=config)
        self.broker.__enter__()

    def stop(self) -> None:
        self.broker.__exit__(None, None, None)

    def restart(self) -> None:
        self.stop()
        self.start()


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[RestartableBroker]:
    running = RestartableBroker(tmp_path)
    running.broker.topic("t").create(3)
    yield running
    running.stop()


@pytest.fixture
def client(driver_type: type[Driver], restartable: RestartableBroker) -> Iterator[Driver]:
    driver = driver_type(restartable.servers)
    yield driver
    driver.close()


def test_group_resumes_after_restart(client: Driver, restartable: RestartableBroker) -> None:
    client.produce("t", 0, [Row(n, b"%d" % n) for n in range(5)])
    member = client.member("g", "t")
    take(member, 5)
    member.commit({0: 3})
    restartable.restart()
    client.produce("t", 1, [Row(1, b"new")])
    assert values(take(member, 1)) == [b"new"], "the member rejoined and resumed at its position"
    member.commit()
    assert client.committed("g", "t").items() >= {0: 5, 1: 1}.items()


def test_committed_offsets_survive_restart(client: Driver, restartable: RestartableBroker) -> None:
    client.produce("t", 0, [Row(n, b"%d" % n) for n in range(5)])
    member = client.member("g", "t")
    take(member, 5)
    member.commit({0: 3})
    member.close()
    restartable.restart()
    assert client.committed("g", "t") == {0: 3}
    assert client.describe_group("g").state == "Empty"


def test_open_transaction_continues_after_restart(client: Driver, restartable: RestartableBroker) -> None:
    producer = client.transactional("x")
    producer.begin()
    producer.send("t", 0, [Row(1, b"before")])
    restartable.restart()
    assert client.end_offsets("t", [0], "read_committed") == [0]
    producer.send("t", 0, [Row(2, b"after")])
    producer.commit()
    assert values(client.read("t", {0: 0}, 2, "read_committed")) == [b"before", b"after"]


def test_fenced_producer_stays_fenced_after_restart(client: Driver, restartable: RestartableBroker) -> None:
    older = client.transactional("x")
    older.begin()
    older.send("t", 0, [Row(1, b"of the older")])
    client.transactional("x")
    restartable.restart()
    with pytest.raises(BrokerError) as failure:
        older.commit()
    assert failure.value.code in FENCED
    assert client.end_offsets("t", [0], "read_committed") == [2]


def test_open_transaction_times_out_after_restart(client: Driver, restartable: RestartableBroker) -> None:
    producer = client.transactional("x", transaction_timeout_ms=1000)
    producer.begin()
    producer.send("t", 0, [Row(1, b"never committed")])
    restartable.restart()
    until(lambda: client.end_offsets("t", [0], "read_committed") == [2])


def test_broker_stops_while_members_wait(driver_type: type[Driver], tmp_path: Path) -> None:
    """Pending fetches and joins do not delay the broker's stop, and clients can be closed while it is down."""
    restartable = RestartableBroker(tmp_path)
    restartable.broker.topic("t").create(3)
    client = driver_type(restartable.servers)
    first, second = client.member("g", "t"), client.member("g", "t")
    until(shared(first, second), first, second)
    restartable.stop()
    client.close()


def test_committed_offsets_can_be_read_as_records(restartable: RestartableBroker) -> None:
    client = ConfluentKafka(restartable.servers)
    with contextlib.closing(client):
        member = client.member("g", "t")
        until(shared(member), member)
        member.commit({0: 3})
        count = len(client.describe_topic("__consumer_offsets"))
        found = []
        for partition, end in enumerate(client.end_offsets("__consumer_offsets", range(count))):
            if end:
                found += client.read("__consumer_offsets", {partition: 0}, end)
        keys = [message.key for _, message in found if message.key]
        # key version 1, group, topic, partition
        assert b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00" in keys
