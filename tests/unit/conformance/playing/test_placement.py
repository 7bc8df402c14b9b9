"""Adapting recordings of one broker to a cluster of several."""

from typing import Any

import pytest

from kafkalet_conformance.playing.placement import (
    GROUP,
    TRANSACTION,
    auto_created,
    coordinated,
    is_about_one_broker,
    of_all_brokers,
    renamed,
    renumbered,
    with_assignments,
)


def created(**topic: Any) -> Any:
    body = with_assignments("CreateTopics", {"topics": [{"name": "t"} | topic]}, 3, lambda _: None)
    return body["topics"][0]


def test_new_topic_has_the_main_broker_as_only_replica() -> None:
    assert created(num_partitions=2, replication_factor=1) == {
        "name": "t",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [3]}, {"partition_index": 1, "broker_ids": [3]}],
    }


@pytest.mark.parametrize(
    "topic", [{"num_partitions": 0}, {"replication_factor": 2}, {"assignments": [{"partition_index": 0}]}]
)
def test_topic_that_kafka_refuses_or_places_is_sent_as_recorded(topic: dict[str, Any]) -> None:
    assert created(**topic) == {"name": "t"} | topic


def test_new_partitions_are_placed_on_the_main_broker() -> None:
    body = {"topics": [{"name": "t", "count": 3, "assignments": None}]}
    [topic] = with_assignments("CreatePartitions", body, 2, lambda _: 1)["topics"]
    assert topic["assignments"] == [{"broker_ids": [2]}, {"broker_ids": [2]}]


@pytest.mark.parametrize("partitions", [None, 3, 4])
def test_partitions_that_kafka_refuses_are_sent_as_recorded(partitions: int | None) -> None:
    body = {"topics": [{"name": "t", "count": 3, "assignments": None}]}
    assert with_assignments("CreatePartitions", body, 2, lambda _: partitions) == body


def test_groups_and_transactional_ids_are_found_with_their_kind() -> None:
    steps: list[dict[str, Any]] = [
        {"api": "OffsetFetch", "body": {"groups": [{"group_id": "$g"}]}},
        {"api": "DeleteGroups", "body": {"groups_names": ["$h", "nope"]}},
        {"api": "TxnOffsetCommit", "body": {"transactional_id": "$x", "group_id": "$g", "member_id": "$m"}},
        {"api": "FindCoordinator", "body": {"key": "$k"}},
        {"op": "sleep"},
    ]
    assert coordinated(steps) == {"$g": {GROUP}, "$h": {GROUP}, "nope": {GROUP}, "$x": {TRANSACTION}}


def test_literal_groups_are_renamed_only_where_they_are_ids() -> None:
    value = {"groups": [{"group_id": "nope", "group_state": "nope"}], "groups_names": ["nope", "g"]}
    assert renamed(value, {"nope": "nope-1"}) == {
        "groups": [{"group_id": "nope-1", "group_state": "nope"}],
        "groups_names": ["nope-1", "g"],
    }


def test_recorded_broker_gets_the_id_of_the_main_one() -> None:
    value = {
        "resources": [{"resource_type": kind, "resource_name": "1"} for kind in (4, 8, 2)],
        "assignments": [{"partition_index": 1, "broker_ids": [1, 99]}],
    }
    assert renumbered(value, 5) == {
        "resources": [{"resource_type": kind, "resource_name": name} for kind, name in ((4, "5"), (8, "5"), (2, "1"))],
        "assignments": [{"partition_index": 1, "broker_ids": [5, 99]}],
    }


def test_list_of_all_brokers_has_each_broker() -> None:
    expected = {"brokers": [{"node_id": "$NODE"}], "topics": [{"brokers": []}]}
    assert of_all_brokers(expected, {1, 2}) == {
        "brokers": [{"node_id": "$NODE"}, {"node_id": "$NODE"}],
        "topics": [{"brokers": []}],
    }


def test_node_of_an_expected_broker_is_renumbered() -> None:
    assert renumbered({"node_id": 1, "other": {"node_id": 4711}}, 3) == {"node_id": 3, "other": {"node_id": 4711}}


def test_list_of_configurations_has_each_broker() -> None:
    broker, topic = {"resource_name": "1", "resource_type": 4}, {"resource_name": "$t", "resource_type": 2}
    expected = {"config_resources": [broker, topic]}
    assert of_all_brokers(expected, {2, 1})["config_resources"] == [broker, broker | {"resource_name": "2"}, topic]


def test_case_about_the_number_of_brokers_cannot_be_compared() -> None:
    refused = {"api": "CreateTopics", "expect": {"topics": [{"error_code": 38}]}}
    assert is_about_one_broker(refused) == "recorded with one broker, which refuses more replicas"
    assert is_about_one_broker({"api": "DescribeQuorum"}) == "recorded with one voter"
    state = "the state of share groups may be coordinated by another broker"
    assert is_about_one_broker({"api": "ReadShareGroupStateSummary"}) == state
    nameless = {"api": "OffsetFetch", "body": {"groups": [{"group_id": ""}]}}
    assert is_about_one_broker(nameless) == "the group without a name may be coordinated by another broker"
    blank = {"api": "ConsumerGroupHeartbeat", "body": {"group_id": " "}}
    assert is_about_one_broker(blank) == is_about_one_broker(nameless)
    assert is_about_one_broker({"api": "OffsetFetch", "body": {"groups": [{"group_id": "$g"}]}}) == ""
    assert is_about_one_broker({"api": "AddOffsetsToTxn", "body": {"group_id": ""}}) == ""
    assert is_about_one_broker({"api": "CreateTopics", "expect": {"topics": [{"error_code": 0}]}}) == ""


def test_topics_of_metadata_requests_are_created_automatically() -> None:
    def step(api: str, version: int, name: str, **fields: bool) -> dict[str, Any]:
        return {"api": api, "version": version, "body": {"topics": [{"name": name}], **fields}}

    steps: list[dict[str, Any]] = [
        step("Metadata", 1, "$old"),
        step("Metadata", 4, "$new", allow_auto_topic_creation=True),
        step("Metadata", 4, "$none", allow_auto_topic_creation=False),
        step("CreateTopics", 5, "$made"),
        step("Metadata", 1, "$made"),
        {"op": "sleep"},
    ]
    assert auto_created(steps) == {"$old", "$new"}
