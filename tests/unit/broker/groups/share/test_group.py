from kafkalet.broker.groups.share.records import KEYS
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.sharing import Sharing

A, B = "a" * 22, "b" * 22


def log_of(sharing: Sharing) -> list[tuple[int, bool]]:
    """Return the type of each record of the group's log, and whether it has a value."""
    return [
        (int.from_bytes(bytes(record.key or b"")[:2], "big"), record.value is not None)
        for _, records in sharing.group.shard.log.read()
        for record in records
    ]


def test_first_heartbeats_write_records_in_the_order_of_kafka(sharing: Sharing) -> None:
    sharing.join(A)
    assert log_of(sharing) == [(10, True), (11, True), (13, True), (12, True), (14, True), (15, True), (15, True)]
    sharing.beat(A)
    assert log_of(sharing)[7:] == [(11, True), (13, True), (12, True), (14, True)]


def test_leaving_member_is_deleted_before_the_new_epoch(sharing: Sharing) -> None:
    sharing.share(A)
    known = len(log_of(sharing))
    sharing.send(A, -1)
    assert log_of(sharing)[known:] == [(14, False), (13, False), (10, False), (11, True), (12, True)]


def test_deletion_of_group_leaves_only_tombstones(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.send(A, -1)
    known, shard = len(log_of(sharing)), sharing.group.shard
    answer = sharing.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])
    assert answer["results"][0]["error_code"] == 0
    assert "g" not in shard.groups
    written = [
        (int.from_bytes(bytes(record.key or b"")[:2], "big"), record.value is not None)
        for _, records in shard.log.read()
        for record in records
    ]
    assert written[known:] == [(15, True), (12, False), (15, False), (11, False)]


def test_group_is_the_same_after_a_restart(sharing: Sharing) -> None:
    sharing.share(A, B)
    before, states = sharing.describe(), sharing.group.states
    sharing.stage.restart()
    assert sharing.describe() == before
    after = sharing.group.states
    assert states is not None
    assert after is not None
    assert after.assignable == states.assignable
    assert sharing.beat(A) == sharing.assigned[A]


def test_sessions_begin_again_after_a_restart(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.stage.advance(30_000)
    sharing.stage.restart()
    sharing.stage.advance(44_000)
    assert sharing.describe()["group_state"] == "Stable"
    sharing.stage.advance(1000)
    assert sharing.describe()["group_state"] == "Empty"


def test_deleted_group_does_not_return_after_a_restart(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.send(A, -1)
    sharing.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])
    sharing.stage.restart()
    assert sharing.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND


def test_group_with_members_cannot_be_deleted(sharing: Sharing) -> None:
    sharing.share(A)
    answer = sharing.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])
    assert answer["results"][0]["error_code"] == Code.NON_EMPTY_GROUP
    assert sharing.offsets() == {("t", 0): -1, ("t", 1): -1, ("t", 2): -1}


def test_empty_group_never_expires(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.send(A, -1)
    sharing.stage.advance(8 * 24 * 3600 * 1000 // 60)
    sharing.stage.clock.advance(milliseconds=8 * 24 * 3600 * 1000)
    sharing.stage.settle()
    assert sharing.describe()["group_state"] == "Empty"


def test_deleted_topic_is_forgotten(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.stage.cluster.topic("t").delete()
    assert sharing.group.states is not None
    assert sharing.group.states.assignable == {}
    assert sharing.beat(A) == {}


def test_described_member_has_its_subscription_and_assignment(sharing: Sharing) -> None:
    sharing.join(A, "t", "none", rack_id="r")
    sharing.beat(A)
    [member] = sharing.describe()["members"]
    assert member["assignment"]["topic_partitions"][0]["topic_name"] == "t"
    del member["assignment"]
    assert member == {
        "member_id": A,
        "rack_id": "r",
        "member_epoch": 3,
        "client_id": "ann",
        "client_host": "/127.0.0.1",
        "subscribed_topic_names": ["t", "none"],
    }


def test_classic_protocol_is_refused(sharing: Sharing) -> None:
    sharing.share(A)
    known = {"group_id": "g", "member_id": ""}
    joined = sharing.ask(
        Api.JOIN_GROUP,
        5,
        **known,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b""}],
    )
    assert joined["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL
    assert sharing.ask(Api.HEARTBEAT, 4, group_id="g", generation_id=1, member_id=A)["error_code"] == 25
    left = sharing.ask(Api.LEAVE_GROUP, 5, group_id="g", members=[{"member_id": A}])
    assert [left["error_code"], left["members"][0]["error_code"]] == [0, Code.UNKNOWN_MEMBER_ID]


def test_consumer_group_does_not_take_the_id_even_if_the_share_group_is_empty(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.send(A, -1)
    answer = sharing.ask(
        Api.CONSUMER_GROUP_HEARTBEAT,
        1,
        group_id="g",
        member_id=A,
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert answer["error_code"] == Code.GROUP_ID_NOT_FOUND
    assert answer["error_message"] == "Group g is not a consumer group."


def test_key_versions_of_records_are_those_of_kafka() -> None:
    assert {version: types[0].__name__ for version, types in KEYS.items()} == {
        10: "ShareGroupMemberMetadataKey",
        11: "ShareGroupMetadataKey",
        12: "ShareGroupTargetAssignmentMetadataKey",
        13: "ShareGroupTargetAssignmentMemberKey",
        14: "ShareGroupCurrentMemberAssignmentKey",
        15: "ShareGroupStatePartitionMetadataKey",
    }
