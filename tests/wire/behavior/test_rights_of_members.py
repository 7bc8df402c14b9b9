"""The rights that the APIs of groups and offsets require, beyond those in the recorded transcripts."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code
from tests.wire.brokers import TIMEOUT_S
from tests.wire.rights import Rights, without_rights

MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
GROUP_REFUSED = Code.GROUP_AUTHORIZATION_FAILED
TOPIC_REFUSED = Code.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def rights() -> Iterator[Rights]:
    with without_rights() as client:
        yield client


def coordinate(rights: Rights, *groups: str) -> None:
    """Create the internal topic and the groups, which have an offset of each topic."""
    with rights.all():
        rights.ask("FindCoordinator", 3, key="g", key_type=0)
        for group in groups:
            commit(rights, group, "t", "u")


def commit(rights: Rights, group: str, *topics: str) -> dict[str, int]:
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
    asked = [{"name": topic, "partitions": [partition]} for topic in topics]
    answer = rights.ask("OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=asked)
    return {topic["name"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}


def beat(rights: Rights, **more: Any) -> dict[str, Any]:
    body = {"group_id": "g", "member_id": MEMBER, "member_epoch": 0, "rebalance_timeout_ms": 60_000}
    return rights.ask("ConsumerGroupHeartbeat", 1, **body, topic_partitions=[], **more)


# coordinators


def test_share_coordinators_are_found_with_cluster_action(rights: Rights) -> None:
    keys = ["g:AAAAAAAAAAAAAAAAAAAAAQ:0", "x"]
    answer = rights.ask("FindCoordinator", 6, coordinator_keys=keys, key_type=2)
    expected = (Code.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    assert [(each["error_code"], each["error_message"]) for each in answer["coordinators"]] == [expected] * 2
    rights.grant("cluster_action cluster")
    answer = rights.ask("FindCoordinator", 6, coordinator_keys=keys, key_type=2)
    assert [each["error_code"] for each in answer["coordinators"]] == [Code.NONE, Code.INVALID_REQUEST]


def test_share_coordinators_are_refused_without_message_before_4_0() -> None:
    with without_rights("3.9") as rights:
        [answer] = rights.ask("FindCoordinator", 6, coordinator_keys=["x"], key_type=2)["coordinators"]
        assert (answer["error_code"], answer["error_message"]) == (Code.CLUSTER_AUTHORIZATION_FAILED, "")


def test_share_coordinators_are_invalid_before_v6_whatever_the_rights(rights: Rights) -> None:
    [answer] = rights.ask("FindCoordinator", 5, coordinator_keys=["x"], key_type=2)["coordinators"]
    assert answer["error_code"] == Code.INVALID_REQUEST


# classic groups


def test_join_is_refused_before_its_timeout_is_checked(rights: Rights) -> None:
    coordinate(rights)
    body = {"group_id": "g", "session_timeout_ms": 1, "member_id": "m", "protocol_type": "consumer", "protocols": []}
    answer = rights.ask("JoinGroup", 4, **body)
    assert (answer["error_code"], answer["member_id"]) == (GROUP_REFUSED, "")
    rights.grant("read group g")
    answer = rights.ask("JoinGroup", 4, **body)
    assert (answer["error_code"], answer["member_id"]) == (Code.INVALID_SESSION_TIMEOUT, "m")


def test_sync_without_protocol_is_refused_for_its_protocol(rights: Rights) -> None:
    body = {"group_id": "g", "generation_id": 1, "member_id": "m", "assignments": []}
    assert rights.ask("SyncGroup", 5, **body)["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL
    assert rights.ask("SyncGroup", 4, **body)["error_code"] == GROUP_REFUSED


@pytest.mark.parametrize("api", ["Heartbeat", "SyncGroup"])
def test_requests_of_members_need_read(rights: Rights, api: str) -> None:
    coordinate(rights)
    body: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    if api == "SyncGroup":
        body["assignments"] = []
    rights.grant("describe group g", "delete group g")
    assert rights.ask(api, 0, **body)["error_code"] == GROUP_REFUSED
    rights.grant("read group g")
    assert rights.ask(api, 0, **body)["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_groups_are_listed_if_they_or_the_cluster_may_be_described(rights: Rights) -> None:
    coordinate(rights, "g", "h")

    def listed() -> list[str]:
        return sorted(group["group_id"] for group in rights.ask("ListGroups", 4)["groups"])

    assert listed() == []
    rights.grant("read group h")
    assert listed() == ["h"]
    rights.grant("describe cluster")
    assert listed() == ["g", "h"]


@pytest.mark.parametrize(("release", "order"), [("2.8", ["a", "b", "c", "d"]), ("3.9", ["b", "d", "a", "c"])])
def test_refused_groups_are_described_first_since_3_5(release: str, order: list[str]) -> None:
    with without_rights(release) as rights:
        coordinate(rights)
        rights.grant("describe group a", "read group c")
        answer = rights.ask("DescribeGroups", 3, groups=["a", "b", "c", "d"], include_authorized_operations=True)
        found = {group["group_id"]: (group["error_code"], group["group_state"]) for group in answer["groups"]}
        assert list(found) == order
        assert found["a"] == found["c"] == (Code.NONE, "Dead")
        assert found["b"] == found["d"] == (GROUP_REFUSED, "")
        operations = {group["group_id"]: group["authorized_operations"] for group in answer["groups"]}
        assert operations["a"] == 1 << Operation.DESCRIBE
        assert operations["c"] == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_refused_groups_are_deleted_last(rights: Rights) -> None:
    coordinate(rights, "g", "h")
    rights.grant("delete group h")
    answer = rights.ask("DeleteGroups", 2, groups_names=["g", "h", "g"])
    assert answer["results"] == [
        {"group_id": "h", "error_code": Code.NONE},
        {"group_id": "g", "error_code": GROUP_REFUSED},
    ]


# offsets


def test_commit_needs_read_on_group_and_topic(rights: Rights) -> None:
    coordinate(rights)
    rights.grant("describe group g", "read topic t", "describe topic u")
    assert commit(rights, "g", "t", "u", "nowhere") == dict.fromkeys(["t", "u", "nowhere"], GROUP_REFUSED)
    rights.grant("read group g")
    expected = {"t": Code.NONE, "u": TOPIC_REFUSED, "nowhere": TOPIC_REFUSED}
    assert commit(rights, "g", "t", "u", "nowhere") == expected


def test_commit_by_topic_id_distinguishes_unknown_ids_from_refused_topics(rights: Rights) -> None:
    coordinate(rights)
    rights.grant("read group g")
    unknown = "0f0f0f0f-1111-4222-8333-444455556666"
    known = str(topic_id(rights, "t"))
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
    asked = [{"topic_id": each, "partitions": [partition]} for each in (known, unknown)]
    answer = rights.ask("OffsetCommit", 10, group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=asked)
    codes = {topic["topic_id"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}
    assert codes == {known: TOPIC_REFUSED, unknown: Code.UNKNOWN_TOPIC_ID}


def topic_id(rights: Rights, topic: str) -> str:
    with rights.all():
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        found: str = rights.ask("Metadata", 12, **body)["topics"][0]["topic_id"]
    return found


def test_offsets_of_refused_topics_are_fetched_last(rights: Rights) -> None:
    coordinate(rights, "g")
    rights.grant("describe group g", "describe topic u")
    asked = [{"name": topic, "partition_indexes": [0]} for topic in ("t", "u")]
    groups = [{"group_id": "g", "topics": asked}, {"group_id": "h", "topics": asked}]
    answer = rights.ask("OffsetFetch", 8, groups=groups)
    [g, h] = answer["groups"]
    found = [
        (topic["name"], topic["partitions"][0]["committed_offset"], topic["partitions"][0]["error_code"])
        for topic in g["topics"]
    ]
    assert found == [("u", 5, Code.NONE), ("t", -1, TOPIC_REFUSED)]
    assert (h["topics"], h["error_code"]) == ([], GROUP_REFUSED)


def test_offsets_of_unknown_topic_ids_are_fetched_last(rights: Rights) -> None:
    coordinate(rights, "g")
    rights.grant("describe group g", "describe topic t")
    unknown, known = "0f0f0f0f-1111-4222-8333-444455556666", topic_id(rights, "t")
    asked = [{"topic_id": each, "partition_indexes": [0]} for each in (unknown, known)]
    [group] = rights.ask("OffsetFetch", 10, groups=[{"group_id": "g", "topics": asked}])["groups"]
    found = [(topic["topic_id"], topic["partitions"][0]["error_code"]) for topic in group["topics"]]
    assert found == [(known, Code.NONE), (unknown, Code.UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize(("release", "count"), [("2.8", 1), ("3.9", 2)])
def test_duplicates_of_refused_topics_are_left_out_before_3_5(release: str, count: int) -> None:
    with without_rights(release) as rights:
        coordinate(rights)
        rights.grant("describe group g")
        topics = [{"name": "t", "partition_indexes": [0]}] * 2
        answer = rights.ask("OffsetFetch", 7, group_id="g", topics=topics)
        assert [topic["name"] for topic in answer["topics"]] == ["t"] * count


@pytest.mark.parametrize("version", [2, 7, 8])
def test_all_offsets_are_those_of_topics_that_may_be_described(rights: Rights, version: int) -> None:
    coordinate(rights, "g")
    rights.grant("describe group g", "write topic u")
    group = {"group_id": "g", "topics": None}
    answer = rights.ask("OffsetFetch", version, **({"groups": [group]} if version >= 8 else group))
    topics = answer["groups"][0]["topics"] if version >= 8 else answer["topics"]
    assert [topic["name"] for topic in topics] == ["u"]


def test_offsets_in_zookeeper_need_the_same_rights() -> None:
    with without_rights("2.8") as rights:
        asked = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}

        def code() -> int:
            found: int = rights.ask("OffsetFetch", 0, **asked)["topics"][0]["partitions"][0]["error_code"]
            return found

        assert code() == GROUP_REFUSED
        rights.grant("describe group g")
        assert code() == TOPIC_REFUSED
        rights.grant("describe topic t")
        assert code() == Code.UNKNOWN_TOPIC_OR_PARTITION


# groups of the consumer protocol


def test_member_joins_if_it_may_describe_all_its_topics(rights: Rights) -> None:
    coordinate(rights)
    rights.grant("read group g", "describe topic t")
    assert beat(rights, subscribed_topic_names=["t", "u"])["error_code"] == TOPIC_REFUSED
    rights.grant("read topic u")
    assert beat(rights, subscribed_topic_names=["t", "u"])["error_code"] == Code.NONE


def test_topics_of_members_are_not_checked_before_4_0() -> None:
    config = {"group.coordinator.rebalance.protocols": "classic,consumer"}
    with without_rights("3.9", more=config) as rights:
        coordinate(rights)
        rights.grant("read group g")
        body = {"group_id": "g", "member_id": "", "member_epoch": 0, "rebalance_timeout_ms": 60_000}
        answer = rights.ask("ConsumerGroupHeartbeat", 0, **body, topic_partitions=[], subscribed_topic_names=["t"])
        assert answer["error_code"] == Code.NONE


def test_expression_matches_only_topics_that_its_member_may_describe(rights: Rights) -> None:
    coordinate(rights)
    rights.grant("read group g", "describe topic u")
    joined = beat(rights, subscribed_topic_regex="[tu]")
    assert joined["error_code"] == Code.NONE
    assert assigned(rights, joined["member_epoch"]) == [topic_id(rights, "u")]


def assigned(rights: Rights, epoch: int) -> list[str]:
    """Send heartbeats until partitions are assigned, and return the ids of their topics."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        answer = rights.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id=MEMBER, member_epoch=epoch)
        assert answer["error_code"] == Code.NONE
        epoch = answer["member_epoch"]
        if answer["assignment"] and answer["assignment"]["topic_partitions"]:
            return [topic["topic_id"] for topic in answer["assignment"]["topic_partitions"]]
    raise AssertionError("no partitions were assigned")


def test_group_with_a_hidden_topic_is_not_described(rights: Rights) -> None:
    coordinate(rights)
    with rights.all():
        beat(rights, subscribed_topic_names=["t"])
    rights.grant("describe group g")

    def described() -> dict[str, Any]:
        answer = rights.ask("ConsumerGroupDescribe", 0, group_ids=["g", "h"], include_authorized_operations=True)
        assert [group["group_id"] for group in answer["groups"]] == ["h", "g"]
        assert answer["groups"][0]["error_code"] == GROUP_REFUSED
        found: dict[str, Any] = answer["groups"][1]
        return found

    hidden = described()
    assert (hidden["error_code"], hidden["members"]) == (TOPIC_REFUSED, [])
    assert hidden["error_message"] == "The group has described topic(s) that the client is not authorized to describe."
    rights.grant("describe topic t")
    shown = described()
    assert (shown["error_code"], len(shown["members"])) == (Code.NONE, 1)
    assert shown["authorized_operations"] == 1 << Operation.DESCRIBE
