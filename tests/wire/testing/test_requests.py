"""Tests of `cluster.requests` with real clients."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer  # type: ignore[import-untyped]

import kafkalet.aio
from kafkalet import Broker
from kafkalet.broker.network.journal import Journal
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.schema import Request
from tests.wire.brokers import Closed


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Raw:
    """A client that sends single requests."""

    def __init__(self, kafka: Broker, client_id: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", kafka.port), timeout=10)
        self.client_id = client_id

    def ask(self, api: Api, version: int, message: Request | None = None) -> None:
        """Send a request, and receive any response."""
        name = self.client_id.encode()
        head = b"".join((int(api).to_bytes(2, "big"), version.to_bytes(2, "big"), bytes(4)))
        tags = b"\0" if version in api.flexible else b""
        body = b"" if message is None else message.encode(version)
        frame = head + len(name).to_bytes(2, "big") + name + tags + body
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)
        if not self.socket.recv(1 << 16):
            raise Closed


_OPEN: list[socket.socket] = []


@pytest.fixture(autouse=True)
def closed_sockets() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def connected(kafka: Broker, client_id: str = "raw") -> Raw:
    client = Raw(kafka, client_id)
    _OPEN.append(client.socket)
    return client


METADATA = MetadataRequest(topics=[])
LIST_OFFSETS = ListOffsetsRequest(replica_id=-1, topics=[])


# Clients


def test_kafka_python_sends_few_metadata_requests_and_no_failed_produce(kafka: Broker) -> None:
    client = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="app")
    for number in range(5):
        client.send("orders", b"%d" % number).get(10)
    client.close()
    assert kafka.requests.count("Metadata") < 5
    assert kafka.requests.count("Produce", client_id="app", errors=False) == 5
    kafka.assert_no_unsupported()


def test_confluent_kafka_sends_few_metadata_requests(kafka: Broker) -> None:
    client = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "app", "linger.ms": 0})
    client.produce("orders", b"one")
    client.flush(10)
    [request] = kafka.requests.filter("Produce", topic="orders")
    assert (request.client_id, request.error, request.broker) == ("app", None, 1)
    assert request.response is not None
    assert request.response["responses"][0]["partition_responses"][0]["base_offset"] == 0
    kafka.assert_no_unsupported()


def test_aiokafka_sends_few_metadata_requests(kafka: Broker) -> None:
    async def run() -> None:
        client = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="app")
        await client.start()
        await client.send_and_wait("orders", b"one")
        await client.stop()

    asyncio.run(run())
    assert kafka.requests.count("Produce", topic="orders") == 1
    assert kafka.requests.last(client_id="app").api == "Produce"
    kafka.assert_no_unsupported()


def test_requests_of_a_group_are_selected(kafka: Broker) -> None:
    kafka.topic("orders").send("one")
    client = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"})
    client.subscribe(["orders"])
    assert client.poll(10) is not None
    client.close()
    [leave] = kafka.requests.filter("LeaveGroup")
    assert leave.request is not None
    assert leave.request["group_id"] == "g"
    assert kafka.requests.count("JoinGroup", errors="MEMBER_ID_REQUIRED") == 1


# Attributes


def test_request_has_api_client_and_connection(kafka: Broker) -> None:
    before = datetime.now().astimezone()
    wire = connected(kafka, "me")
    topics = [MetadataRequest.Topic(name="missing")]
    wire.ask(Api.METADATA, 9, MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    [request] = kafka.requests
    assert (request.api, request.version, request.client_id, request.broker) == ("Metadata", 9, "me", 1)
    assert request.peer == wire.socket.getsockname()
    assert request.error == "UNKNOWN_TOPIC_OR_PARTITION"
    assert before - timedelta(seconds=1) <= request.time <= datetime.now().astimezone()
    assert request.duration_ms > 0
    assert request.topics == {"missing"}
    assert request.text.startswith("client=me Metadata v9 missing -> ")
    assert repr(request) == f"<{request.text}>"


def test_long_poll_is_waiting(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 60_000})
    consumer.subscribe(["t"])
    stopped = threading.Event()

    def poll() -> None:
        while not stopped.is_set():
            consumer.poll(0.05)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        [request, *_] = kafka.requests.wait_for("Fetch", where=lambda request: request.is_waiting)
        assert request.response is None
        assert "-> waiting for" in request.text
    finally:
        stopped.set()
        thread.join()
        consumer.close()


# Selecting and counting


def test_filters_can_be_chained(kafka: Broker) -> None:
    for name in ("one", "two"):
        wire = connected(kafka, name)
        wire.ask(Api.METADATA, 9, METADATA)
        wire.ask(Api.LIST_OFFSETS, 7, LIST_OFFSETS)
    of_one = kafka.requests.filter(client_id="one")
    assert [request.api for request in of_one] == ["Metadata", "ListOffsets"]
    assert [request.client_id for request in of_one.filter("Metadata", "Fetch")] == ["one"]
    assert of_one.filter("Metadata").filter("ListOffsets").count() == 0
    assert [request.client_id for request in kafka.requests.last(2)] == ["two", "two"]
    assert len(kafka.requests) == 4


def test_between_selects_requests_after_a_mark(kafka: Broker) -> None:
    wire = connected(kafka)
    marks = []
    for _ in range(3):
        marks.append(kafka.requests.mark())
        wire.ask(Api.METADATA, 9, METADATA)
    assert kafka.requests.between(marks[1]).count("Metadata") == 2
    assert kafka.requests.between(marks[1], marks[2]).count("Metadata") == 1
    assert kafka.requests.between(marks[0]).between(marks[1], marks[2]).count() == 1


def test_between_selects_requests_by_time(kafka: Broker) -> None:
    connected(kafka).ask(Api.METADATA, 9, METADATA)
    now = datetime.now().astimezone()
    second = timedelta(seconds=1)
    assert kafka.requests.between(now - 60 * second, now + second).count() == 1
    assert kafka.requests.between(now + second).count() == 0
    assert kafka.requests.between(int(now.timestamp() * 1000) - 60_000).count() == 1


def test_clear_forgets_earlier_requests(kafka: Broker) -> None:
    wire = connected(kafka)
    wire.ask(Api.METADATA, 9, METADATA)
    kafka.requests.clear()
    wire.ask(Api.LIST_OFFSETS, 7, LIST_OFFSETS)
    assert [request.api for request in kafka.requests] == ["ListOffsets"]
    assert kafka.requests.count() == 1


def test_count_is_correct_after_requests_were_dropped() -> None:
    broker = Broker()
    broker._server.journal = Journal(most_requests=20)
    with broker:
        wire = connected(broker)
        mark = broker.requests.mark()
        for _ in range(50):
            wire.ask(Api.METADATA, 9, METADATA)
        assert broker.requests.count("Metadata") == broker.requests.count("Metadata", client_id="raw") == 50
        assert len(broker.requests) <= 20
        for counted in (lambda: broker.requests.count(topic="t"), broker.requests.between(mark).count):
            with pytest.raises(LookupError, match=r"the number of .* is unknown.*call clear\(\)"):
                counted()
        assert broker.requests.between(broker.requests.mark()).count() == 0


def test_last_without_requests_raises_lookup_error(kafka: Broker) -> None:
    with pytest.raises(LookupError, match="no requests client_id='x' in the journal"):
        kafka.requests.last(client_id="x")
    assert kafka.requests.last(3) == []


def test_unknown_names_suggest_similar_ones(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="no API is named 'fetch'; did you mean Fetch"):
        kafka.requests.count("fetch")
    with pytest.raises(ValueError, match=r"no error is named 'NOT_LEADER'; did you mean .*NOT_LEADER_OR_FOLLOWER"):
        kafka.requests.filter(errors="NOT_LEADER")
    with pytest.raises(TypeError, match="start must be a mark, a datetime or milliseconds since 1970"):
        kafka.requests.between("yesterday")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"end .* is before start"):
        kafka.requests.between(2, 1)
    with pytest.raises(ValueError, match="n is 0; it must be at least 1"):
        kafka.requests.last(0)


def test_requests_of_a_stopped_broker_raise_runtime_error(kafka: Broker) -> None:
    broker = Broker()
    with broker:
        connected(broker).ask(Api.METADATA, 9, METADATA)
    with pytest.raises(RuntimeError, match="not running"):
        broker.requests.count()


# Unsupported


def test_unsupported_requests_are_listed() -> None:
    with Broker(version="3.9") as kafka:
        with pytest.raises(Closed):
            connected(kafka, "other").ask(Api.UNREGISTER_CONTROLLER, 0)
        with pytest.raises(AssertionError) as failure:
            kafka.assert_no_unsupported()
    assert "client 'other': UnregisterController v0, 1 time; it does not serve this API" in str(failure.value)


def test_version_out_of_range_is_listed() -> None:
    with Broker(version="3.9") as kafka:
        for _ in range(2):
            with pytest.raises(Closed):
                connected(kafka, "new").ask(Api.METADATA, 13)
        with pytest.raises(AssertionError) as failure:
            kafka.assert_no_unsupported()
        assert str(failure.value).splitlines() == [
            "clients sent 2 requests that the broker (Kafka 3.9) does not serve:",
            "  client 'new': Metadata v13, 2 times; it serves versions 0 to 12",
        ]
        kafka.requests.clear()
        kafka.assert_no_unsupported()


def test_api_versions_in_any_version_is_supported() -> None:
    with Broker(version="2.8") as kafka:
        client = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
        client.topics()
        client.close()
        kafka.assert_no_unsupported()


# Waiting


def test_wait_for_returns_when_the_request_arrives(kafka: Broker) -> None:
    wire = connected(kafka)
    timer = threading.Timer(0.05, lambda: wire.ask(Api.METADATA, 9, METADATA))
    timer.start()
    [request] = kafka.requests.wait_for("Metadata")
    timer.join()
    assert request.api == "Metadata"


def test_wait_for_checks_where(kafka: Broker) -> None:
    wire = connected(kafka)
    for version in (8, 9):
        wire.ask(Api.METADATA, version, METADATA)
    [request] = kafka.requests.wait_for("Metadata", where=lambda request: request.version == 9)
    assert request.version == 9


def test_wait_that_times_out_shows_the_last_requests(kafka: Broker) -> None:
    connected(kafka).ask(Api.METADATA, 9, METADATA)
    with pytest.raises(AssertionError) as failure:
        kafka.requests.wait_for("Fetch", n=2, client_id="app", timeout=0.01)
    first, second, third, *_ = str(failure.value).splitlines()
    assert first == "requests: waited 0.01 s for 2 Fetch client_id='app': 0 arrived"
    assert second == "The last requests:"
    assert third.startswith("  client=raw Metadata v9 -> ")


def test_wait_leaves_no_listener(kafka: Broker) -> None:
    with pytest.raises(AssertionError):
        kafka.requests.wait_for("Fetch", timeout=0)
    assert kafka._server.journal is not None
    assert kafka._server.journal._listeners == ()


def test_asynchronous_kit_has_the_requests() -> None:
    async def run() -> None:
        async with kafkalet.aio.Broker() as kafka:
            client = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="app")
            await client.start()
            [first, *_] = await kafka.requests.wait_for("Metadata", client_id="app")
            await client.stop()
            assert first.client_id == "app"
            assert await kafka.requests.filter("Metadata").count() == len(kafka.requests.filter("Metadata"))
            await kafka.assert_no_unsupported()

    asyncio.run(run())
