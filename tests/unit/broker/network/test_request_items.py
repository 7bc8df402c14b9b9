"""Tests of the topics, partitions and groups that requests name."""

from typing import Any

import pytest

from kafkalet.broker.network.request_items import GROUP, PARTITION, TOPIC, Item, items, nameable, split
from kafkalet.protocol.api import Api
from tests.unit.broker.apis.asking import as_received


class Context:
    """The parts of a context that items need."""

    def __init__(self, api: Api, version: int) -> None:
        self.api, self.version = api, version
        self.metadata = self
        self.broker = self.fetch_sessions = self
        self.sessions: dict[int, Any] = {}

    def topic_by_id(self, topic_id: bytes) -> Any:
        self.name = "by-id"
        return self if topic_id == b"1" * 16 else None


def found(api: Api, version: int, **fields: Any) -> list[Item]:
    context: Any = Context(api, version)
    return items(as_received(api, version, fields), context)


def test_partitions_of_topics_are_items() -> None:
    topics = [{"name": "t", "partition_indexes": [0, 1]}, {"name": "u", "partition_indexes": [2]}]
    assert found(Api.OFFSET_FETCH, 5, group_id="g", topics=topics) == [("t", 0, "g"), ("t", 1, "g"), ("u", 2, "g")]


def test_partitions_of_several_groups_are_items() -> None:
    topic = {"topic_id": b"1" * 16, "partition_indexes": [3]}
    groups = [{"group_id": "g", "topics": [topic]}, {"group_id": "h", "topics": None}]
    assert found(Api.OFFSET_FETCH, 10, groups=groups) == [("by-id", 3, "g"), (None, None, "h")]


def test_topics_without_partitions_are_items() -> None:
    assert found(Api.METADATA, 12, topics=[{"name": "t"}, {"name": None, "topic_id": b"1" * 16}]) == [
        Item("t"),
        Item("by-id"),
    ]


def test_request_for_a_group_is_one_item() -> None:
    assert found(Api.HEARTBEAT, 4, group_id="g", generation_id=1, member_id="m") == [Item(group="g")]


def test_request_without_names_is_one_item() -> None:
    assert found(Api.API_VERSIONS, 3, client_software_name="", client_software_version="") == [Item()]


@pytest.mark.parametrize(("key_type", "group"), [(0, "k"), (1, None)])
def test_key_of_find_coordinator_is_a_group_or_a_transactional_id(key_type: int, group: str | None) -> None:
    assert found(Api.FIND_COORDINATOR, 3, key="k", key_type=key_type) == [Item(group=group)]
    assert found(Api.FIND_COORDINATOR, 4, coordinator_keys=["k"], key_type=key_type) == [Item(group=group)]


def test_fetch_without_partitions_has_no_items() -> None:
    assert found(Api.FETCH, 12, max_wait_ms=0, min_bytes=0, topics=[]) == []


@pytest.mark.parametrize(
    ("api", "kinds"),
    [
        (Api.PRODUCE, {TOPIC, PARTITION}),
        (Api.TXN_OFFSET_COMMIT, {TOPIC, PARTITION, GROUP}),
        (Api.FIND_COORDINATOR, {GROUP}),
        (Api.INIT_PRODUCER_ID, set()),
    ],
)
def test_kinds_that_requests_can_name(api: Api, kinds: set[str]) -> None:
    assert nameable(api, api.versions.high) == kinds


def test_split_drops_topics_without_partitions() -> None:
    topics = [{"name": "t", "partition_indexes": [0, 1]}, {"name": "u", "partition_indexes": [2]}]
    request = as_received(Api.OFFSET_FETCH, 5, {"group_id": "g", "topics": topics})
    context: Any = Context(Api.OFFSET_FETCH, 5)
    rest, hit = split(request, lambda item: item.topic == "u" or item.partition == 1, context)
    assert [(topic.name, topic.partition_indexes) for topic in rest.topics] == [("t", [0])]
    assert [(topic.name, topic.partition_indexes) for topic in hit.topics] == [("t", [1]), ("u", [2])]
    assert request.topics[0].partition_indexes == [0, 1]


def test_split_of_a_request_that_is_wanted_as_a_whole_leaves_nothing() -> None:
    request = as_received(Api.HEARTBEAT, 4, {"group_id": "g", "generation_id": 1, "member_id": "m"})
    context: Any = Context(Api.HEARTBEAT, 4)
    assert split(request, lambda item: True, context) == (None, request)
    assert split(request, lambda item: False, context) == (request, None)
