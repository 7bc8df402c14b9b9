"""Tests of the routes of users, ACLs and the settings of clients."""

from collections.abc import Iterator

import pytest

from kafkalet.testing import security
from kafkalet.testing.security import Acls
from tests.wire.control.asking import Asking, asking


@pytest.fixture
def secured() -> Iterator[Asking]:
    with asking(users={"alice": "secret"}, super_users=["alice"], tls=True) as api:
        yield api


def test_many_acls_are_created_in_several_turns(secured: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "ACLS_PER_TURN", 2)
    turns: list[int] = []
    create = Acls._create
    monkeypatch.setattr(Acls, "_create", lambda self, acls: (turns.append(len(acls)), create(self, acls)))
    acls = [f"user{n}:read:topic:t" for n in range(5)]
    assert secured.post("/v1/acls", {"acls": acls}) == {"acls": acls}
    assert turns == [2, 2, 1]


def test_name_that_no_client_can_send_is_refused(secured: Asking) -> None:
    for user in ({"name": "a" * 10_001, "password": "b"}, {"name": "a", "password": "b" * 10_001}):
        assert secured.ask("POST", "/v1/users", user).status == 400


def test_acls_are_added_and_removed(secured: Asking) -> None:
    added = secured.post("/v1/acls", {"acls": ["bob:read,write:topic:orders*"]})
    assert added == {"acls": ["bob:read:topic:orders*", "bob:write:topic:orders*"]}
    assert secured.get("/v1/acls") == added
    left = secured.ask("DELETE", "/v1/acls?acl=bob:read:topic:orders*")
    assert (left.status, left.json) == (200, {"acls": ["bob:write:topic:orders*"]})


def test_invalid_acl_is_refused_with_the_grammar(secured: Asking) -> None:
    answer = secured.ask("POST", "/v1/acls", {"acls": ["bob:look:topic:t"]})
    assert answer.status == 422
    assert "Expected [deny:]USER" in answer.message


def test_acl_without_an_authorizer_is_a_conflict() -> None:
    with asking() as plain:
        assert plain.ask("POST", "/v1/acls", {"acls": ["bob:read:topic:t"]}).status == 409


def test_users_are_added_and_removed(secured: Asking) -> None:
    assert secured.post("/v1/users", {"name": "bob", "password": "x"}) == {"users": ["alice", "bob"]}
    assert secured.ask("DELETE", "/v1/users/alice").json == {"users": ["bob"]}
    assert secured.get("/v1/users") == {"users": ["bob"]}


def test_client_config_has_settings_and_properties(secured: Asking) -> None:
    found = secured.get("/v1/client-config?user=alice&mechanism=SCRAM-SHA-512")
    assert found["config"]["sasl.mechanism"] == "SCRAM-SHA-512"
    assert "sasl.mechanism=SCRAM-SHA-512\n" in found["properties"]
    assert "BEGIN CERTIFICATE" in found["config"]["ssl.truststore.certificates"]
    librdkafka = secured.get("/v1/client-config?user=alice&client=confluent-kafka")
    assert librdkafka["config"]["sasl.username"] == "alice"


def test_client_config_of_an_unknown_user_is_refused(secured: Asking) -> None:
    answer = secured.ask("GET", "/v1/client-config?user=bob")
    assert (answer.status, answer.message) == (422, "user bob has no known password; name a user, one of alice")
