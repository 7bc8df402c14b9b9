"""The rights that administrative APIs require, beyond those in the recorded transcripts."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain
from tests.wire.rights import Rights, without_rights

REFUSED = Code.CLUSTER_AUTHORIZATION_FAILED
DENIED = Code.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def rights() -> Iterator[Rights]:
    with without_rights() as client:
        yield client


def top_level(answer: Plain) -> int:
    code: int = answer["error_code"]
    return code


class Request(NamedTuple):
    """A request that needs a right on the cluster."""

    api: str
    version: int
    operation: str
    body: dict[str, Any]
    code: Callable[[Plain], int] = top_level


BROKER = {"resource_type": 4, "resource_name": "1"}
SETTING = {"name": "message.max.bytes", "value": "1000"}
ENTRY = {"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": []}
UPDATE = {"feature": "unknown", "max_version_level": 1, "upgrade_type": 1}
MOVED = {"name": "t", "partitions": [{"partition_index": 0, "replicas": [1]}]}
DIRECTORY = {"path": "/unknown", "topics": [{"name": "t", "partitions": [0]}]}
QUORUM = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}

REQUESTS = [
    Request("ElectLeaders", 1, "alter", {"election_type": 0, "topic_partitions": None, "timeout_ms": 1000}),
    Request("AlterPartitionReassignments", 0, "alter", {"topics": [MOVED], "timeout_ms": 1000}),
    Request("ListPartitionReassignments", 0, "describe", {"topics": None, "timeout_ms": 1000}),
    Request("DescribeLogDirs", 3, "describe", {"topics": None}),
    Request(
        "AlterReplicaLogDirs",
        1,
        "alter",
        {"dirs": [DIRECTORY]},
        lambda answer: answer["results"][0]["partitions"][0]["error_code"],
    ),
    Request("DescribeQuorum", 1, "describe", {"topics": [QUORUM]}),
    Request("UpdateFeatures", 1, "alter", {"timeout_ms": 1000, "feature_updates": [UPDATE], "validate_only": True}),
    Request("DescribeClientQuotas", 0, "describe_configs", {"components": [], "strict": False}),
    Request(
        "AlterClientQuotas",
        0,
        "alter_configs",
        {"entries": [ENTRY], "validate_only": True},
        lambda answer: answer["entries"][0]["error_code"],
    ),
    Request("ListConfigResources", 1, "describe_configs", {"resource_types": []}),
    Request(
        "DescribeConfigs",
        4,
        "describe_configs",
        {"resources": [BROKER | {"configuration_keys": ["message.max.bytes"]}]},
        lambda answer: answer["results"][0]["error_code"],
    ),
    Request(
        "AlterConfigs",
        2,
        "alter_configs",
        {"resources": [BROKER | {"configs": [SETTING]}], "validate_only": True},
        lambda answer: answer["responses"][0]["error_code"],
    ),
    Request(
        "IncrementalAlterConfigs",
        1,
        "alter_configs",
        {"resources": [BROKER | {"configs": [SETTING | {"config_operation": 0}]}], "validate_only": True},
        lambda answer: answer["responses"][0]["error_code"],
    ),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=[request.api for request in REQUESTS])
def test_request_needs_a_right_on_the_cluster(rights: Rights, request_: Request) -> None:
    others = {"alter", "describe_configs", "alter_configs", "create", "delete"} - {request_.operation}
    implied = {"describe": {"alter", "delete"}, "describe_configs": {"alter_configs"}}.get(request_.operation, set())
    rights.grant(*(f"{operation} cluster" for operation in others - implied))
    assert request_.code(rights.ask(request_.api, request_.version, **request_.body)) == REFUSED
    rights.grant(f"{request_.operation} cluster")
    assert request_.code(rights.ask(request_.api, request_.version, **request_.body)) != REFUSED


def test_refused_election_names_each_partition(rights: Rights) -> None:
    partitions = [{"topic": "t", "partitions": [0]}]
    answer = rights.ask("ElectLeaders", 1, election_type=0, topic_partitions=partitions, timeout_ms=1000)
    [topic] = answer["replica_election_results"]
    assert [one["error_code"] for one in topic["partition_result"]] == [REFUSED]


def test_refused_log_directories_are_not_named(rights: Rights) -> None:
    assert rights.ask("DescribeLogDirs", 1, topics=None)["results"] == []


def test_operations_on_the_cluster_are_hidden_from_clients_that_may_not_describe_it(rights: Rights) -> None:
    def operations() -> list[int]:
        metadata = rights.ask("Metadata", 9, topics=[], include_cluster_authorized_operations=True)
        described = rights.ask("DescribeCluster", 0, include_cluster_authorized_operations=True)
        return [answer["cluster_authorized_operations"] for answer in (metadata, described)]

    rights.grant("create cluster")
    assert operations() == [0, 0]
    rights.grant("alter cluster")  # which includes DESCRIBE
    assert operations() == [1 << 5 | 1 << 7 | 1 << 8] * 2


# Configurations of topics and groups


def configs(rights: Rights, *resources: tuple[int, str]) -> list[tuple[str, int]]:
    asked = [{"resource_type": kind, "resource_name": name, "configuration_keys": []} for kind, name in resources]
    answer = rights.ask("DescribeConfigs", 4, resources=asked)
    return [(result["resource_name"], result["error_code"]) for result in answer["results"]]


def test_configurations_that_may_not_be_described_come_last(rights: Rights) -> None:
    rights.grant("describe_configs topic u", "alter_configs group h")
    assert configs(rights, (2, "t"), (2, "u"), (32, "g"), (32, "h"), (4, "1")) == [
        ("u", Code.NONE),
        ("h", Code.NONE),
        ("t", DENIED),
        ("g", Code.GROUP_AUTHORIZATION_FAILED),
        ("1", REFUSED),
    ]


def test_resource_of_unknown_type_fails_the_whole_request(rights: Rights) -> None:
    assert configs(rights, (77, "x"), (2, "t")) == [("x", Code.INVALID_REQUEST), ("t", Code.INVALID_REQUEST)]


def test_release_with_zookeeper_changes_a_resource_that_is_listed_twice() -> None:
    with without_rights("2.8") as rights:
        rights.grant("alter_configs topic t")
        settings = [{"name": "retention.ms", "value": value, "config_operation": 0} for value in ("5", "6")]
        asked = [{"resource_type": 2, "resource_name": "t", "configs": [setting]} for setting in settings]
        answer = rights.ask("IncrementalAlterConfigs", 1, resources=asked, validate_only=False)
        assert [result["error_code"] for result in answer["responses"]] == [Code.NONE]
        assert rights.wire.cluster._server.metadata.topics["t"].config["retention.ms"] == "6"


def test_right_on_the_cluster_does_not_apply_to_topics(rights: Rights) -> None:
    rights.grant("all cluster")
    assert configs(rights, (2, "t"), (32, "g")) == [("t", DENIED), ("g", Code.GROUP_AUTHORIZATION_FAILED)]


def test_refused_change_of_a_topic_changes_nothing(rights: Rights) -> None:
    rights.grant("alter_configs topic u")
    setting = {"name": "retention.ms", "value": "5", "config_operation": 0}
    asked = [{"resource_type": 2, "resource_name": name, "configs": [setting]} for name in "tu"]
    answer = rights.ask("IncrementalAlterConfigs", 1, resources=asked, validate_only=False)
    assert [result["error_code"] for result in answer["responses"]] == [DENIED, Code.NONE]
    topics = rights.wire.cluster._server.metadata.topics
    assert [topics[name].config.get("retention.ms") for name in "tu"] == [None, "5"]


@pytest.mark.parametrize(("release", "code"), [("3.9", Code.INVALID_REQUEST), ("4.4", REFUSED)])
def test_broker_checks_the_change_of_its_configuration_before_the_right_until_4_0(release: str, code: Code) -> None:
    with without_rights(release) as rights:
        resource = {"resource_type": 4, "resource_name": "99", "configs": [SETTING]}
        answer = rights.ask("AlterConfigs", 2, resources=[resource], validate_only=True)
        assert answer["responses"][0]["error_code"] == code
