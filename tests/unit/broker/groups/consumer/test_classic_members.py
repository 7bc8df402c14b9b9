"""Members of the classic protocol in a consumer group."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.acting import REBALANCE_MS, SESSION_MS
from tests.unit.broker.groups.consuming import AT_ONCE
from tests.unit.broker.groups.migrating import Migrating, subscription
from tests.unit.model.stage import Stage


@pytest.fixture
def migrating() -> Iterator[Migrating]:
    """A consumer group with the member "a", which has all partitions."""
    stage = Stage(1, **AT_ONCE)
    stage.cluster.create_topic("t", 6)
    migrating = Migrating(stage)
    migrating.consumer.join("a", "t")
    yield migrating
    stage.close()


def come_in(migrating: Migrating) -> str:
    """A classic member joins; its id."""
    answer = migrating.rejoin("")
    assert answer["error_code"] == Code.MEMBER_ID_REQUIRED
    member_id = str(answer["member_id"])
    answer = migrating.rejoin(member_id)
    assert (answer["error_code"], answer["protocol_type"], answer["protocol_name"]) == (0, "consumer", "range")
    assert (answer["leader"], answer["members"]) == ("", [])
    return member_id


def test_a_classic_member_gets_its_share_when_others_have_given_it_back(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    assert migrating.partitions(member_id, 3) == []
    migrating.consumer.settle()
    assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
    answer = migrating.rejoin(member_id)
    assert answer["generation_id"] == 3
    got = migrating.partitions(member_id, 3)
    assert sorted(got + migrating.consumer.owned["a"]["t"]) == [0, 1, 2, 3, 4, 5]
    assert migrating.classic.heartbeat(3, member_id) == 0


def test_it_has_to_give_back_what_others_get(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    migrating.consumer.settle()
    migrating.rejoin(member_id)
    had = migrating.partitions(member_id, 3)
    migrating.consumer.join("b", "t")
    assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
    assert migrating.rejoin(member_id, {"t": had})["generation_id"] == 3
    kept = migrating.partitions(member_id, 3)
    assert len(kept) == 2
    assert migrating.rejoin(member_id, {"t": kept})["generation_id"] == 4


def test_a_generation_that_is_not_its_epoch_is_illegal(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    assert migrating.classic.heartbeat(2, member_id) == Code.ILLEGAL_GENERATION
    assert migrating.classic.sync(2, member_id).answer()["error_code"] == Code.ILLEGAL_GENERATION


def test_a_member_of_the_other_protocol_is_unknown_to_this_one(migrating: Migrating) -> None:
    assert migrating.classic.heartbeat(2, "a") == Code.UNKNOWN_MEMBER_ID
    assert migrating.classic.sync(2, "a").answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_who_brings_what_is_no_subscription_is_refused(migrating: Migrating) -> None:
    answer = migrating.classic.join("b", protocols={"range": b"\0"}).answer()
    assert (answer["error_code"], answer["member_id"]) == (Code.INCONSISTENT_GROUP_PROTOCOL, "")


def test_classic_members_have_to_have_a_protocol_in_common(migrating: Migrating) -> None:
    come_in(migrating)
    answer = migrating.classic.join("b", protocols={"sticky": subscription("t")}).answer()
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_other_types_of_members_are_refused(migrating: Migrating) -> None:
    answer = migrating.classic.join("b", protocol_type="connect").answer()
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_its_session_is_the_one_it_has_asked_for(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    migrating.partitions(member_id, 3)
    migrating.stage.advance(SESSION_MS - 1)
    assert migrating.classic.heartbeat(3, member_id) == 0
    migrating.stage.advance(SESSION_MS)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_it_has_to_sync_in_time(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    for _ in range(REBALANCE_MS // 5000):
        assert migrating.classic.heartbeat(3, member_id) == 0
        migrating.stage.advance(5000)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_it_has_to_join_again_in_time(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    migrating.partitions(member_id, 3)
    migrating.consumer.join("b", "t")
    for _ in range(REBALANCE_MS // 5000):
        assert migrating.classic.heartbeat(3, member_id) == Code.REBALANCE_IN_PROGRESS
        migrating.stage.advance(5000)
    assert migrating.classic.heartbeat(3, member_id) == Code.UNKNOWN_MEMBER_ID


def test_members_of_both_protocols_leave_by_leave_group(migrating: Migrating) -> None:
    member_id = come_in(migrating)
    migrating.consumer.join("b", "t")
    assert migrating.classic.leave(member_id, "b", "nobody") == [0, 0, Code.UNKNOWN_MEMBER_ID]
    assert [member.member_id for member in migrating.group.members] == ["a"]


def test_static_members_leave_by_their_names(migrating: Migrating) -> None:
    migrating.consumer.join("b", "t", instance_id="i")
    fenced = {"member_id": "c", "group_instance_id": "i"}
    assert migrating.classic.leave(fenced) == [Code.FENCED_INSTANCE_ID]
    assert migrating.classic.leave({"member_id": "", "group_instance_id": "i"}) == [0]


def test_with_migration_turned_off_nobody_comes_in(migrating: Migrating) -> None:
    migrating.stage.cluster.server.nodes[1].config.__dict__["group_consumer_migration_policy"] = "disabled"
    assert migrating.rejoin("")["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_consumer_group_becomes_a_classic_one(migrating: Migrating) -> None:
    migrating.consumer.leave("a")
    migrating.begin_classic()
    assert migrating.is_classic
    assert migrating.consumer.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND
    migrating.stage.restart()
    assert migrating.is_classic
