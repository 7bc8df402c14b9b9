"""Tests of faults with real clients."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from confluent_kafka import Consumer, KafkaError, Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]

from kafkalet import Broker
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.testing.faults import Fault
from kafkalet_conformance.playing.connection import Closed, Connection, Garbage

TIMEOUT_S = 60


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(topics=["t"]) as broker:
        yield broker


def publish(kafka: Broker, value: bytes = b"x", /, **config: Any) -> list[Any]:
    """Produce a record with librdkafka, and return its errors."""
    failures: list[Any] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "retry.backoff.ms": 10, **config})
    producer.produce("t", value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0
    return failures


def values(kafka: Broker) -> list[bytes | None]:
    return [record.value for record in kafka.topic("t").records()]


# Errors


def test_confluent_producer_retries_a_leader_change(kafka: Broker) -> None:
    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):
        assert publish(kafka) == []
    assert values(kafka) == [b"x"]


def test_kafka_python_producer_retries_a_leader_change(kafka: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=10)
    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", topic="t", partition=0, times=2):
        producer.send("t", b"x").get(TIMEOUT_S)
    producer.close()
    assert values(kafka) == [b"x"]


def test_aiokafka_producer_retries_a_leader_change(kafka: Broker) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=10)
        await producer.start()
        try:
            await producer.send_and_wait("t", b"x")
        finally:
            await producer.stop()

    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):
        asyncio.run(run())
    assert values(kafka) == [b"x"]


def test_consumer_survives_an_error_of_its_fetch_session(kafka: Broker) -> None:
    kafka.topic("t").send("x")
    consumer = KafkaConsumer("t", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    with kafka.fault("Fetch", error="NOT_LEADER_OR_FOLLOWER", topic="t", times=2):
        assert next(consumer).value == b"x"
    consumer.close()


def test_error_that_is_not_retriable_reaches_the_application(kafka: Broker) -> None:
    with kafka.fault("Produce", error="TOPIC_AUTHORIZATION_FAILED"):
        [failure] = publish(kafka)
    assert failure.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


# Lost responses


def test_idempotent_producer_makes_no_duplicate_after_a_lost_response(kafka: Broker) -> None:
    with kafka.fault("Produce", drop_response=True, times=1):
        config = {"enable.idempotence": True, "request.timeout.ms": 500, "socket.timeout.ms": 1000}
        assert publish(kafka, **config) == []
    assert values(kafka) == [b"x"]


def test_plain_producer_makes_a_duplicate_after_a_lost_response(kafka: Broker) -> None:
    """This shows that a request whose response is dropped is handled."""
    with kafka.fault("Produce", drop_response=True, times=1):
        assert publish(kafka, **{"request.timeout.ms": 500, "socket.timeout.ms": 1000}) == []
    assert values(kafka) == [b"x", b"x"]


def test_idempotent_producer_makes_no_duplicate_after_a_disconnect(kafka: Broker) -> None:
    with kafka.fault("Produce", disconnect="after", times=1):
        assert publish(kafka, **{"enable.idempotence": True}) == []
    assert values(kafka) == [b"x"]


def consume_once(kafka: Broker, fault: Fault | None = None) -> bytes | None:
    """Return the value of a record after committing its offset, which may fail."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.auto.commit": False, "session.timeout.ms": 500})
    consumer.subscribe(["t"])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    consumer.commit(message=message)
    if fault is not None:
        fault.wait_until_fired()
    consumer.close()
    return message.value()


def test_record_is_delivered_again_after_a_lost_commit() -> None:
    with Broker(topics=["t"], config={"group.min.session.timeout.ms": 100}) as kafka:
        kafka.topic("t").send("x")
        with kafka.fault("OffsetCommit", disconnect="before") as fault:
            seen = [consume_once(kafka, fault)]
        seen.append(consume_once(kafka))
    assert seen == [b"x", b"x"]


# Requests that wait


def test_delayed_fetch_times_out(kafka: Broker) -> None:
    kafka.topic("t").send("x")
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, client_id="app", auto_offset_reset="earliest")
    consumer.assign([TopicPartition("t", 0)])
    with kafka.fault("Fetch", delay=30, client_id="app"):
        assert consumer.poll(timeout_ms=300) == {}
    consumer.close()


