"""Tests of reset, half-closed and silent connections, with clients that recover."""

import asyncio
import errno
import socket
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.errors import RequestTimedOutError  # type: ignore[import-untyped]
from confluent_kafka import Producer
from kafka import KafkaProducer  # type: ignore[import-untyped]

from kafkalet import Broker, Cluster
from kafkalet.testing.connections import ClientConnection
from kafkalet_conformance.playing.connection import Connection, NoAnswer

TIMEOUT_S = 60


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(topics=["t"]) as broker:
        yield broker


@pytest.fixture
def client(kafka: Broker) -> Iterator[Connection]:
    connection = Connection("127.0.0.1", kafka.port)
    yield connection
    connection.close()


def ask(client: Connection) -> int:
    return len(client.receive(client.send("Metadata", 12, {"topics": []}), TIMEOUT_S)["brokers"])


def accepted(kafka: Broker, client: Connection) -> ClientConnection:
    """Return the connection of the client, which the broker has accepted after the first response."""
    ask(client)
    [connection] = kafka.connections
    return connection


def values(kafka: Broker) -> list[bytes | None]:
    return [record.value for record in kafka.topic("t").records()]


def test_connection_shows_its_client_and_latest_request(kafka: Broker, client: Connection) -> None:
    found = accepted(kafka, client)
    assert (found.client_id, found.broker, found.last_request) == ("conformance", 1, "Metadata v12")
    assert found.peer == client.socket.getsockname()
    assert repr(found).endswith("to broker 1, Metadata v12>")


def test_reset_reaches_the_client_as_a_reset(kafka: Broker, client: Connection) -> None:
    found = accepted(kafka, client)
    found.reset()
    with pytest.raises(ConnectionResetError):
        client.socket.recv(1)
    assert found.is_closed
    found.reset()
    assert kafka.connections == []


def test_half_closed_connection_still_receives_requests(kafka: Broker, client: Connection) -> None:
    found = accepted(kafka, client)
    found.half_close()
    assert client.socket.recv(1) == b""
    topic = {"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    with kafka.fault("CreateTopics", delay=0.001) as fault:
        client.send("CreateTopics", 4, {"topics": [topic], "timeout_ms": 1000, "validate_only": False})
        fault.wait_until_fired()


def test_black_hole_sends_nothing_and_stays_open(kafka: Broker, client: Connection) -> None:
    found = accepted(kafka, client)
    found.black_hole()
    sent = client.send("Metadata", 12, {"topics": []})
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.2)
    assert not found.is_closed
    found.reset()


def test_waiting_request_gets_no_response_from_a_black_hole(kafka: Broker, client: Connection) -> None:
    with kafka.fault("Metadata", hang=True) as fault:
        sent = client.send("Metadata", 12, {"topics": []})
        fault.wait_until_fired()
        [found] = kafka.connections
        found.black_hole()
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.2)


def test_confluent_producer_recovers_from_a_reset(kafka: Broker) -> None:
    config = {"bootstrap.servers": kafka.bootstrap_servers, "reconnect.backoff.ms": 10, "enable.idempotence": True}
    producer = Producer(config)
    for value in (b"a", b"b"):
        producer.produce("t", value)
        assert producer.flush(TIMEOUT_S) == 0
        for connection in kafka.connections:
            connection.reset()
    assert values(kafka) == [b"a", b"b"]


