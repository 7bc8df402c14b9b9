"""`kafkalet.broker.apis.expire_delegation_token`: new expiry times, removal and refusals."""

from typing import Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code

from .secured import SECURED, Users, created, described, secured

NOW = 1_700_000_000_000
DAY_MS = 86_400_000


def expired(users: Users, user: str, token: Any, period_ms: int) -> tuple[int, int]:
    answer = users(user, "ExpireDelegationToken", 2, hmac=token["hmac"], expiry_time_period_ms=period_ms)
    return answer["error_code"], answer["expiry_timestamp_ms"]


@pytest.mark.parametrize("period_ms", [0, 5000, 2 * DAY_MS])
def test_token_expires_after_period(period_ms: int) -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token = created(users, "alice")
        assert expired(users, "alice", token, period_ms) == (0, NOW + period_ms)
        assert [each["expiry_timestamp"] for each in described(users, "alice")] == [NOW + period_ms]


@pytest.mark.parametrize(("release", "expires_ms"), [("3.9", NOW + 2**63 - 1 - 2**64), ("4.4", NOW + 7 * DAY_MS)])
def test_longest_period_wraps_around_before_kafka_4(release: str, expires_ms: int) -> None:
    with secured(clock=ManualClock(NOW), version=release) as users:
        assert expired(users, "alice", created(users, "alice"), 2**63 - 1) == (0, expires_ms)


def test_negative_period_removes_token() -> None:
    with secured(clock=ManualClock(NOW)) as users:
        token, other = created(users, "alice"), created(users, "alice")
        assert expired(users, "alice", token, -1) == (0, NOW)
        assert [each["token_id"] for each in described(users, "alice")] == [other["token_id"]]
        assert expired(users, "alice", token, -1) == (Code.DELEGATION_TOKEN_NOT_FOUND, 0)


def test_only_owner_and_renewers_may_expire_a_token() -> None:
    with secured() as users:
        token = created(users, "alice", renewers=["bob"])
        assert expired(users, "admin", token, -1) == (Code.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
        assert expired(users, "bob", token, -1)[0] == 0


@pytest.mark.parametrize(("release", "code"), [("2.8", Code.DELEGATION_TOKEN_EXPIRED), ("3.9", 0), ("4.4", 0)])
def test_expired_token_can_only_be_removed(release: str, code: int) -> None:
    clock = ManualClock(NOW)
    with secured(clock=clock, version=release) as users:
        token = users("alice", "CreateDelegationToken", 2, renewers=[], max_lifetime_ms=1000)
        clock.advance(milliseconds=1001)
        assert expired(users, "alice", token, 1000)[0] == Code.DELEGATION_TOKEN_EXPIRED
        assert expired(users, "alice", token, -1)[0] == code


def test_expired_tokens_are_removed_at_check_interval() -> None:
    clock = ManualClock(NOW)
    with secured(clock=clock) as users:
        created(users, "alice", max_lifetime_ms=1000)
        kept = created(users, "alice")
        clock.advance(milliseconds=3_599_999)
        assert len(described(users, "alice")) == 2
        clock.advance(milliseconds=1)
        assert [each["token_id"] for each in described(users, "alice")] == [kept["token_id"]]
        clock.advance(milliseconds=8 * DAY_MS)
        assert described(users, "alice") == []


def test_request_without_secret_key_is_refused() -> None:
    with secured(SECURED) as users:
        assert expired(users, "alice", {"hmac": "x"}, -1) == (Code.DELEGATION_TOKEN_AUTH_DISABLED, 0)


def test_client_of_plaintext_listener_is_refused() -> None:
    with secured({"delegation.token.secret.key": "k"}) as users:
        assert expired(users, "", {"hmac": "x"}, 1) == (Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
