"""Connections to a listener with SASL: which frames get a response, and when the connection is closed.

The responses and delays were compared with those of Apache Kafka 3.9.
"""

import logging
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.sasl_client import Credentials

TIMEOUT_S = 60
DELAY_MS = 100
ALICE, BOB = b"\0alice\0alice-secret", b"\0bob\0bob-secret"
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_alice="alice-secret" user_bob="bob-secret";'
    ),
}
RAW, IN_REQUESTS = 0, 1


class Client:
    """A client that sends frames. A closed connection counts as the response None."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), TIMEOUT_S)

    def frame(self, content: bytes) -> None:
        self.socket.sendall(len(content).to_bytes(4, "big") + content)

    def request(self, api: Api, version: int, **fields: Any) -> None:
        self.socket.sendall(request(api, version, **fields))

    def receive(self) -> bytes | None:
        try:
            size = self._exactly(4)
            return None if size is None else self._exactly(int.from_bytes(size, "big"))
        except ConnectionResetError:
            return None

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            received = self.socket.recv(size - len(data))
            if not received:
                return None
            data += received
        return data

    def answer(self, api: Api, version: int) -> Any:
        data = self.receive()
        assert data is not None, "the connection is closed"
        return decode_response(api, version, data).response

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        self.request(api, version, **fields)
        return self.answer(api, version)

    def handshake(self, mechanism: str = "PLAIN", version: int = IN_REQUESTS) -> Any:
        return self.ask(Api.SASL_HANDSHAKE, version, mechanism=mechanism)

    def log_in(self, token: bytes = ALICE) -> Any:
        self.handshake()
        return self.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=token)

    def is_served(self) -> bool:
        return bool(self.ask(Api.METADATA, 1, topics=[]).brokers)


class Broker:
    """A broker on a manual clock."""

    def __init__(self, cluster: kafkalet.Cluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.clients: list[Client] = []

    def connect(self) -> Client:
        self.clients.append(Client(self.cluster.bootstrap_servers))
        return self.clients[-1]

    def waits(self) -> bool:
        """Return whether the broker delays a response, now or soon, and end the delay."""
        shared = self.cluster._server.brokers[1].listeners[0].authenticators
        assert shared is not None
        for _ in range(10_000):
            if self.cluster._server.call(lambda: len(shared.failures)):
                self.clock.advance(milliseconds=DELAY_MS)
                return True
        return False


def request(api: Api, version: int, **fields: Any) -> bytes:
    chunks: list[Any] = request_frame(request_type(api)(**fields), version, 1, "tester")
    return b"".join(chunks)


@contextmanager
def running(**config: str) -> Iterator[Broker]:
    clock = ManualClock()
    with kafkalet.Cluster(1, config=CONFIG | config, clock=clock, version="3.9") as cluster:
        broker = Broker(cluster, clock)
        yield broker
        for client in broker.clients:
            client.socket.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running() as made:
        yield made


@pytest.fixture
def client(broker: Broker) -> Client:
    return broker.connect()


# Authentication


def test_client_authenticates_and_is_served(client: Client) -> None:
    assert client.ask(Api.API_VERSIONS, 0).error_code == Code.NONE
    handshake = client.handshake()
    assert (handshake.error_code, handshake.mechanisms) == (Code.NONE, ["PLAIN", "SCRAM-SHA-256"])
    answer = client.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=ALICE)
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (Code.NONE, b"", 0)
    assert client.is_served()


def test_raw_token_authenticates(client: Client) -> None:
    client.handshake(version=RAW)
    client.frame(ALICE)
    assert client.receive() == b""
    assert client.is_served()


@pytest.mark.parametrize("version", [RAW, IN_REQUESTS])
def test_pipelined_requests_are_served_after_authentication(client: Client, version: int) -> None:
    token = len(ALICE).to_bytes(4, "big") + ALICE
    if version == IN_REQUESTS:
        token = request(Api.SASL_AUTHENTICATE, 2, auth_bytes=ALICE)
    client.socket.sendall(
        request(Api.SASL_HANDSHAKE, version, mechanism="PLAIN") + token + 3 * request(Api.METADATA, 1, topics=[])
    )
    assert client.receive() is not None
    assert client.receive() is not None
    for _ in range(3):
        assert client.answer(Api.METADATA, 1).brokers


def test_bytes_may_arrive_one_by_one(client: Client) -> None:
    data = request(Api.SASL_HANDSHAKE, 1, mechanism="PLAIN") + request(Api.SASL_AUTHENTICATE, 2, auth_bytes=ALICE)
    for byte in data:
        client.socket.sendall(bytes([byte]))
    assert client.answer(Api.SASL_HANDSHAKE, 1).error_code == Code.NONE
    assert client.answer(Api.SASL_AUTHENTICATE, 2).error_code == Code.NONE


def test_large_token_is_received_in_parts(broker: Broker, client: Client) -> None:
    client.handshake()
    client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0" + b"x" * 400_000)
    assert broker.waits()
    assert client.answer(Api.SASL_AUTHENTICATE, 2).error_code == Code.SASL_AUTHENTICATION_FAILED


def test_large_token_gets_a_response_before_the_connection_closes_in_real_time() -> None:
    with kafkalet.Broker(config=CONFIG | {"connection.failed.authentication.delay.ms": "1"}) as broker:
        client = Client(broker.bootstrap_servers)
        client.handshake()
        answer = client.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0" + b"x" * 400_000)
        assert answer.error_code == Code.SASL_AUTHENTICATION_FAILED
        assert client.receive() is None
        client.socket.close()


def test_authenticated_client_is_the_principal(broker: Broker, client: Client) -> None:
    client.log_in()

    def principals() -> set[str]:
        connections = broker.cluster._server.brokers[1].connections
        return {str(each.context.principal) for each in connections if each.context is not None}

    assert "User:alice" in broker.cluster._server.call(principals)


def test_delegation_token_logs_in_as_its_owner_until_it_expires() -> None:
    with running(**{"delegation.token.secret.key": "key", "delegation.token.expiry.time.ms": "60000"}) as broker:
        owner = broker.connect()
        owner.log_in()
        created = owner.ask(Api.CREATE_DELEGATION_TOKEN, 2, renewers=[], max_lifetime_ms=-1)
        client = broker.connect()
        client.handshake("SCRAM-SHA-256")
        lifetimes_ms = []

        def exchange(token: bytes) -> bytes:
            answer = client.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=token)
            assert answer.error_code == Code.NONE
            lifetimes_ms.append(answer.session_lifetime_ms)
            return bytes(answer.auth_bytes)

        password = b64encode(created.hmac).decode()
        credentials = Credentials("SCRAM-SHA-256", created.token_id, password, is_delegation_token=True)
        credentials.authenticate(exchange)
        assert lifetimes_ms == [0, 60_000]
        contexts = broker.cluster._server.call(
            lambda: [each.context for each in broker.cluster._server.brokers[1].connections]
        )
        assert [(str(each.principal), each.is_token_authenticated) for each in contexts if each is not None] == [
            ("User:alice", False),
            ("User:alice", True),
        ]
        refused = client.ask(Api.CREATE_DELEGATION_TOKEN, 2, renewers=[], max_lifetime_ms=-1)
        assert refused.error_code == Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


# Failures


def test_wrong_password_is_answered_after_the_delay(broker: Broker, client: Client) -> None:
    client.handshake()
    client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0wrong")
    assert broker.waits()
    answer = client.answer(Api.SASL_AUTHENTICATE, 2)
    assert answer.error_code == Code.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert client.receive() is None


def test_other_clients_are_served_during_the_delay(broker: Broker, client: Client) -> None:
    client.handshake()
    client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0wrong")
    other = broker.connect()
    assert other.log_in().error_code == Code.NONE
    assert other.is_served()
    assert broker.waits()


def test_unknown_mechanism_gets_the_list_of_enabled_ones(broker: Broker, client: Client) -> None:
    client.request(Api.SASL_HANDSHAKE, 1, mechanism="GSSAPI")
    assert broker.waits()
    answer = client.answer(Api.SASL_HANDSHAKE, 1)
    assert (answer.error_code, answer.mechanisms) == (Code.UNSUPPORTED_SASL_MECHANISM, ["PLAIN", "SCRAM-SHA-256"])
    assert client.receive() is None


@pytest.mark.parametrize(
    "frame", [b"", b"\x60\x82", request(Api.METADATA, 1, topics=[])[4:]], ids=["empty", "gssapi", "metadata"]
)
def test_first_frame_other_than_a_handshake_closes_after_the_delay(
    broker: Broker, client: Client, frame: bytes
) -> None:
    client.frame(frame)
    assert broker.waits()
    assert client.receive() is None


def test_second_api_versions_closes_immediately(client: Client) -> None:
    client.ask(Api.API_VERSIONS, 0)
    client.request(Api.API_VERSIONS, 0)
    assert client.receive() is None


def test_unsupported_api_versions_may_be_repeated(client: Client) -> None:
    for _ in range(2):
        client.frame(b"\0\x12\0\x63\0\0\0\1\xff\xff\0")
        assert client.answer(Api.API_VERSIONS, 0).error_code == Code.UNSUPPORTED_VERSION
    assert client.log_in().error_code == Code.NONE


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff", (524_289).to_bytes(4, "big")])
def test_frame_of_another_size_closes_after_the_delay(broker: Broker, client: Client, size: bytes) -> None:
    client.socket.sendall(size)
    assert broker.waits()
    assert client.receive() is None


def test_authenticated_client_may_send_larger_frames(client: Client) -> None:
    client.log_in()
    client.socket.sendall((600_000).to_bytes(4, "big") + b"\0\x12\0\0\0\0\0\1\xff\xff" + bytes(599_990))
    assert client.answer(Api.API_VERSIONS, 0).error_code == Code.NONE


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        (Api.METADATA, 1, {"topics": []}),
        (Api.LIST_GROUPS, 0, {}),
        (Api.INIT_PRODUCER_ID, 0, {"transactional_id": None, "transaction_timeout_ms": 1}),
        (Api.FIND_COORDINATOR, 0, {"key": "g"}),
        (Api.API_VERSIONS, 0, {}),
    ],
)
def test_other_request_after_handshake_gets_illegal_sasl_state(
    broker: Broker, client: Client, api: Api, version: int, fields: dict[str, Any]
) -> None:
    client.handshake()
    client.request(api, version, **fields)
    assert broker.waits()
    answer = client.answer(api, version)
    if api is Api.METADATA:
        assert (answer.brokers, answer.controller_id) == ([], -1)
    else:
        assert answer.error_code == Code.ILLEGAL_SASL_STATE
    assert client.receive() is None


def test_large_request_after_handshake_closes_after_the_delay_without_a_response(
    broker: Broker, client: Client
) -> None:
    client.handshake()
    client.request(Api.DESCRIBE_GROUPS, 0, groups=["g"] * 10_000)
    assert broker.waits()
    assert client.receive() is None


@pytest.mark.parametrize("frame", [b"", b"zz", b"\0\x24\0\x09\0\0\0\1\xff\xff\0\0"])
def test_malformed_request_after_handshake_closes_immediately(client: Client, frame: bytes) -> None:
    client.handshake()
    client.frame(frame)
    assert client.receive() is None


def test_wrong_raw_token_closes_after_the_delay(broker: Broker, client: Client) -> None:
    client.handshake(version=RAW)
    client.frame(b"\0alice\0wrong")
    assert broker.waits()
    assert client.receive() is None


def test_requests_after_a_failure_are_not_served(broker: Broker, client: Client) -> None:
    client.handshake()
    client.socket.sendall(
        request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"x") + request(Api.SASL_AUTHENTICATE, 2, auth_bytes=ALICE)
    )
    assert broker.waits()
    assert client.answer(Api.SASL_AUTHENTICATE, 2).error_code == Code.SASL_AUTHENTICATION_FAILED
    assert client.receive() is None


def test_failure_without_delay_closes_immediately() -> None:
    with running(**{"connection.failed.authentication.delay.ms": "0"}) as broker:
        client = broker.connect()
        assert client.log_in(b"x").error_code == Code.SASL_AUTHENTICATION_FAILED
        assert client.receive() is None
        client = broker.connect()
        client.frame(b"")
        assert client.receive() is None


def test_failure_is_logged_in_one_line_without_the_password(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    client = broker.connect()
    with caplog.at_level(logging.DEBUG):
        client.handshake()
        client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0wrong-secret")
        broker.waits()
        client.answer(Api.SASL_AUTHENTICATE, 2)
        assert client.receive() is None
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("kafkalet")]
    assert [line.partition("closed; ")[2] for line in lines if "closed" in line] == [
        "authentication failed: Invalid username or password"
    ]
    assert "secret" not in "".join(lines)


# Sessions

LIMITED = {"connections.max.reauth.ms": "5000"}


@pytest.fixture(scope="module")
def limited() -> Iterator[Broker]:
    with running(**LIMITED) as made:
        yield made


def test_client_learns_the_lifetime_of_its_session(limited: Broker) -> None:
    assert limited.connect().log_in().session_lifetime_ms == 5000


def test_client_authenticates_again(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    assert client.is_served()
    limited.clock.advance(milliseconds=5001)
    assert client.log_in().session_lifetime_ms == 5000
    assert client.is_served()


def test_second_handshake_within_a_second_is_illegal(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    client.log_in()
    assert client.handshake().error_code == Code.ILLEGAL_SASL_STATE
    assert client.is_served()


def test_raw_token_that_is_pipelined_after_the_handshake_authenticates_again(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    token = len(ALICE).to_bytes(4, "big") + ALICE
    metadata = request(Api.METADATA, 1, topics=[])
    client.socket.sendall(metadata + request(Api.SASL_HANDSHAKE, 0, mechanism="PLAIN") + token + metadata)
    assert client.answer(Api.METADATA, 1).brokers
    assert client.answer(Api.SASL_HANDSHAKE, 0).error_code == Code.NONE
    assert client.receive() == b""
    assert client.answer(Api.METADATA, 1).brokers


def test_request_after_the_session_closes_immediately(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    limited.clock.advance(milliseconds=5001)
    client.request(Api.METADATA, 1, topics=[])
    assert client.receive() is None


def test_other_principal_is_refused_after_the_delay(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    client.handshake()
    client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=BOB)
    assert limited.waits()
    answer = client.answer(Api.SASL_AUTHENTICATE, 2)
    assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert client.receive() is None


def test_other_mechanism_is_refused_with_the_next_frame(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    assert client.handshake("SCRAM-SHA-256").error_code == Code.NONE
    client.request(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"n,,n=alice,r=x")
    assert limited.waits()
    assert client.receive() is None


def test_mechanism_that_is_not_enabled_closes_a_session_immediately(limited: Broker) -> None:
    client = limited.connect()
    client.log_in()
    client.request(Api.SASL_HANDSHAKE, 1, mechanism="NOPE")
    assert client.receive() is None


# Journal


def test_journal_has_the_requests_but_no_tokens() -> None:
    clock = ManualClock()
    with kafkalet.Cluster(1, config=CONFIG, clock=clock, version="3.9") as cluster:
        broker = Broker(cluster, clock)
        client = broker.connect()
        client.log_in()
        raw = broker.connect()
        raw.handshake(version=RAW)
        raw.frame(ALICE)
        raw.receive()
        assert raw.is_served()
        for each in broker.clients:
            each.socket.close()
        found = list(cluster.requests)
        apis = [each.api for each in found]
        shown = "".join(f"{each} {each!r} {each.request} {each.response}" for each in found)
    assert apis == ["SaslHandshake", "SaslAuthenticate", "SaslHandshake", "Metadata"]
    assert "secret" not in shown


@pytest.mark.parametrize("version", [None, IN_REQUESTS])
def test_misplaced_raw_token_is_shown_nowhere(
    broker: Broker, client: Client, version: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    requests = broker.cluster.requests
    requests.clear()
    if version is not None:
        client.handshake(version=version)
    client.frame(b"\0alice\0" + b"secret" * 20)
    if version is None:
        assert broker.waits()
    assert client.receive() is None
    shown = "".join(f"{each} {each!r} {each.client_id} {each.request}" for each in requests)
    assert "secret" not in shown + caplog.text


def test_metadata_by_topic_id_during_authentication_is_answered(
    broker: Broker, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.handshake()
    topic = MetadataRequest.Topic(topic_id=bytes(range(16)), name=None)
    client.request(Api.METADATA, 10, topics=[topic])
    assert broker.waits()
    [answer] = client.answer(Api.METADATA, 10).topics
    assert (answer.error_code, answer.name, answer.topic_id) == (Code.ILLEGAL_SASL_STATE, "", bytes(range(16)))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
