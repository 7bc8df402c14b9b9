"""SASL/PLAIN on a connection: handshakes, tokens, and requests before, between and after them.

Connections whose name starts with `anonymous` are not authenticated when they are opened.
"""

from functools import partial
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import ends

scenario = Scenarios("authorization", EVERY_RELEASE, acl=True)

RIGHT = "\0user\0user"
PLAIN: Step = {"mechanism": "PLAIN"}
NO_TOPICS: Step = {"topics": []}
TOKENS: dict[str, Any] = {
    "right": RIGHT,
    "own name as identity": "user\0user\0user",
    "another identity": "admin\0user\0user",
    "identity of another user": "user\0admin\0admin",
    "wrong password": "\0user\0wrong",
    "password of another user": "\0user\0admin",
    "upper case user": "\0USER\0user",
    "upper case password": "\0user\0USER",
    "unknown user": "\0nobody\0nobody",
    "no user": "\0\0password",
    "no password": "\0user\0",
    "neither": "\0\0",
    "one separator": "user\0user",
    "no separator": "user",
    "three separators": "\0user\0user\0",
    "four separators": "\0user\0user\0\0",
    "nothing": "",
    "one zero byte": "\0",
    "invalid UTF-8": {"hex": "0075736572ff00fe"},
    "invalid UTF-8 in the password": {"hex": "007573657200fffe"},
    "user with spaces": "\0 user \0user",
    "long user": {"fill": "\0u", "size": 1000},
    "long password": {"fill": "\0user\0xxxxxxxxxxxxxxxxxxxx", "size": 26},
    "unicode": "\0größe\0日本",
    "another mechanism": "n,,n=user,r=abcdefghijklmnop",
    "JSON": '{"user":"user"}',
}


def handshake(ask: ScenarioBuilder, conn: str, version: int = 1) -> None:
    ask.setup("SaslHandshake", version, PLAIN, conn=conn)


def usable(ask: ScenarioBuilder, case: str, conn: str) -> None:
    """Check whether the connection is open, and who is authenticated: only the super user may describe ACLs."""
    wanted = {"resource_type_filter": 2, "resource_name_filter": "no-such-topic", "pattern_type_filter": 3}
    anyone = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    ask.request(f"{case}, then DescribeAcls", "DescribeAcls", 2, wanted | anyone, conn=conn)


@scenario("KIP-43 KIP-152 KIP-368 SaslServerAuthenticator PlainSaslServer", level="must")
def sasl_plain_tokens(ask: ScenarioBuilder) -> None:
    """PLAIN accepts an identity, a user and a password, separated by zero bytes, if the identity is empty or the user;
    another token fails with SASL_AUTHENTICATION_FAILED, and the connection is closed."""
    for v in ends(ask.versions("SaslAuthenticate")):
        for number, (case, token) in enumerate(TOKENS.items()):
            conn = f"anonymous-{v}-{number}"
            handshake(ask, conn)
            ask.request(f"v{v}: {case}", "SaslAuthenticate", v, {"auth_bytes": token}, conn=conn)
            usable(ask, f"v{v}: {case}", conn)


@scenario("KIP-43 KIP-152 KIP-368 SaslServerAuthenticator PlainSaslServer", level="must")
def sasl_raw_tokens(ask: ScenarioBuilder) -> None:
    """After SaslHandshake v0, the client sends a token without a request header; the broker responds with a token, or
    closes the connection.
    """
    for number, (case, token) in enumerate(TOKENS.items()):
        conn = f"anonymous-{number}"
        ask.request(f"{case}: handshake", "SaslHandshake", 0, PLAIN, conn=conn)
        ask.step("token", case=case, data=token, conn=conn)
        usable(ask, case, conn)
    conn = "anonymous-request"
    handshake(ask, conn, 0)
    ask.request("request instead of a token", "SaslAuthenticate", 0, {"auth_bytes": RIGHT}, conn=conn)
    conn = "anonymous-versions"
    handshake(ask, conn, 0)
    ask.request("ApiVersions instead of a token", "ApiVersions", 0, {}, conn=conn, only=["error_code", "connection"])
    conn = "anonymous-v1"
    handshake(ask, conn)
    ask.step("token", case="token without a header after SaslHandshake v1", data=RIGHT, conn=conn)
    ask.step("token", case="token without a handshake", data=RIGHT, conn="anonymous-none")
    ask.step(
        "token",
        case="token of Kerberos without a handshake",
        data={"hex": "6082024d06092a864886f7"},
        conn="anonymous-g",
    )
    conn = "anonymous-twice"
    handshake(ask, conn, 0)
    ask.step("token", case="first token", data=RIGHT, conn=conn)
    ask.step("token", case="second token", data=RIGHT, conn=conn)


