"""`kafkalet.broker.apis.create_acls`: cases that the recordings of Apache Kafka do not cover."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.apis import create_acls
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .authorizing import SUPER_USER, authorizing, grant


def creation(name: str, **fields: object) -> dict[str, Any]:
    what = {"resource_type": 2, "resource_name": name, "resource_pattern_type": 3, "principal": "User:a"}
    return what | {"host": "*", "operation": 3, "permission_type": 3} | fields


def test_acl_of_a_user_can_be_created() -> None:
    with authorizing(config=SUPER_USER) as ask:
        answer = ask(Api.CREATE_ACLS, 3, creations=[creation("User:b", resource_type=7, operation=13)])
        assert answer["results"] == [{"error_code": 0, "error_message": ""}]
        [acl] = ask.cluster._server.metadata.acls
        assert (acl.resource_type, acl.operation) == (ResourceType.USER, Operation.CREATE_TOKENS)


def test_request_needs_alter_on_the_cluster() -> None:
    with authorizing() as ask:
        with pytest.raises(KafkaError) as caught:
            ask(Api.CREATE_ACLS, 3, creations=[creation("t", operation=1)])
        assert caught.value.code == Code.CLUSTER_AUTHORIZATION_FAILED
        grant(ask, Operation.ALTER)
        assert ask(Api.CREATE_ACLS, 3, creations=[creation("t")])["results"][0]["error_code"] == 0


def test_all_brokers_see_a_new_acl() -> None:
    with authorizing(2) as ask:
        grant(ask, Operation.ALTER)
        for node in (1, 2):
            answer = ask(Api.CREATE_ACLS, 3, node=node, creations=[creation("t")])
            assert answer["results"][0]["error_code"] == 0
        assert len(ask.cluster._server.metadata.acls) == 2


def test_too_many_new_acls_are_refused_by_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create_acls, "MOST_CREATED", 1)
    with authorizing(config=SUPER_USER) as ask:
        for name in "tu":
            ask(Api.CREATE_ACLS, 3, creations=[creation(name)])
        assert ask(Api.CREATE_ACLS, 3, creations=[creation("t"), creation("u")])["results"][1]["error_code"] == 0
        results = ask(Api.CREATE_ACLS, 3, creations=[creation("v"), creation("w"), creation("")])["results"]
        codes = [result["error_code"] for result in results]
        assert codes == [Code.POLICY_VIOLATION, Code.POLICY_VIOLATION, Code.INVALID_REQUEST]
        assert len(ask.cluster._server.metadata.acls) == 2


def test_acls_survive_a_restart(tmp_path: Path) -> None:
    with authorizing(config=SUPER_USER, data_dir=tmp_path) as ask:
        ask(Api.CREATE_ACLS, 3, creations=[creation("t"), creation("u", permission_type=2)])
        created = list(ask.cluster._server.metadata.acls)
    with authorizing(config=SUPER_USER, data_dir=tmp_path) as ask:
        assert list(ask.cluster._server.metadata.acls) == created


def test_snapshot_has_the_acls_and_reset_removes_them() -> None:
    with authorizing(config=SUPER_USER) as ask:
        ask(Api.CREATE_ACLS, 3, creations=[creation("t")])
        snapshot = ask.cluster.snapshot()
        ask.cluster.reset()
        assert not len(ask.cluster._server.metadata.acls)
        ask.cluster.restore(snapshot)
        assert [acl.resource_name for acl in ask.cluster._server.metadata.acls] == ["t"]


def test_acls_that_cannot_be_saved_are_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    with authorizing(config=SUPER_USER) as ask:
        controller = ask.cluster._server.controller

        def fail() -> None:
            raise KafkaError(Code.KAFKA_STORAGE_ERROR)

        monkeypatch.setattr(controller.changes, "_write", fail, raising=False)
        with pytest.raises(KafkaError):
            ask(Api.CREATE_ACLS, 3, creations=[creation("t")])
        assert not len(controller.metadata.acls)


def test_invalid_super_user_prevents_the_start() -> None:
    with (
        pytest.raises(ValueError, match=r"super\.users: expected a string in format principalType:principalName"),
        authorizing(config={"super.users": "User:a;bob"}),
    ):
        pass


@pytest.mark.parametrize(("release", "message"), [("2.4", None), ("2.5", "")])
def test_message_of_success_is_null_in_old_releases(release: str, message: str | None) -> None:
    with authorizing(config=SUPER_USER, version=release) as ask:
        assert ask(Api.CREATE_ACLS, 1, creations=[creation("t")])["results"] == [
            {"error_code": 0, "error_message": message}
        ]
        wanted = {"resource_type_filter": 2, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
        nobody = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
        assert ask(Api.DESCRIBE_ACLS, 1, **wanted, **nobody)["error_message"] == message
