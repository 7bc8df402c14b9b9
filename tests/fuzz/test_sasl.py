"""Random frames before authentication: each one is answered, or closes the connection, and little memory is used."""

import contextlib
import logging
import socket
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkalet
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalet.protocol.schema import Request

TIMEOUT_S = 10.0
MOST_BYTES = 8 << 20
PREFIX = "listener.name.sasl_plaintext."
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    f"{PREFIX}plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";'
    ),
    "connections.max.reauth.ms": "60000",
    "connection.failed.authentication.delay.ms": "1",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(config=CONFIG) as made:

        def store() -> None:
            for kind in ScramMechanism:
                made._server.metadata.scram_credentials["alice", kind] = credential_of_password(kind, "alice-secret")

        made._server.call(store)
        yield made


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def request(message: Request, version: int) -> bytes:
    return b"".join(map(bytes, request_frame(message, version, 1, "fuzz")))


def handshake(mechanism: str, version: int) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token: bytes, version: int) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=token), version)


def any_request(key: int, version: int, rest: bytes) -> bytes:
    return frame(key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + rest)


TOKENS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"\0alice\0alice-secret",
            b"\0alice\0wrong",
            b"n,,n=alice,r=abc",
            b"n,,n=alice,r=abc,tokenauth=true",
            b"n,a=alice,m=x,n=a=2Cb,r=abc,a=b",
            b"c=biws,r=abc,p=YWJj",
            b"n,,\x01auth=Bearer e30.e30.\x01\x01",
            b"n,,\x01auth=Bearer eyJhbGciOiJub25lIn0.W10.\x01\x01",
            b"\x01",
            b"",
        ]
    ),
    st.text(alphabet="n,a=m=r=2C3Dp\x00\x01é", max_size=40).map(str.encode),
)
MECHANISMS = st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", ""])
FRAMES = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=40).map(frame),
    TOKENS.map(frame),
    st.builds(handshake, MECHANISMS, st.integers(0, 1)),
    st.builds(authenticate, TOKENS, st.integers(0, 2)),
    st.integers(0, 2).map(lambda version: request(ApiVersionsRequest(), version)),
    st.just(request(MetadataRequest(topics=[]), 1)),
    st.builds(any_request, st.sampled_from(sorted(BY_KEY)), st.integers(-1, 20), st.binary(max_size=30)),
    st.sampled_from([b"\xff\xff\xff\xff", b"\x00\x08\x00\x01", b"\x7f\xff\xff\xff", frame(bytes(9_000))]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(FRAMES, max_size=8), pieces=st.integers(1, 3))
def test_random_frames_get_a_response_or_close_the_connection(
    broker: kafkalet.Broker, caplog: pytest.LogCaptureFixture, sent: list[bytes], pieces: int
) -> None:
    caplog.clear()
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    with socket.create_connection((host, int(port)), TIMEOUT_S) as client:
        data = b"".join(sent)
        step = max(1, len(data) // pieces)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for at in range(0, len(data), step):
                client.sendall(data[at : at + step])
        with contextlib.suppress(OSError):  # it is not connected any more
            client.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while client.recv(65536):  # a timeout fails the test
                pass
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "alice-secret" not in caplog.text


def test_frames_that_never_end_use_little_memory(broker: kafkalet.Broker) -> None:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    clients = []
    tracemalloc.start()
    try:
        for _ in range(50):
            client = socket.create_connection((host, int(port)), TIMEOUT_S)
            clients.append(client)
            client.sendall((524_288).to_bytes(4, "big") + int(Api.SASL_HANDSHAKE).to_bytes(2, "big") + bytes(5000))
        while len(broker._server.call(lambda: broker._server.brokers[1].connections)) < len(clients):
            pass
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
        for client in clients:
            client.close()