@scenario("KIP-43 KIP-152 KIP-368 SaslServerAuthenticator PlainSaslServer KIP-511", level="must")
def sasl_sequences(ask: ScenarioBuilder) -> None:
    """The broker serves ApiVersions once before the handshake; a request between handshake and authentication fails
    with ILLEGAL_SASL_STATE, and every other request closes the connection.
    """
    only = {"only": ["error_code", "connection"]}
    last = ask.versions("ApiVersions")[-1]
    who = {"client_software_name": "conformance", "client_software_version": "1"}
    for v in ask.versions("ApiVersions"):
        conn = f"anonymous-api-versions-{v}"
        ask.request(f"ApiVersions v{v} first", "ApiVersions", v, who, conn=conn, **only)
        ask.request(f"handshake after ApiVersions v{v}", "SaslHandshake", 1, PLAIN, conn=conn)
        ask.request(f"ApiVersions v{v} after the handshake", "ApiVersions", v, who, conn=conn, **only)
        usable(ask, f"ApiVersions v{v} after the handshake", conn)
        ask.setup("ApiVersions", v, who, conn=f"anonymous-twice-{v}")
        ask.request(f"ApiVersions v{v} twice", "ApiVersions", v, who, conn=f"anonymous-twice-{v}", **only)
    conn = "anonymous-invalid"
    wrong = who | {"client_software_name": "not a name!"}
    ask.request("ApiVersions with a wrong software name", "ApiVersions", last, wrong, conn=conn, **only)
    ask.request("handshake after a wrong software name", "SaslHandshake", 1, PLAIN, conn=conn)
    conn = "anonymous-whole"
    ask.setup("ApiVersions", last, who, conn=conn)
    ask.request("whole: handshake", "SaslHandshake", 1, PLAIN, conn=conn)
    newest = ask.versions("SaslAuthenticate")[-1]
    ask.request("whole: authenticate", "SaslAuthenticate", newest, {"auth_bytes": RIGHT}, conn=conn)
    ask.request("whole: ApiVersions", "ApiVersions", last, who, conn=conn, **only)
    usable(ask, "whole", conn)
    for case, mechanism in {"unknown": "NOPE", "empty": "", "lower case": "plain", "disabled": "SCRAM-SHA-256"}.items():
        for v in ask.versions("SaslHandshake"):
            conn = f"anonymous-{v}-{case.replace(' ', '-')}"
            ask.request(f"v{v}: {case} mechanism", "SaslHandshake", v, {"mechanism": mechanism}, conn=conn)
            ask.request(f"v{v}: PLAIN after {case} mechanism", "SaslHandshake", v, PLAIN, conn=conn)
    for first, second in ((0, 1), (1, 0)):
        conn = f"anonymous-{first}-then-{second}"
        handshake(ask, conn, first)
        ask.request(f"handshake v{second} after v{first}", "SaslHandshake", second, PLAIN, conn=conn)
        usable(ask, f"handshake v{second} after v{first}", conn)
    for api, version, body in (
        ("Metadata", 9, NO_TOPICS),
        ("Produce", 9, {"acks": 1, "topics": [{"name": "t", "partitions": [{"index": 0, "records": [batch(10)]}]}]}),
        ("Fetch", 11, ask.fetching()),
        ("InitProducerId", 3, {"transactional_id": None, "transaction_timeout_ms": 60000}),
        ("SaslAuthenticate", 2, {"auth_bytes": RIGHT}),
        ("FindCoordinator", 3, {"key": "g", "key_type": 0}),
    ):
        ask.request(f"{api} without a handshake", api, version, body, conn=f"anonymous-first-{api}")
        if api != "SaslAuthenticate":
            handshake(ask, f"anonymous-second-{api}")
            ask.request(f"{api} after the handshake", api, version, body, conn=f"anonymous-second-{api}")
            usable(ask, f"{api} after the handshake", f"anonymous-second-{api}")
            failed = f"anonymous-failed-{api}"
            handshake(ask, failed)
            wrong_token = {"auth_bytes": "\0user\0wrong"}
            ask.request(f"{api}: failed authentication", "SaslAuthenticate", 1, wrong_token, conn=failed)
            ask.request(f"{api} after failed authentication", api, version, body, conn=failed)