@pytest.mark.parametrize(("is_idempotent", "times"), [(False, 2), (True, 1)])
def test_reset_between_append_and_response_makes_a_plain_producer_write_twice(
    kafka: Broker, is_idempotent: bool, times: int
) -> None:
    """The response is lost: the producer cannot know whether the record was written, and sends it again."""
    config = {"enable.idempotence": is_idempotent, "acks": "all", "retry.backoff.ms": 10, "reconnect.backoff.ms": 10}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **config})
    failures = []
    topic = kafka.topic("t")
    with topic.hold_high_watermark(at=0):  # the response has to wait
        producer.produce("t", b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
        topic.wait_until(lambda _: topic.log().log_end_offset == 1)
        for connection in kafka.connections:
            connection.reset()
    assert producer.flush(TIMEOUT_S) == 0
    assert failures == []
    assert values(kafka) == times * [b"x"]


def test_kafka_python_producer_recovers_from_a_half_close(kafka: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, reconnect_backoff_ms=10, retry_backoff_ms=10)
    for value in (b"a", b"b"):
        producer.send("t", value).get(TIMEOUT_S)
        for connection in kafka.connections:
            connection.half_close()
    producer.close()
    assert values(kafka) == [b"a", b"b"]


def test_aiokafka_producer_times_out_in_a_black_hole_and_recovers(kafka: Broker) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, request_timeout_ms=500, retry_backoff_ms=10
        )
        await producer.start()
        try:
            await producer.send_and_wait("t", b"a")
            for connection in kafka.connections:
                connection.black_hole()
            with pytest.raises(RequestTimedOutError):
                await producer.send_and_wait("t", b"lost")
            await producer.send_and_wait("t", b"b")
        finally:
            await producer.stop()

    asyncio.run(run())
    assert values(kafka) == [b"a", b"b"]


# Refused connections


def connect(port: int) -> int:
    """Return the error number of a new connection; 0 if it is accepted."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port))


def test_new_connections_are_refused_and_open_ones_served(kafka: Broker, client: Connection) -> None:
    port = kafka.port
    assert ask(client) == 1
    with kafka.refuse_connections():
        assert connect(port) == errno.ECONNREFUSED
        assert ask(client) == 1
    assert connect(port) == 0


def test_one_broker_refuses_connections() -> None:
    with Cluster(brokers=2) as cluster:
        ports = [cluster.broker(node_id).address[1] for node_id in (1, 2)]
        with cluster.refuse_connections(2):
            assert [connect(port) for port in ports] == [0, errno.ECONNREFUSED]
        assert [connect(port) for port in ports] == [0, 0]


@pytest.mark.parametrize("is_restored", [False, True])
def test_restarted_broker_refuses_connections_until_the_end_of_the_block(is_restored: bool) -> None:
    with Cluster(brokers=2) as cluster:
        port = cluster.broker(2).address[1]
        snapshot = cluster.snapshot()
        with cluster.refuse_connections(2):
            with pytest.raises(ValueError, match="already running"):
                cluster.broker(2).start()
            if is_restored:
                cluster.restore(snapshot)
            else:
                cluster.roll()
            assert connect(port) == errno.ECONNREFUSED
            assert connect(cluster.broker(1).address[1]) == 0
        assert connect(port) == 0


def test_broker_that_starts_in_the_block_refuses_connections() -> None:
    with Cluster(brokers=2) as cluster:
        port = cluster.broker(2).address[1]
        cluster.broker(2).stop()
        with cluster.refuse_connections():
            cluster.broker(2).start()
            assert connect(port) == errno.ECONNREFUSED
            cluster.broker(2).stop()
        cluster.broker(2).start()
        assert connect(port) == 0


def test_inner_block_does_not_end_the_refusal_of_the_outer_one() -> None:
    with Cluster(brokers=2) as cluster:
        port = cluster.broker(1).address[1]
        with cluster.refuse_connections():
            with cluster.refuse_connections(1):
                pass
            assert connect(port) == errno.ECONNREFUSED
        assert connect(port) == 0


def test_cluster_that_is_reset_accepts_connections(kafka: Broker) -> None:
    with kafka.refuse_connections():
        kafka.reset()
        assert connect(kafka.port) == 0
    assert connect(kafka.port) == 0


def test_cluster_stops_while_it_refuses_connections() -> None:
    broker = Broker()
    with broker:
        refusing = broker.refuse_connections()
        refusing.__enter__()
    refusing.__exit__(None, None, None)
    assert not broker.is_running


def test_unknown_broker_raises_value_error(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="broker 9 does not exist"), kafka.refuse_connections(9):
        pass
