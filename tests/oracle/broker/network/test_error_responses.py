"""Kafka's responses to requests between SaslHandshake and SaslAuthenticate are the recorded ones.

python -m tests.oracle.broker.network.test_error_responses      record them
"""

import json
import socket
from contextlib import closing

import pytest

from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.oracle.apache_kafka import ApacheKafka, missing
from tests.unit.broker.network.refused_requests import FILE, RELEASES, frame_of, key_of, refused, requests

pytestmark = pytest.mark.oracle

HANDSHAKE = b"".join(request_frame(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1))
AT_ONCE = {"connection.failed.authentication.delay.ms": "0"}
TIMEOUT_S = 10.0


def answers(release: str) -> dict[str, bytes | None]:
    """Return Kafka's response to each request, or None if it closes the connection."""
    with ApacheKafka(release, acl=True, config=AT_ONCE) as kafka:
        host, port = kafka.bootstrap_servers.split(":")
        return {key_of(request, v): answer(host, int(port), frame_of(request, v)) for request, v in requests(release)}


def answer(host: str, port: int, frame: bytes) -> bytes | None:
    with closing(socket.create_connection((host, port), TIMEOUT_S)) as client, client.makefile("rb") as received:
        client.sendall(HANDSHAKE)
        received.read(int.from_bytes(received.read(4), "big"))
        client.sendall(frame)
        try:
            size = received.read(4)
            return received.read(int.from_bytes(size, "big")) if size else None
        except ConnectionResetError:
            return None


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_returns_the_recorded_responses(release: str) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    recorded = {key_of(each.request, each.version): each.answer for each in refused(release)}
    assert {key for key, given in answers(release).items() if given != recorded[key]} == set()


def record() -> None:
    found: dict[str, dict[bytes | None, list[str]]] = {}
    for release in RELEASES:
        for key, given in answers(release).items():
            found.setdefault(key, {}).setdefault(given, []).append(release)
    lines = [
        f'"{key}": {json.dumps({" ".join(releases): given and given.hex() for given, releases in each.items()})}'
        for key, each in sorted(found.items())
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
