"""`kafkalet.broker.apis.delete_acls`: cases that the recordings of Apache Kafka do not cover."""

from typing import Any

import pytest

from kafkalet.broker.apis import delete_acls
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .authorizing import SUPER_USER, authorizing, grant


def acl_filter(name: str | None = None, **fields: object) -> dict[str, Any]:
    what = {"resource_type_filter": 1, "resource_name_filter": name, "pattern_type_filter": 1}
    anyone = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    return what | anyone | fields


def test_acl_is_in_the_result_of_each_filter_that_matches() -> None:
    with authorizing(config=SUPER_USER) as ask:
        for name in "tu":
            grant(ask, Operation.READ, ResourceType.TOPIC, name)
        filters = [acl_filter("t"), acl_filter("none"), acl_filter()]
        results = ask(Api.DELETE_ACLS, 3, filters=filters)["filter_results"]
        assert [[each["resource_name"] for each in result["matching_acls"]] for result in results] == [
            ["t"],
            [],
            ["t", "u"],
        ]
        assert not len(ask.cluster._server.metadata.acls)


def test_acl_is_in_the_result_of_the_first_filter_with_zookeeper() -> None:
    with authorizing(config=SUPER_USER, version="2.8") as ask:
        grant(ask, Operation.READ, ResourceType.TOPIC, "t")
        results = ask(Api.DELETE_ACLS, 2, filters=[acl_filter("t")] * 2)["filter_results"]
        assert [len(result["matching_acls"]) for result in results] == [1, 0]


def test_request_that_would_delete_too_many_acls_deletes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_acls, "MOST_DELETED", 1)
    with authorizing(config=SUPER_USER) as ask:
        for name in "tu":
            grant(ask, Operation.READ, ResourceType.TOPIC, name)
        assert len(ask(Api.DELETE_ACLS, 3, filters=[acl_filter("none")])["filter_results"]) == 1
        with pytest.raises(KafkaError, match="Cannot remove more than 10000 acls") as caught:
            ask(Api.DELETE_ACLS, 3, filters=[acl_filter("t"), acl_filter("u")])
        assert caught.value.code == Code.INVALID_REQUEST
        assert len(ask.cluster._server.metadata.acls) == 2


def test_unknown_filter_is_refused_alone() -> None:
    with authorizing(config=SUPER_USER) as ask:
        grant(ask, Operation.READ, ResourceType.TOPIC, "t")
        filters = [acl_filter("t", operation=99), acl_filter("t")]
        first, second = ask(Api.DELETE_ACLS, 3, filters=filters)["filter_results"]
        assert (first["error_code"], first["error_message"]) == (Code.INVALID_REQUEST, "Unknown entryFilter.")
        assert len(second["matching_acls"]) == 1


def test_request_needs_alter_on_the_cluster() -> None:
    with authorizing() as ask:
        acl = grant(ask, Operation.DESCRIBE)
        with pytest.raises(KafkaError) as caught:
            ask(Api.DELETE_ACLS, 3, filters=[acl_filter()])
        assert caught.value.code == Code.CLUSTER_AUTHORIZATION_FAILED
        assert list(ask.cluster._server.metadata.acls) == [acl]


def test_client_may_delete_its_own_permission() -> None:
    with authorizing() as ask:
        grant(ask, Operation.ALTER)
        assert len(ask(Api.DELETE_ACLS, 3, filters=[acl_filter()])["filter_results"][0]["matching_acls"]) == 1
        with pytest.raises(KafkaError):
            ask(Api.DELETE_ACLS, 3, filters=[acl_filter()])
