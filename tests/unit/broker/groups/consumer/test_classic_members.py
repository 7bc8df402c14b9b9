"""Classic members of a consumer group."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.acting import REBALANCE_MS, SESSION_MS
from tests.unit.broker.groups.consuming import AT_ONCE
from tests.unit.broker.groups.migrating import Migrating, subscription
from tests.unit.model.stage import Stage


@pytest.fixture
def migrating() -> Iterator[Migrating]:
    """A consumer group with the member "a", which is assigned all partitions."""
    stage = Stage(1, **AT_ONCE)
    stage.cluster.topic("t").create(6)
    migrating = Migrating(stage)
    migrating.consumer.join("a", "t")
    yield migrating
    stage.close()


def join_as_classic(migrating: Migrating) -> str:
    """Join as a classic member and return the member id."""
    answer = migrating.rejoin("")
    assert answer["error_code"] == Code.MEMBER_ID_REQUIRED
    member_id = str(answer["member_id"])
    answer = migrating.rejoin(member_id)
    assert (answer["error_code"], answer["protocol_type"], answer["protocol_name"]) == (0, "consumer", "range")
    assert (answer["leader"], answer["members"]) == ("", [])
    return member_id


def test_classic_member_gets_partitions_after_others_revoked_them(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    assert migrating.partitions(member_id, 3) == []
    migrating.consumer.settle()
    assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
    answer = migrating.rejoin(member_id)
    assert answer["generation_id"] == 3
    got = migrating.partitions(member_id, 3)
    assert sorted(got + migrating.consumer.owned["a"]["t"]) == [0, 1, 2, 3, 4, 5]
    assert migrating.classic.heartbeat(3, member_id) == 0


def test_classic_member_has_to_revoke_partitions_of_others(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    migrating.consumer.settle()
    migrating.rejoin(member_id)
    had = migrating.partitions(member_id, 3)
    migrating.consumer.join("b", "t")
    assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
    assert migrating.rejoin(member_id, {"t": had})["generation_id"] == 3
    kept = migrating.partitions(member_id, 3)
    assert len(kept) == 2
    assert migrating.rejoin(member_id, {"t": kept})["generation_id"] == 4


def test_wrong_generation_returns_illegal_generation(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    assert migrating.classic.heartbeat(2, member_id) == Code.ILLEGAL_GENERATION
    assert migrating.classic.sync(2, member_id).answer()["error_code"] == Code.ILLEGAL_GENERATION


def test_member_of_consumer_protocol_is_unknown_to_classic_requests(migrating: Migrating) -> None:
    assert migrating.classic.heartbeat(2, "a") == Code.UNKNOWN_MEMBER_ID
    assert migrating.classic.sync(2, "a").answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_undecodable_subscription_is_refused(migrating: Migrating) -> None:
    answer = migrating.classic.join("b", protocols={"range": b"\0"}).answer()
    assert (answer["error_code"], answer["member_id"]) == (Code.INCONSISTENT_GROUP_PROTOCOL, "")


def test_classic_members_need_common_protocol(migrating: Migrating) -> None:
    join_as_classic(migrating)
    answer = migrating.classic.join("b", protocols={"sticky": subscription("t")}).answer()
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_other_protocol_types_are_refused(migrating: Migrating) -> None:
    answer = migrating.classic.join("b", protocol_type="connect").answer()
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_session_timeout_of_join_applies(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    migrating.partitions(member_id, 3)
    migrating.stage.advance(SESSION_MS - 1)
    assert migrating.classic.heartbeat(3, member_id) == 0
    migrating.stage.advance(SESSION_MS)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_member_that_does_not_sync_in_time_is_removed(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    for _ in range(REBALANCE_MS // 5000):
        assert migrating.classic.heartbeat(3, member_id) == 0
        migrating.stage.advance(5000)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_member_that_does_not_rejoin_in_time_is_removed(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    migrating.partitions(member_id, 3)
    migrating.consumer.join("b", "t")
    for _ in range(REBALANCE_MS // 5000):
        assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
        migrating.stage.advance(5000)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_members_of_both_protocols_can_leave_with_leave_group(migrating: Migrating) -> None:
    member_id = join_as_classic(migrating)
    migrating.consumer.join("b", "t")
    assert migrating.classic.leave(member_id, "b", "unknown") == [0, 0, Code.UNKNOWN_MEMBER_ID]
    assert [member.member_id for member in migrating.group.members] == ["a"]


def test_static_member_can_be_removed_by_instance_id(migrating: Migrating) -> None:
    migrating.consumer.join("b", "t", instance_id="i")
    fenced = {"member_id": "c", "group_instance_id": "i"}
    assert migrating.classic.leave(fenced) == [Code.FENCED_INSTANCE_ID]
    assert migrating.classic.leave({"member_id": "", "group_instance_id": "i"}) == [0]


def test_classic_member_cannot_join_when_migration_is_disabled(migrating: Migrating) -> None:
    migrating.stage.cluster._server.nodes[1].config.__dict__["group_consumer_migration_policy"] = "disabled"
    assert migrating.rejoin("")["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_empty_consumer_group_becomes_classic_group(migrating: Migrating) -> None:
    migrating.consumer.leave("a")
    migrating.begin_classic()
    assert migrating.is_classic
    assert migrating.consumer.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND
    migrating.stage.restart()
    assert migrating.is_classic
