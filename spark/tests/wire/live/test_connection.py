import socket
from collections.abc import Iterator

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet_spark.live.client_properties import Settings
from kafkalet_spark.live.connection import Address, Connection
from kafkalet_spark.live.refusals import Unreachable

from .scripted import HANG_UP, SILENT, ScriptedBroker, fetched, versions_answer

SETTINGS = Settings.of({"request.timeout.ms": "10000"})
HASTY = Settings.of({"request.timeout.ms": "100"})
METADATA = MetadataRequest(topics=None)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


def connect(broker: ScriptedBroker, settings: Settings = SETTINGS) -> Connection:
    return Connection(Address("127.0.0.1", broker.port), settings)


def fetch(offset: int) -> FetchRequest:
    row = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1)
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchRequest.Topic(topic="t", partitions=[row])])


# Addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Address("localhost", 9092)),
        (" a.b:1 ", Address("a.b", 1)),
        ("[::1]:9092", Address("::1", 9092)),
    ],
)
def test_addresses_are_host_and_port(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text.strip()


@pytest.mark.parametrize("text", ["localhost", "localhost:", ":9092", "a:0", "a:65536", "a:x"])
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="bootstrap"):
        Address.parse(text)


# Versions


def test_newest_common_version_is_used(broker: ScriptedBroker) -> None:
    broker.versions = {Api.FETCH: (4, 12), Api.METADATA: (0, 99)}
    with connect(broker) as connection:
        assert connection.version(Api.FETCH, 4) == 12
        assert connection.version(Api.FETCH, 4, 7) == 7
        assert connection.version(Api.METADATA, 4) == 13


def test_missing_version_is_reported_with_broker(broker: ScriptedBroker) -> None:
    broker.versions = {Api.FETCH: (0, 3)}
    with connect(broker) as connection:
        with pytest.raises(
            KafkaError, match=rf"Fetch version 4 or later .* 127.0.0.1:{broker.port} .* 0 to 3"
        ) as fetch:
            connection.version(Api.FETCH, 4)
        with pytest.raises(KafkaError, match="does not support it"):
            connection.version(Api.METADATA, 4)
    assert fetch.value.code is Code.UNSUPPORTED_VERSION


def test_unsupported_api_versions_request_returns_versions(broker: ScriptedBroker) -> None:
    refusal = frame_of_version_0({Api.FETCH: (0, 11)}, Code.UNSUPPORTED_VERSION)
    broker.script(Api.API_VERSIONS, refusal)
    with connect(broker) as connection:
        assert connection.version(Api.FETCH, 4) == 11


def test_old_broker_gets_requests_in_version_0(broker: ScriptedBroker) -> None:
    broker.script(
        Api.API_VERSIONS, frame_of_version_0({}, Code.UNSUPPORTED_VERSION), versions_answer({Api.FETCH: (0, 7)})
    )
    with connect(broker) as connection:
        assert connection.version(Api.FETCH, 4) == 7


def frame_of_version_0(versions: dict[Api, tuple[int, int]], error_code: Code) -> bytes:
    body = (1).to_bytes(4, "big") + versions_answer(versions, error_code).encode(0)
    return len(body).to_bytes(4, "big") + body


def test_other_error_of_api_versions_is_raised(broker: ScriptedBroker) -> None:
    broker.script(Api.API_VERSIONS, versions_answer({}, Code.INVALID_REQUEST))
    with pytest.raises(KafkaError, match="INVALID_REQUEST"):
        connect(broker)


def test_broker_that_closes_the_first_connection_is_unreachable(broker: ScriptedBroker) -> None:
    broker.script(Api.API_VERSIONS, HANG_UP)
    with pytest.raises(Unreachable, match=f"lost the connection to broker 127.0.0.1:{broker.port}"):
        connect(broker)


# Requests and responses


def test_request_is_answered(broker: ScriptedBroker) -> None:
    with connect(broker) as connection:
        answer = connection.ask(METADATA, 9)
    assert isinstance(answer, MetadataResponse)
    assert answer.topics[0].name == "t"


def test_pipelined_requests_are_answered_in_order(broker: ScriptedBroker) -> None:
    broker.script(Api.FETCH, *[fetched(high_watermark=number) for number in range(100)])
    with connect(broker) as connection:
        connection.send_frame(b"".join(connection.encode(fetch(number), 12) for number in range(100)))
        answers = [connection.receive() for _ in range(100)]
    marks = [
        answer.responses[0].partitions[0].high_watermark for answer in answers if isinstance(answer, FetchResponse)
    ]
    assert marks == list(range(100))