def test_hanging_request_is_handled_after_its_client_has_disconnected(kafka: Broker, connection: Connection) -> None:
    """A request that Kafka has received is handled even if its client has gone."""
    with kafka.fault("CreateTopics", hang=True) as fault:
        topic = {"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        connection.send("CreateTopics", 4, {"topics": [topic], "timeout_ms": 1000, "validate_only": False})
        fault.wait_until_fired()
        connection.close()
        assert "new" not in kafka._server.metadata.topics
        fault.release()
        kafka.topic("t").send("x")  # runs in the event loop after the released request
        assert "new" in kafka._server.metadata.topics


def test_barrier_releases_the_requests_of_two_clients_together(kafka: Broker) -> None:
    with kafka.fault("Produce", barrier=2) as fault:
        threads = [threading.Thread(target=publish, args=(kafka, value)) for value in (b"a", b"b")]
        threads[0].start()
        fault.wait_until_fired(1)
        assert values(kafka) == []
        threads[1].start()
        for thread in threads:
            thread.join(TIMEOUT_S)
    assert values(kafka) == [b"a", b"b"]


# Marks


@pytest.mark.parametrize(
    "effect",
    [
        {"error": "NOT_LEADER_OR_FOLLOWER", "times": 1},
        {"delay": 0.01, "times": 1},
        {"drop_response": True, "times": 1},
        {"disconnect": "before", "times": 1},
        {"disconnect": "after", "times": 1},
        {"corrupt": True, "times": 1},
        {"truncate": 5, "times": 1},
        {"throttle": 0.01, "times": 1},
        {"bandwidth": 5000, "times": 1},
        {"respond": lambda request, response: None, "times": 1},
    ],
    ids=lambda effect: str(next(iter(effect))),
)
def test_only_requests_on_which_a_fault_has_fired_have_its_number(kafka: Broker, effect: dict[str, Any]) -> None:
    kafka.fault("Fetch", delay=1, strict=False)
    with kafka.fault("Produce", **effect) as fault:
        publish(kafka, **{"request.timeout.ms": 500, "socket.timeout.ms": 500})
    publish(kafka)
    assert fault.number == 2
    every = list(kafka.requests)
    assert [request.api for request in every if request.fault] == ["Produce"]
    [marked] = [request for request in every if " (fault 2)" in request.text]
    assert (marked.api, marked.fault) == ("Produce", 2)


def test_later_request_with_the_same_correlation_id_is_not_marked(kafka: Broker) -> None:
    frame = b"".join(request_frame(MetadataRequest(topics=[]), 1, 7, "app"))
    with socket.create_connection(("127.0.0.1", kafka.port), TIMEOUT_S) as client, client.makefile("rb") as received:

        def ask() -> None:
            client.sendall(frame)
            received.read(int.from_bytes(received.read(4), "big"))

        with kafka.fault("Metadata", throttle=0.001):
            ask()
        ask()
    assert [request.fault for request in kafka.requests.filter("Metadata")] == [1, None]


def test_request_that_a_fault_holds_is_marked_while_it_waits(kafka: Broker, connection: Connection) -> None:
    with kafka.fault("Metadata", hang=True) as fault:
        held = connection.send("Metadata", 12, {"topics": []})
        fault.wait_until_fired()
        request = kafka.requests.last()
        assert (request.is_waiting, request.fault) == (True, 1)
        assert request.text.endswith(" ms (fault 1)")
    connection.receive(held, TIMEOUT_S)
    assert kafka.requests.last().fault == 1


def test_fetch_without_records_to_corrupt_is_not_marked(kafka: Broker, connection: Connection) -> None:
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    fields = {"max_wait_ms": 0, "min_bytes": 1, "topics": [{"topic": "t", "partitions": [asked]}]}
    with kafka.fault("Fetch", corrupt=True, times=1):
        connection.ask("Fetch", 12, fields)
        kafka.topic("t").send("x")
        with pytest.raises(Garbage):
            connection.ask("Fetch", 12, fields)
    assert [request.fault for request in kafka.requests.filter("Fetch")] == [None, 1]


# Responses with other bytes


@pytest.fixture
def connection(kafka: Broker) -> Iterator[Connection]:
    connection = Connection("127.0.0.1", kafka.port)
    yield connection
    connection.close()


def test_consumer_notices_corrupted_records(kafka: Broker) -> None:
    kafka.topic("t").send("x")
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "check.crcs": True})
    consumer.subscribe(["t"])
    with kafka.fault("Fetch", corrupt=True, times=1):
        message = consumer.poll(TIMEOUT_S)
    consumer.close()
    error = None if message is None else message.error()
    assert error is not None
    assert error.code() == KafkaError._BAD_MSG


def test_truncated_response_ends_the_connection(kafka: Broker, connection: Connection) -> None:
    with kafka.fault("Metadata", truncate=10), pytest.raises(Closed):
        connection.receive(connection.send("Metadata", 12, {"topics": []}), TIMEOUT_S)


def test_slow_response_is_complete_and_blocks_the_next_request(kafka: Broker, connection: Connection) -> None:
    with kafka.fault("Metadata", bandwidth=2000, times=1):
        first = connection.send("Metadata", 12, {"topics": []})
        second = connection.send("Metadata", 12, {"topics": []})
        assert connection.receive(first, TIMEOUT_S) == connection.receive(second, TIMEOUT_S)


def test_rest_of_a_slow_response_is_sent_when_the_fault_ends(kafka: Broker, connection: Connection) -> None:
    with kafka.fault("Metadata", bandwidth=1) as fault:
        slow = connection.send("Metadata", 12, {"topics": []})
        fault.wait_until_fired()
        with pytest.raises(AssertionError, match="the response to Metadata v12 is not received"):
            kafka.settle(timeout=0)
    assert connection.receive(slow, TIMEOUT_S)["brokers"]
    kafka.settle()


def test_no_response_overtakes_a_dropped_one(kafka: Broker, connection: Connection) -> None:
    """Correlation ids would not match. The Java client fails with an exception then."""
    topic = {"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    with kafka.fault("Metadata", drop_response=True, nth=2):
        first = connection.send("Metadata", 12, {"topics": []})
        connection.send("Metadata", 12, {"topics": []})
        later = connection.send("CreateTopics", 4, {"topics": [topic], "timeout_ms": 1000, "validate_only": False})
        assert connection.receive(first, TIMEOUT_S)["brokers"]
        kafka.requests.wait_for("CreateTopics")
        assert not connection.has_answer(later, 0.1)
    assert kafka.topic("new").exists
    other = Connection("127.0.0.1", kafka.port)
    assert other.ask("Metadata", 12, {"topics": []})["brokers"]
    other.close()


def test_idempotent_producer_with_many_batches_survives_a_lost_response(kafka: Broker) -> None:
    """If later batches were acknowledged first, the broker would no longer remember the batch that is sent again."""
    config = {"enable.idempotence": True, "request.timeout.ms": 1000, "socket.timeout.ms": 1000, "linger.ms": 0}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "batch.num.messages": 1, **config})
    with kafka.fault("Produce", drop_response=True, nth=3):
        for number in range(100):
            producer.produce("t", b"%d" % number)
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0
    assert values(kafka) == [b"%d" % number for number in range(100)]
