"""Tests of the journal with connections, which record each turn as a whole."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

import kafkalet
from kafkalet.broker.network.exchange import Exchange
from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.schema import Request

VERSIONS = {Api.LIST_OFFSETS: 7, Api.PRODUCE: 9, Api.FETCH: 11}


@pytest.fixture
def kafka() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=["t"]) as broker:
        yield broker


def frame(request: Request, number: int, client_id: str | None = "me") -> bytes:
    return b"".join(request_frame(request, VERSIONS[request.API], number, client_id))  # type: ignore[arg-type]


def list_offsets() -> ListOffsetsRequest:
    partition = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name="t", partitions=[partition])])


def produce(acks: int = 1, size: int = 10) -> ProduceRequest:
    batch = build_batch(numbered([(1000, None, b"x" * size, ())]))
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    topic = ProduceRequest.Topic(name="t", partition_data=[partition])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


def fetch(offset: int = 0, wait_ms: int = 0) -> FetchRequest:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchRequest.Topic(topic="t", partitions=[partition])
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[topic])


def connect(kafka: kafkalet.Broker) -> closing[socket.socket]:
    host, _, port = kafka.bootstrap_servers.rpartition(":")
    return closing(socket.create_connection((host, int(port)), timeout=10))


def receive(sock: socket.socket, responses: int) -> None:
    with sock.makefile("rb") as file:
        for _ in range(responses):
            file.read(int.from_bytes(file.read(4), "big"))


def exchanges(kafka: kafkalet.Broker) -> list[Exchange]:
    journal = kafka._server.journal
    assert journal is not None
    return kafka._server.call(journal.exchanges)


def numbers(kafka: kafkalet.Broker) -> list[tuple[str, int, bool]]:
    return [(each.api, each.correlation_id, each.response() is not None) for each in exchanges(kafka)]


def test_pipelined_requests_are_recorded_with_their_responses(kafka: kafkalet.Broker) -> None:
    with connect(kafka) as sock:
        sock.sendall(frame(list_offsets(), 1) + frame(produce(), 2) + frame(list_offsets(), 3))
        receive(sock, 3)
        assert numbers(kafka) == [("ListOffsets", 1, True), ("Produce", 2, True), ("ListOffsets", 3, True)]


def test_request_without_response_does_not_take_the_next_one(kafka: kafkalet.Broker) -> None:
    with connect(kafka) as sock:
        sock.sendall(frame(list_offsets(), 1) + frame(produce(acks=0), 2) + frame(list_offsets(), 3))
        receive(sock, 2)
        assert numbers(kafka) == [("ListOffsets", 1, True), ("Produce", 2, False), ("ListOffsets", 3, True)]


def test_pipelined_requests_with_different_client_ids_are_counted_for_each(kafka: kafkalet.Broker) -> None:
    names = ["a-long-client-id", "b", None, "b"]
    with connect(kafka) as sock:
        sock.sendall(b"".join(frame(list_offsets(), number, name) for number, name in enumerate(names)))
        receive(sock, 4)
        assert [each.client_id for each in exchanges(kafka)] == [name or "" for name in names]
        found = [kafka.requests.count(client_id=name) for name in ("a-long-client-id", "b", "")]
        assert found == [1, 2, 1]


def test_refused_request_follows_those_served_before_it(kafka: kafkalet.Broker) -> None:
    refused = bytearray(frame(list_offsets(), 2))
    refused[6:8] = (99).to_bytes(2, "big")
    with connect(kafka) as sock:
        sock.sendall(frame(list_offsets(), 1) + refused)
        receive(sock, 1)
        assert sock.recv(1) == b""
        assert [(each.correlation_id, each.closed is not None) for each in exchanges(kafka)] == [(1, False), (2, True)]


def test_waiting_request_at_the_end_of_a_turn_is_recorded_once(kafka: kafkalet.Broker) -> None:
    with connect(kafka) as sock, connect(kafka) as other:
        sock.sendall(frame(list_offsets(), 1) + frame(fetch(wait_ms=60_000), 2))
        receive(sock, 1)
        assert [(each.correlation_id, each.is_waiting) for each in exchanges(kafka)] == [(1, False), (2, True)]
        other.sendall(frame(produce(), 3))
        receive(sock, 1)
        [done] = [each for each in exchanges(kafka) if each.correlation_id == 2]
        assert (done.has_waited, done.errors()) == (True, [])


@pytest.mark.parametrize("size", [10, 20_000, 200_000])
def test_records_of_any_size_are_recorded_with_their_sizes(kafka: kafkalet.Broker, size: int) -> None:
    with connect(kafka) as sock:
        sock.sendall(frame(produce(size=size), 1))
        receive(sock, 1)
        sock.sendall(frame(fetch(), 2) + frame(list_offsets(), 3))
        receive(sock, 2)
        sent, fetched, _ = list(kafka.requests)
        assert sent.request is not None
        assert fetched.response is not None
        in_request = sent.request["topic_data"][0]["partition_data"][0]["records"]
        in_response = fetched.response["responses"][0]["partitions"][0]["records"]
        assert in_request["size_bytes"] == in_response["size_bytes"] > size


def test_journal_that_is_attached_later_records_existing_connections(kafka: kafkalet.Broker) -> None:
    router = kafka._server.brokers[1].router
    journal = router.hooks.journal
    kafka._server.call(lambda: setattr(router.hooks, "journal", None))
    with connect(kafka) as sock:
        sock.sendall(frame(list_offsets(), 1))
        receive(sock, 1)
        kafka._server.call(lambda: setattr(router.hooks, "journal", journal))
        sock.sendall(frame(list_offsets(), 2))
        receive(sock, 1)
        assert numbers(kafka) == [("ListOffsets", 2, True)]


def test_many_pipelined_requests_stay_within_the_limits(kafka: kafkalet.Broker) -> None:
    journal = kafka._server.journal
    assert journal is not None
    with connect(kafka) as sock:
        for _ in range(150):
            sock.sendall(frame(list_offsets(), 1) * 100)
            receive(sock, 100)
        assert kafka.requests.count("ListOffsets") == 15_000
        assert journal.most_requests * 0.75 < len(kafka.requests) <= journal.most_requests
