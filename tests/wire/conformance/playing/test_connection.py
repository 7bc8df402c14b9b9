"""A connection to a broker that may send anything."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from kafkalet_conformance.playing.connection import Closed, Connection, Garbage, NoAnswer, OutOfTime


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    """A connection, and the broker's end of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = Connection(*listener.getsockname())
        broker, _ = listener.accept()
        with broker:
            yield connection, broker
        connection.close()


API_VERSIONS_0 = struct.pack(">hihhh", 0, 1, 18, 0, 4)


def test_responses_are_found_by_their_correlation_id(ends: tuple[Connection, socket.socket]) -> None:
    connection, broker = ends
    first, second = connection.send("ApiVersions", 0, {}), connection.send("ApiVersions", 0, {})
    for number in (second, first):
        broker.sendall(struct.pack(">ii", 4 + len(API_VERSIONS_0), number) + API_VERSIONS_0)
    assert connection.receive(first)["error_code"] == 0
    assert connection.last_answer == struct.pack(">i", first) + API_VERSIONS_0
    assert connection.receive(second)["api_keys"] == [{"api_key": 18, "min_version": 0, "max_version": 4}]


def test_response_that_was_put_back_is_received_again(ends: tuple[Connection, socket.socket]) -> None:
    connection, broker = ends
    sent = connection.send("ApiVersions", 0, {})
    broker.sendall(struct.pack(">ii", 4 + len(API_VERSIONS_0), sent) + API_VERSIONS_0)
    assert connection.has_answer(sent, 5)
    assert connection.receive(sent)["error_code"] == 0


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (struct.pack(">i", -5), "a response has the size -5, allowed are 0 to 104857600"),
        (struct.pack(">i", 0x7FFFFFFF), "a response has the size 2147483647, allowed are 0 to 104857600"),
        (struct.pack(">ih", 2, 1), "a response of 2 bytes has no correlation id"),
        (struct.pack(">ii", 4, 99), "the response has the correlation id 99, expected is 1"),
        (struct.pack(">iih", 6, 1, 0), "ApiVersions v0 cannot be decoded: DecodeError: "),
        (struct.pack(">iihi", 10, 1, 0, 0x7FFFFFFF), "ApiVersions v0 cannot be decoded: DecodeError: "),
    ],
)
def test_bytes_that_are_not_a_response_are_garbage(
    ends: tuple[Connection, socket.socket], sent: bytes, reason: str
) -> None:
    connection, broker = ends
    number = connection.send("ApiVersions", 0, {})
    broker.sendall(sent)
    with pytest.raises(Garbage) as caught:
        connection.receive(number, 5)
    assert caught.value.reason.startswith(reason)


def test_broker_that_closes_is_reported(ends: tuple[Connection, socket.socket]) -> None:
    connection, broker = ends
    number = connection.send("ApiVersions", 0, {})
    broker.close()
    with pytest.raises(Closed):
        connection.receive(number, 5)


def test_incomplete_response_is_reported_as_no_response(ends: tuple[Connection, socket.socket]) -> None:
    connection, broker = ends
    number = connection.send("ApiVersions", 0, {})
    broker.sendall(b"\0\0\0\x20\0")
    with pytest.raises(NoAnswer):
        connection.receive(number, 0.05)


def test_nothing_is_received_after_the_deadline(ends: tuple[Connection, socket.socket]) -> None:
    connection, _ = ends
    number = connection.send("ApiVersions", 0, {})
    connection.deadline = time.monotonic() + 0.05
    with pytest.raises(OutOfTime):
        connection.receive(number)
    with pytest.raises(OutOfTime):
        connection.send("ApiVersions", 0, {})