@scenario("KIP-43 KIP-152 KIP-368 SaslServerAuthenticator PlainSaslServer")
def sasl_again(ask: ScenarioBuilder) -> None:
    """An authenticated connection cannot authenticate again if sessions have no lifetime: SaslHandshake and
    SaslAuthenticate fail with ILLEGAL_SASL_STATE, and the connection remains usable."""

    def authenticated(name: str, token: str = RIGHT) -> str:
        conn = f"anonymous-{name}"
        handshake(ask, conn)
        ask.setup("SaslAuthenticate", 2, {"auth_bytes": token}, conn=conn)
        return conn

    for v in ask.versions("SaslHandshake"):
        conn = authenticated(f"handshake{v}")
        ask.request(f"handshake v{v} again", "SaslHandshake", v, PLAIN, conn=conn)
        usable(ask, f"handshake v{v} again", conn)
        ask.request(f"handshake v{v} with an unknown mechanism", "SaslHandshake", v, {"mechanism": "NOPE"}, conn=conn)
        usable(ask, f"handshake v{v} with an unknown mechanism", conn)
    for case, token in {
        "same user": RIGHT,
        "another user": "\0admin\0admin",
        "wrong password": "\0user\0wrong",
    }.items():
        for v in ends(ask.versions("SaslAuthenticate")):
            conn = authenticated(f"{case.replace(' ', '-')}{v}")
            ask.request(f"v{v}: {case} without a handshake", "SaslAuthenticate", v, {"auth_bytes": token}, conn=conn)
            usable(ask, f"v{v}: {case} without a handshake", conn)
            ask.request(f"v{v}: {case}, handshake", "SaslHandshake", 1, PLAIN, conn=conn)
            ask.request(f"v{v}: {case}, authenticate", "SaslAuthenticate", v, {"auth_bytes": token}, conn=conn)
            usable(ask, f"v{v}: {case}", conn)
    conn = authenticated("admin", "\0admin\0admin")
    usable(ask, "admin", conn)


@scenario("KIP-43 KIP-152 KIP-368 SaslServerAuthenticator PlainSaslServer", level="must")
def sasl_garbage(ask: ScenarioBuilder) -> None:
    """Before authentication, the broker closes connections that send frames larger than sasl.server.max.receive.size,
    other protocols, or requests that it cannot decode."""

    raw = partial(ask.raw, conn="anonymous-raw")

    def request(key: int, version: int, body: bytes = b"", client: bytes = b"\0\4test") -> bytes:
        return key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7" + client + body

    plain = b"\0\5PLAIN"
    raw("empty frame", b"")
    raw("one byte", b"\0")
    raw("zeros", bytes(20))
    raw("text", b"hello, broker")
    raw("negative size", b"\xff\xff\xff\xff", framed=False)
    raw("size of the limit and no data", b"\0\x08\0\0", framed=False)
    raw("size above the limit", b"\0\x08\0\1", framed=False)
    raw("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", framed=False)
    raw("TLS", bytes.fromhex("16030100a5010000a10303") + bytes(160), framed=False)
    raw("unknown API", request(999, 0))
    raw("handshake v2", request(17, 2, plain))
    raw("handshake without a mechanism", request(17, 1))
    raw("handshake with a null mechanism", request(17, 1, b"\xff\xff"))
    raw("handshake with more bytes than its mechanism", request(17, 1, plain + b"more"))
    raw("handshake of a shorter mechanism than it says", request(17, 1, b"\0\x50PLAIN"))
    raw("handshake with a null client id", request(17, 1, plain, b"\xff\xff"), decode=["SaslHandshake", 1])
    raw("ApiVersions v99", request(18, 99, b"\0"), decode=["ApiVersions", 0])
    raw("ApiVersions v99 without the tags of its header", request(18, 99))
    raw("ApiVersions without its header", b"\0\x12\0\0")
    conn = "anonymous-large"
    handshake(ask, conn)
    large = {"auth_bytes": {"fill": "x", "size": 524_288}}
    ask.request("token above the limit", "SaslAuthenticate", 0, large, conn=conn)
    conn = "anonymous-medium"
    handshake(ask, conn)
    medium = {"auth_bytes": {"fill": "x", "size": 500_000}}
    ask.request("token below the limit", "SaslAuthenticate", 0, medium, conn=conn)
