"""Real clients during resets and restores of snapshots."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer
from kafka import KafkaConsumer  # type: ignore[import-untyped]

from kafkalet import Broker, Cluster


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics=["t"]) as broker:
        yield broker


def consumer(broker: Broker, protocol: str = "classic") -> Consumer:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    settings |= {"group.protocol": protocol}
    joined = Consumer(settings | {"enable.auto.commit": False, "reconnect.backoff.ms": 10, "fetch.wait.max.ms": 10})
    joined.subscribe(["t"])
    return joined


def receive(client: Consumer) -> Message:
    """Return the next record. Errors of the connection are not the end of a consumer."""
    while True:
        message = client.poll(10)
        assert message is not None
        if message.error() is None:
            return message
        assert not message.error().fatal()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consumer_continues_its_group_after_restore(broker: Broker, protocol: str) -> None:
    broker.topic("t").send("a")
    topic = broker.topic("t")
    topic.send("b")
    first = consumer(broker, protocol)
    assert receive(first).value() == b"a"
    first.commit(message=None, asynchronous=False)
    snapshot = broker.snapshot()
    assert receive(first).value() == b"b"
    topic.send("only after the snapshot")
    first.commit(asynchronous=False)
    first.close()
    broker.restore(snapshot)
    assert topic.values() == [b"a", b"b"]
    second = consumer(broker, protocol)
    assert receive(second).value() == b"b"
    second.close()


def test_consumer_that_stays_connected_gets_records_sent_after_restore(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("a")
    client = consumer(broker)
    assert receive(client).value() == b"a"
    broker.restore(broker.snapshot())
    topic.send("b")
    assert receive(client).value() == b"b"
    client.close()


def test_idempotent_producer_continues_after_restore(broker: Broker) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "reconnect.backoff.ms": 10}
    )
    producer.produce("t", b"a")
    assert producer.flush(10) == 0
    broker.restore(broker.snapshot())
    producer.produce("t", b"b")
    assert producer.flush(10) == 0
    assert broker.topic("t").values() == [b"a", b"b"]


def test_clients_of_the_next_test_find_an_empty_broker(broker: Broker) -> None:
    for value in ("a", "b", "c"):
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("t", value)
        assert producer.flush(10) == 0
        reader = KafkaConsumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
        assert next(reader).value == value.encode()
        reader.close()
        broker.reset()
        assert broker.topic("t").values() == []


def test_open_transaction_is_committed_after_restore(broker: Broker) -> None:
    topic = broker.topic("t")
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "tx", "reconnect.backoff.ms": 10}
    )
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", b"a")
    assert producer.flush(10) == 0
    broker.restore(broker.snapshot())
    assert (topic.count(), topic.count("read_committed")) == (1, 0)
    assert broker.transaction("tx").state == "Ongoing"
    producer.commit_transaction(10)
    assert topic.count("read_committed") == 1


def test_contents_are_replaced_while_clients_are_busy(broker: Broker) -> None:
    errors: list[object] = []
    loop = broker._server.host.loop
    broker._server.call(lambda: loop.set_exception_handler(lambda _, context: errors.append(context)))
    has_ended = threading.Event()
    settings = {"bootstrap.servers": broker.bootstrap_servers, "reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 5}

    def produce() -> None:
        producer = Producer(settings | {"linger.ms": 0})
        while not has_ended.is_set():
            producer.produce("t", bytes(1000))
            producer.poll(0.001)
        producer.purge()
        producer.flush(10)

    busy = threading.Thread(target=produce)
    busy.start()
    snapshot = broker.snapshot()
    broker.topic("t").wait_for(1)
    broker.restore(snapshot)
    broker.topic("t").wait_for(1)
    broker.reset()
    has_ended.set()
    busy.join()
    assert errors == []


def test_ports_stay_reserved_while_the_brokers_are_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster(brokers=2) as cluster:
        open_brokers, free = cluster._server._open, []

        def look(*arguments: Any) -> None:
            for address in addresses:
                with socket.socket() as other, suppress(OSError):
                    other.bind(address)
                    free.append(address)
            open_brokers(*arguments)

        addresses = [cluster.broker(node_id).address for node_id in (1, 2)]
        monkeypatch.setattr(cluster._server, "_open", look)
        cluster.reset()
        assert free == []
        assert [cluster.broker(node_id).address for node_id in (1, 2)] == addresses
