"""`kafkalet.broker.apis.create_delegation_token`: owners, renewers, lifetimes and refusals."""

import hmac
import re

import pytest

from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code

from .secured import SECRET_KEY, SECURED, WITH_TOKENS, created, secured

NOW = 1_700_000_000_000
DAY_MS = 86_400_000
RELEASES = ("2.8", "3.9", "4.4")


def test_token_belongs_to_client_and_has_default_times() -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token = created(users, "alice")
    assert token["error_code"] == 0
    assert (token["principal_type"], token["principal_name"]) == ("User", "alice")
    assert (token["token_requester_principal_type"], token["token_requester_principal_name"]) == ("User", "alice")
    times = [token[f"{name}_timestamp_ms"] for name in ("issue", "expiry", "max")]
    assert times == [NOW, NOW + DAY_MS, NOW + 7 * DAY_MS]


def test_secret_is_hmac_of_id_with_secret_key() -> None:
    with secured() as users:
        token = created(users, "alice")
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", token["token_id"])
    secret = hmac.digest(SECRET_KEY.encode(), token["token_id"].encode(), "sha512")
    assert token["hmac"] == {"hex": secret.hex()}


@pytest.mark.parametrize(
    ("asked_ms", "lifetime_ms"), [(0, 10_000), (-2, 10_000), (10_001, 10_000), (2**63 - 1, 10_000), (700, 700)]
)
def test_lifetime_is_at_most_that_of_cluster(asked_ms: int, lifetime_ms: int) -> None:
    config = {"delegation.token.max.lifetime.ms": "10000", "delegation.token.expiry.time.ms": "5000"}
    with secured(WITH_TOKENS | config, clock=ManualClock(NOW)) as users:
        token = created(users, "alice", max_lifetime_ms=asked_ms)
    expires_ms = NOW + min(5000, lifetime_ms)
    assert (token["expiry_timestamp_ms"], token["max_timestamp_ms"]) == (expires_ms, NOW + lifetime_ms)


@pytest.mark.parametrize(("release", "past"), [("3.9", True), ("4.4", False)])
def test_times_beyond_int64_wrap_around_before_kafka_4(release: str, past: bool) -> None:
    config = {"delegation.token.max.lifetime.ms": str(2**63 - 1)}
    with secured(WITH_TOKENS | config, version=release) as users:
        assert (created(users, "alice")["max_timestamp_ms"] < 0) is past


def test_token_for_another_user_needs_create_tokens() -> None:
    with secured() as users:
        refused = created(users, "alice", owner="bob")
        assert refused["error_code"] == Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert (refused["principal_name"], refused["token_requester_principal_name"]) == ("bob", "alice")
        assert (refused["issue_timestamp_ms"], refused["token_id"], refused["hmac"]) == (-1, "", "")
        users.allow("alice", Operation.CREATE_TOKENS, ResourceType.USER, "User:bob")
        token = created(users, "alice", owner="bob")
        assert (token["error_code"], token["principal_name"]) == (0, "bob")
        assert token["token_requester_principal_name"] == "alice"


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_user_whose_name_is_too_long_for_a_response_gets_no_token(release: str) -> None:
    name = "x" * 32_768
    login = SECURED["listener.name.sasl_plaintext.plain.sasl.jaas.config"].replace(
        "user_bob", f'user_{name}="{name}" user_bob'
    )
    config = WITH_TOKENS | {"listener.name.sasl_plaintext.plain.sasl.jaas.config": login}
    with secured(config, version=release) as users:
        refused = users(name, "CreateDelegationToken", 2, renewers=[], max_lifetime_ms=-1)
        assert (refused["error_code"], refused["principal_name"]) == (Code.UNKNOWN_SERVER_ERROR, "ANONYMOUS")
        assert users("admin", "DescribeDelegationToken", 2, owners=None) == {
            "error_code": 0,
            "tokens": [],
            "throttle_time_ms": 0,
        }


def test_owner_without_type_is_a_server_error() -> None:
    body = {"renewers": [], "max_lifetime_ms": -1, "owner_principal_type": None, "owner_principal_name": "bob"}
    with secured() as users:
        refused = users("admin", "CreateDelegationToken", 3, **body)
    assert (refused["error_code"], refused["principal_name"]) == (Code.UNKNOWN_SERVER_ERROR, "ANONYMOUS")


def test_renewer_must_be_a_user() -> None:
    renewers = [{"principal_type": "User", "principal_name": "bob"}, {"principal_type": "Group", "principal_name": "g"}]
    with secured() as users:
        refused = users("alice", "CreateDelegationToken", 1, renewers=renewers, max_lifetime_ms=-1)
    assert refused["error_code"] == Code.INVALID_PRINCIPAL_TYPE


@pytest.mark.parametrize(("release", "time_ms"), [("2.8", -1), ("3.9", 0), ("4.4", 0)])
def test_request_without_secret_key_is_refused(release: str, time_ms: int) -> None:
    with secured(SECURED, version=release) as users:
        refused = users("alice", "CreateDelegationToken", 1, renewers=[], max_lifetime_ms=-1)
    assert refused["error_code"] == Code.DELEGATION_TOKEN_AUTH_DISABLED
    assert (refused["expiry_timestamp_ms"], refused["principal_name"]) == (time_ms, "alice")


@pytest.mark.parametrize(("release", "code"), [("2.8", 0), ("3.9", 0), ("4.4", Code.DELEGATION_TOKEN_AUTH_DISABLED)])
def test_master_key_is_used_before_kafka_4(release: str, code: int) -> None:
    with secured(SECURED | {"delegation.token.master.key": "k"}, version=release) as users:
        assert users("alice", "CreateDelegationToken", 1, renewers=[], max_lifetime_ms=-1)["error_code"] == code


@pytest.mark.parametrize("release", RELEASES)
def test_client_of_plaintext_listener_is_refused(release: str) -> None:
    with secured({"delegation.token.secret.key": "k"}, version=release) as users:
        refused = users("", "CreateDelegationToken", 1, renewers=[], max_lifetime_ms=-1)
    assert refused["error_code"] == Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
