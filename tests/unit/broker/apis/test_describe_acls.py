"""`kafkalet.broker.apis.describe_acls`: cases that the recordings of Apache Kafka do not cover."""

from typing import Any

import pytest

from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .authorizing import authorizing, grant

EVERYTHING: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def test_acls_of_a_resource_are_described_together() -> None:
    with authorizing() as ask:
        grant(ask, Operation.DESCRIBE)
        grant(ask, Operation.READ, ResourceType.TOPIC, "t")
        grant(ask, Operation.READ, ResourceType.GROUP, "t")
        grant(ask, Operation.WRITE, ResourceType.TOPIC, "t")
        resources = ask(Api.DESCRIBE_ACLS, 3, **EVERYTHING)["resources"]
        described = [
            (each["resource_type"], each["resource_name"], [acl["operation"] for acl in each["acls"]])
            for each in resources
        ]
        assert described == [
            (ResourceType.CLUSTER, "kafka-cluster", [Operation.DESCRIBE]),
            (ResourceType.TOPIC, "t", [Operation.READ, Operation.WRITE]),
            (ResourceType.GROUP, "t", [Operation.READ]),
        ]


def test_request_needs_describe_on_the_cluster() -> None:
    with authorizing() as ask, pytest.raises(KafkaError) as caught:
        ask(Api.DESCRIBE_ACLS, 3, **EVERYTHING)
    assert caught.value.code == Code.CLUSTER_AUTHORIZATION_FAILED
