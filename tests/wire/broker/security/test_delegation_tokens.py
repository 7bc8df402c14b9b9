"""`kafkalet.broker.security.delegation_tokens`: clients that have logged in with a token."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code
from kafkalet.sasl_client import NotAuthenticated
from tests.wire.broker.apis.secured import created, secured

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def test_invalid_property_is_refused_before_start() -> None:
    with pytest.raises(InvalidProperty, match=r"delegation\.token\.max\.lifetime\.ms: Value must be at least 1"):
        kafkalet.Broker(config={"delegation.token.max.lifetime.ms": "0"})


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_client_acts_as_owner_but_cannot_use_tokens(release: str, mechanism: str) -> None:
    with secured(version=release) as users:
        token = users("alice", "CreateDelegationToken", 1, renewers=[], max_lifetime_ms=-1)
        users.log_in_with(token, mechanism, "token")
        users.allow("alice", Operation.CREATE, ResourceType.TOPIC, "mine")
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("mine", "other")]
        answer = users("token", "CreateTopics", 5, topics=topics)
        errors = {topic["name"]: topic["error_code"] for topic in answer["topics"]}
        assert errors == {"mine": 0, "other": Code.TOPIC_AUTHORIZATION_FAILED}
        refused = [
            users("token", "CreateDelegationToken", 1, renewers=[], max_lifetime_ms=-1),
            users("token", "RenewDelegationToken", 1, hmac=token["hmac"], renew_period_ms=-1),
            users("token", "ExpireDelegationToken", 1, hmac=token["hmac"], expiry_time_period_ms=-1),
            users("token", "DescribeDelegationToken", 1, owners=None),
        ]
        assert {answer["error_code"] for answer in refused} == {Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_token_without_its_secret_cannot_log_in(mechanism: str) -> None:
    with secured() as users:
        token, other = created(users, "alice"), created(users, "alice")
        with pytest.raises(NotAuthenticated):
            users.log_in_with(token | {"hmac": other["hmac"]}, mechanism, "token")


def test_removed_token_cannot_log_in_but_its_connections_stay() -> None:
    with secured() as users:
        token = created(users, "alice")
        users.log_in_with(token, "SCRAM-SHA-256", "token")
        users("alice", "ExpireDelegationToken", 2, hmac=token["hmac"], expiry_time_period_ms=-1)
        assert users("token", "Metadata", 4, topics=[])["topics"] == []
        with pytest.raises(NotAuthenticated):
            users.log_in_with(token, "SCRAM-SHA-256", "again")


def test_expired_token_can_log_in_until_it_is_removed() -> None:
    clock = ManualClock()
    with secured(clock=clock) as users:
        token = created(users, "alice", max_lifetime_ms=1000)
        clock.advance(milliseconds=3_000_000)
        users.log_in_with(token, "SCRAM-SHA-256", "token")
        clock.advance(milliseconds=600_000)
        with pytest.raises(NotAuthenticated):
            users.log_in_with(token, "SCRAM-SHA-256", "again")


def test_token_can_log_in_after_restart(tmp_path: Path) -> None:
    with secured(data_dir=str(tmp_path)) as users:
        token = created(users, "alice")
    with secured(data_dir=str(tmp_path)) as users:
        users.log_in_with(token, "SCRAM-SHA-512", "token")
        assert users("token", "Metadata", 4, topics=[])["topics"] == []


def test_secrets_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with secured() as users:
        token = created(users, "alice")
        users.log_in_with(token, "SCRAM-SHA-256", "token")
        users("alice", "RenewDelegationToken", 2, hmac=token["hmac"], renew_period_ms=-1)
        users("bob", "RenewDelegationToken", 2, hmac=token["hmac"], renew_period_ms=-1)
    assert token["hmac"]["hex"] not in caplog.text
    assert "the key of all brokers" not in caplog.text
