"""`kafkalet.broker.apis.describe_delegation_token`: which tokens clients see, and when they survive."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code

from .secured import SECURED, WITH_TOKENS, created, described, secured, users_of


def ids(tokens: list[dict[str, object]]) -> set[object]:
    return {token["token_id"] for token in tokens}


def test_token_is_described_as_created() -> None:
    with secured() as users:
        token = created(users, "admin", ["bob", "bob"], owner="alice")
        [found] = described(users, "alice")
    assert found.pop("renewers") == [{"principal_type": "User", "principal_name": "bob"}] * 2
    token = {name.removesuffix("_ms"): value for name, value in token.items()}
    assert found == {name: token[name] for name in found}


def test_clients_see_tokens_that_they_own_or_renew() -> None:
    with secured() as users:
        own, renewed = created(users, "alice"), created(users, "bob", ["alice"])
        created(users, "bob")
        assert ids(described(users, "alice")) == {own["token_id"], renewed["token_id"]}
        assert len(described(users, "admin")) == 3


def test_owners_select_tokens_that_they_own_or_renew() -> None:
    with secured() as users:
        own, renewed = created(users, "alice"), created(users, "bob", ["alice"])
        created(users, "bob")
        assert ids(described(users, "admin", ["alice", "alice"])) == {own["token_id"], renewed["token_id"]}
        assert described(users, "admin", ["nobody"]) == []
        assert described(users, "admin", []) == []
        assert ids(described(users, "alice", ["bob"])) == {renewed["token_id"]}


def test_describe_on_token_shows_it() -> None:
    with secured() as users:
        shown, _ = created(users, "bob"), created(users, "bob")
        assert described(users, "alice") == []
        users.allow("alice", Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, shown["token_id"])
        assert ids(described(users, "alice")) == {shown["token_id"]}


def test_describe_tokens_on_owner_shows_its_tokens() -> None:
    with secured() as users:
        shown, _ = created(users, "bob"), created(users, "admin")
        users.allow("alice", Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:bob")
        assert ids(described(users, "alice")) == {shown["token_id"]}


def test_requester_is_described_since_v3() -> None:
    with secured() as users:
        created(users, "alice")
        [token] = users("alice", "DescribeDelegationToken", 1, owners=None)["tokens"]
        assert "token_requester_principal_name" not in token


@pytest.mark.parametrize("owners", [None, []])
def test_request_without_secret_key_is_refused(owners: list[object] | None) -> None:
    with secured(SECURED) as users:
        answer = users("alice", "DescribeDelegationToken", 3, owners=owners)
    assert answer["error_code"] == Code.DELEGATION_TOKEN_AUTH_DISABLED


def test_client_of_plaintext_listener_is_refused() -> None:
    with secured({"delegation.token.secret.key": "k"}) as users:
        answer = users("", "DescribeDelegationToken", 3, owners=None)
    assert answer["error_code"] == Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_tokens_survive_restart_without_their_secrets(tmp_path: Path) -> None:
    directory = str(tmp_path)
    with secured(data_dir=directory) as users:
        token = created(users, "alice", ["bob"])
    saved = (tmp_path / "kafkalet.json").read_text()
    assert token["token_id"] in saved
    assert token["hmac"]["hex"] not in saved
    with secured(data_dir=directory) as users:
        [found] = described(users, "alice")
    assert (found["token_id"], found["hmac"]) == (token["token_id"], token["hmac"])


def test_tokens_are_in_snapshots_and_gone_after_reset() -> None:
    with kafkalet.Cluster(1, config=WITH_TOKENS) as cluster:
        with users_of(cluster) as users:
            token = created(users, "alice")
        snapshot = cluster.snapshot()
        cluster.reset()
        with users_of(cluster) as users:
            assert described(users, "alice") == []
        cluster.restore(snapshot)
        with users_of(cluster) as users:
            assert ids(described(users, "alice")) == {token["token_id"]}


def test_describe_configs_never_shows_secret_key() -> None:
    with secured() as users:
        wanted = [{"resource_type": 4, "resource_name": "1", "configuration_keys": None}]
        [result] = users("admin", "DescribeConfigs", 4, resources=wanted)["results"]
    [key] = [config for config in result["configs"] if config["name"] == "delegation.token.secret.key"]
    assert (key["value"], key["is_sensitive"]) == (None, True)
    assert "the key of all brokers" not in str(result)
