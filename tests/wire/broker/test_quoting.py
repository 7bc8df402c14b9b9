"""No request puts control characters or endless lines into the log."""

import logging
import socket
from contextlib import closing

import pytest

import kafkalet
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.produce import ProduceRequest
from tests.unit.broker.network import refused_requests

HOSTILE = "a\n2026-01-01 ERROR forged \x1b[31mred\r\x85\u2028"
NAMES = (HOSTILE, "b\t" * 15_000, "c")
LONGEST_LINE = 4000
TIMEOUT_S = 60.0


def send(bootstrap_servers: str, frame: bytes) -> None:
    """Send a request, and wait until the broker has closed the connection."""
    host, port = bootstrap_servers.split(":")
    with closing(socket.create_connection((host, int(port)), TIMEOUT_S)) as client:
        client.sendall(frame)
        client.shutdown(socket.SHUT_WR)
        try:
            while client.recv(1 << 20):
                pass
        except ConnectionResetError:
            pass


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_names_of_clients_are_escaped_and_truncated_in_the_log(
    level: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_requests, "NAMES", NAMES)
    monkeypatch.setattr(refused_requests, "REQUESTS_PER_VERSION", 1)
    partition = ProduceRequest.Topic.Partition(index=0, records=b"")
    topics = [ProduceRequest.Topic(name=name, partition_data=[partition]) for name in NAMES]
    unanswered = ProduceRequest(transactional_id=HOSTILE, acks=0, timeout_ms=1, topic_data=topics)
    with caplog.at_level(level, "kafkalet"), kafkalet.Broker() as broker:
        for request, version in [*refused_requests.requests("4.4"), (unanswered, 3)]:
            frame = b"".join(map(bytes, request_frame(request, version, 7, HOSTILE)))
            send(broker.bootstrap_servers, frame)
        messages = [record.getMessage() for record in caplog.records]
    assert any("ERROR forged" in message for message in messages)
    assert [message[:300] for message in messages if not message.isprintable()] == []
    assert [message[:300] for message in messages if len(message) > LONGEST_LINE] == []
