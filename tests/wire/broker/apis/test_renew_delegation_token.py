"""`kafkalet.broker.apis.renew_delegation_token`: new expiry times and refusals."""

from typing import Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code

from .secured import SECURED, Users, created, described, secured

NOW = 1_700_000_000_000
DAY_MS = 86_400_000


def renewed(users: Users, user: str, token: Any, period_ms: int) -> tuple[int, int]:
    answer = users(user, "RenewDelegationToken", 2, hmac=token["hmac"], renew_period_ms=period_ms)
    return answer["error_code"], answer["expiry_timestamp_ms"]


@pytest.mark.parametrize(
    ("period_ms", "expires_ms"),
    [
        (-1, NOW + DAY_MS),
        (0, NOW + DAY_MS),
        (1, NOW + 1),
        (5000, NOW + 5000),
        (DAY_MS + 1, NOW + DAY_MS),
        (2**63 - 1, NOW + DAY_MS),
    ],
)
def test_period_is_at_most_that_of_cluster(period_ms: int, expires_ms: int) -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token = created(users, "alice")
        assert renewed(users, "alice", token, period_ms) == (0, expires_ms)
        assert [each["expiry_timestamp"] for each in described(users, "alice")] == [expires_ms]


@pytest.mark.parametrize(
    ("period_ms", "expires_ms"), [(-1, NOW + DAY_MS), (0, NOW), (DAY_MS + 1, NOW + DAY_MS + 1), (2**63 - 1, None)]
)
def test_period_has_no_limit_with_zookeeper(period_ms: int, expires_ms: int | None) -> None:
    wrapped = NOW + 2**63 - 1 - 2**64
    with secured(clock=ManualClock(NOW), version="2.8") as users:
        token = users("alice", "CreateDelegationToken", 2, renewers=[], max_lifetime_ms=-1)
        assert renewed(users, "alice", token, period_ms) == (0, wrapped if expires_ms is None else expires_ms)


def test_token_never_outlives_its_maximum() -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token = created(users, "alice", max_lifetime_ms=1000)
        assert renewed(users, "alice", token, 5000) == (0, NOW + 1000)


def test_only_owner_and_renewers_may_renew() -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token = created(users, "alice", renewers=["bob"])
        assert renewed(users, "bob", token, 1000) == (0, NOW + 1000)
        assert renewed(users, "admin", token, 1000) == (Code.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
        other = created(users, "admin", owner="alice")
        assert renewed(users, "admin", other, 1000) == (Code.DELEGATION_TOKEN_OWNER_MISMATCH, 0)


def test_unknown_token_is_not_found() -> None:
    with secured() as users:
        created(users, "alice")
        for secret in ("", "x", {"hex": "00" * 64}):
            assert renewed(users, "alice", {"hmac": secret}, 1000) == (Code.DELEGATION_TOKEN_NOT_FOUND, 0)


def test_expired_token_cannot_be_renewed() -> None:
    clock = ManualClock(NOW)
    with secured(clock=clock) as users:
        token = created(users, "alice", max_lifetime_ms=1000)
        clock.advance(milliseconds=1000)
        assert renewed(users, "alice", token, 1000) == (0, NOW + 1000)
        clock.advance(milliseconds=1)
        assert renewed(users, "alice", token, 1000) == (Code.DELEGATION_TOKEN_EXPIRED, 0)


@pytest.mark.parametrize(
    ("release", "code"),
    [("2.8", Code.DELEGATION_TOKEN_OWNER_MISMATCH), ("3.9", Code.DELEGATION_TOKEN_EXPIRED)],
)
def test_wrong_owner_of_expired_token_gets_error_of_release(release: str, code: int) -> None:
    clock = ManualClock(NOW)
    with secured(clock=clock, version=release) as users:
        token = users("alice", "CreateDelegationToken", 2, renewers=[], max_lifetime_ms=1000)
        clock.advance(milliseconds=1001)
        assert renewed(users, "bob", token, 1000)[0] == code


@pytest.mark.parametrize(("release", "time_ms"), [("2.8", -1), ("4.4", 0)])
def test_request_without_secret_key_is_refused(release: str, time_ms: int) -> None:
    with secured(SECURED, version=release) as users:
        assert renewed(users, "alice", {"hmac": "x"}, 1) == (Code.DELEGATION_TOKEN_AUTH_DISABLED, time_ms)


def test_client_of_plaintext_listener_is_refused() -> None:
    with secured({"delegation.token.secret.key": "k"}) as users:
        assert renewed(users, "", {"hmac": "x"}, 1) == (Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