@pytest.mark.parametrize("size", [0, 1, 65_400, 65_536, 65_600, 3_000_000])
def test_responses_of_any_size_are_received(broker: ScriptedBroker, size: int) -> None:
    records = bytes(range(256)) * (size // 256 + 1)
    broker.script(Api.FETCH, fetched(records[:size]), fetched(records[:size], high_watermark=7), fetched(b"end"))
    with connect(broker) as connection:
        for _ in range(3):
            connection.send(fetch(0), 12)
        rows = [connection.receive().responses[0].partitions[0] for _ in range(3)]  # type: ignore[attr-defined]
    assert [bytes(row.records) for row in rows] == [records[:size], records[:size], b"end"]
    assert rows[1].high_watermark == 7


def test_each_response_has_its_own_buffer(broker: ScriptedBroker) -> None:
    broker.script(Api.FETCH, fetched(b"a" * 100_000), fetched(b"b" * 100_000))
    with connect(broker) as connection:
        connection.send(fetch(0), 12)
        connection.send(fetch(0), 12)
        first, frame = connection.receive_with_frame()
        connection.receive()
    assert isinstance(first, FetchResponse)
    assert first.responses[0].partitions[0].records == b"a" * 100_000
    assert b"b" not in frame


def test_client_sends_its_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = Settings.of({"client.id": "me", "request.timeout.ms": "100"})
        with pytest.raises(Unreachable):
            Connection(Address(*listener.getsockname()), settings)
        with listener.accept()[0] as accepted:
            assert b"\0\2me\0" in accepted.recv(1000)


# Errors


def test_closed_port_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match=f"cannot connect to broker 127.0.0.1:{port}"):
        Connection(Address("127.0.0.1", port), SETTINGS)


def test_silent_broker_is_unreachable_after_the_timeout(broker: ScriptedBroker) -> None:
    broker.script(Api.METADATA, SILENT)
    with connect(broker, HASTY) as connection:
        with pytest.raises(Unreachable, match=f"no response from broker 127.0.0.1:{broker.port} in 100 ms"):
            connection.ask(METADATA, 9)
        assert not connection.is_open


def test_connection_closed_within_a_response_is_lost(broker: ScriptedBroker) -> None:
    broker.script(Api.METADATA, b"\0\0\1\0half", HANG_UP)
    with connect(broker) as connection:
        connection.send(METADATA, 9)
        connection.send(METADATA, 9)
        with pytest.raises(Unreachable, match="lost the connection"):
            connection.receive()
        assert not connection.is_open


def test_failed_connection_stays_closed(broker: ScriptedBroker) -> None:
    broker.script(Api.METADATA, HANG_UP)
    with connect(broker) as connection:
        for _ in range(2):
            with pytest.raises(Unreachable):
                connection.ask(METADATA, 9)


def test_wrong_correlation_id_closes_the_connection(broker: ScriptedBroker) -> None:
    broker.script(Api.LIST_OFFSETS, b"\0\0\0\x08\0\0\0\x63\0\0\0\0")
    request = ListOffsetsRequest(replica_id=-1, topics=[])
    with connect(broker) as connection:
        with pytest.raises(DecodeError, match="the response has the correlation id 99, expected is 2"):
            connection.ask(request, 1)
        assert not connection.is_open


def test_malformed_response_closes_the_connection(broker: ScriptedBroker) -> None:
    broker.script(Api.LIST_OFFSETS, b"\0\0\0\x06\0\0\0\2\0\0")
    with connect(broker) as connection:
        with pytest.raises(DecodeError, match=f"127.0.0.1:{broker.port}: ListOffsetsResponse"):
            connection.ask(ListOffsetsRequest(replica_id=-1, topics=[]), 1)
        assert not connection.is_open
    assert ListOffsetsResponse.API is Api.LIST_OFFSETS


@pytest.mark.parametrize("size", [0, 3, 0xFFFFFFFF])
def test_invalid_frame_size_closes_the_connection(broker: ScriptedBroker, size: int) -> None:
    broker.script(Api.METADATA, size.to_bytes(4, "big"))
    with connect(broker) as connection:
        with pytest.raises(DecodeError, match=f"invalid frame size {size}"):
            connection.ask(METADATA, 9)
        assert not connection.is_open
