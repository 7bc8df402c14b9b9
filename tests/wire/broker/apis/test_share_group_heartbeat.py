"""ShareGroupHeartbeat: validation, rights and the feature; unit tests cover what a heartbeat changes."""

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain
from tests.wire.rights import without_rights

from .sharing import A, change_share_version, jobs

JOIN = {"group_id": "jobs", "member_id": A, "member_epoch": 0, "subscribed_topic_names": ["t"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member_id": ""}, None),
        ({"member_id": "x" * 37}, None),
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": None}, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topic_names": []}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_malformed_heartbeat_is_refused(change: Plain, message: str | None) -> None:
    with jobs() as group:
        answer = group.wire.ask("ShareGroupHeartbeat", 1, JOIN | change)
        assert (answer["error_code"], answer["error_message"]) == (Code.INVALID_REQUEST, message)


def test_long_member_id_is_accepted_in_4_1() -> None:
    with jobs("4.1") as group:
        assert change_share_version(group.wire, 1, 1) == Code.NONE
        assert group.wire.ask("ShareGroupHeartbeat", 1, JOIN | {"member_id": "x" * 37})["error_code"] == Code.NONE


def test_id_of_another_kind_of_group_is_refused() -> None:
    with jobs() as group:
        partition = {"partition_index": 0, "committed_offset": 7}
        known = {"group_id": "jobs", "generation_id_or_member_epoch": -1, "member_id": ""}
        group.wire.ask("OffsetCommit", 7, {**known, "topics": [{"name": "t", "partitions": [partition]}]})
        for epoch in (0, 1, -1):
            answer = group.beat(epoch, "t")
            assert answer["error_code"] == Code.GROUP_ID_NOT_FOUND
            assert answer["error_message"] == "Group jobs is not a share group."


def test_feature_disables_share_groups() -> None:
    with jobs() as group:
        assert change_share_version(group.wire, 0, 1) == Code.INVALID_UPDATE_VERSION
        assert change_share_version(group.wire, 0, 2) == Code.NONE
        assert group.beat(0, "t")["error_code"] == Code.UNSUPPORTED_VERSION
        assert group.describe()[0]["error_code"] == Code.UNSUPPORTED_VERSION
        assert group.offsets()["error_code"] == Code.UNSUPPORTED_VERSION
        assert group.alter({0: 1})["error_code"] == Code.UNSUPPORTED_VERSION
        assert group.delete("t")["error_code"] == Code.UNSUPPORTED_VERSION
        assert change_share_version(group.wire, 2, 1) == Code.NONE
        assert group.beat(0, "t")["error_code"] == Code.NONE


@pytest.mark.parametrize(("version", "is_enabled"), [("4.1", False), ("4.2", True), ("4.3", True), ("4.4", True)])
def test_share_groups_are_enabled_since_4_2(version: str, is_enabled: bool) -> None:
    with jobs(version) as group:
        assert (group.beat(0, "t")["error_code"] == Code.NONE) is is_enabled


def test_member_needs_rights_to_group_and_topics() -> None:
    with without_rights() as client:
        assert client.ask("ShareGroupHeartbeat", 1, **JOIN)["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        client.grant("read group jobs")
        assert client.ask("ShareGroupHeartbeat", 1, **JOIN)["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
        client.grant("describe topic t", "describe group jobs")
        client.ask("FindCoordinator", 3, key="jobs", key_type=0)
        assert client.ask("ShareGroupHeartbeat", 1, **JOIN)["error_code"] == Code.NONE
