"""Requests to a classic group, and how it survives restarts and a change of coordinator."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.groups.classic.group import ClassicGroup, State
from kafkalet.broker.groups.group import GroupType
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.groups.acting import ONE_PARTITION, SESSION_MS, Acting, subscription
from tests.unit.model.stage import Stage


@pytest.fixture
def group() -> Iterator[Acting]:
    stage = Stage(1, **ONE_PARTITION)
    yield Acting(stage)
    stage.close()


def inside(group: Acting) -> ClassicGroup:
    """Return the coordinator's state of the group."""
    kept = (
        group.stage.cluster._server.brokers[group.node]
        .coordinators.groups.shard_of(group.group_id)
        .groups[group.group_id]
    )
    assert isinstance(kept, ClassicGroup)
    return kept


# states


def test_dead_group_cannot_rebalance(group: Acting) -> None:
    group.stable()
    dead = inside(group)
    dead.close()
    with pytest.raises(AssertionError, match="cannot change from Dead to PreparingRebalance"):
        dead.prepare_rebalance()


@pytest.mark.parametrize("state", list(State))
def test_group_in_any_state_can_be_closed(group: Acting, state: State) -> None:
    group.stable()
    closing = ClassicGroup(inside(group).shard, "other", state)
    closing.close()
    assert closing.state is State.DEAD


# requests of members


def test_assignment_can_be_fetched_again(group: Acting) -> None:
    generation, [leader] = group.stable()
    assert group.sync(generation, leader, {leader: b"other"}).answer()["assignment"] == b"0"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"generation": 0}, Code.ILLEGAL_GENERATION),
        ({"generation": 2}, Code.ILLEGAL_GENERATION),
        ({"member_id": "unknown"}, Code.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "i"}, Code.UNKNOWN_MEMBER_ID),
    ],
)
def test_wrong_generation_or_member_id_is_refused(group: Acting, fields: dict[str, Any], code: Code) -> None:
    generation, [member] = group.stable()
    asked: dict[str, Any] = {"generation": generation, "member_id": member} | fields
    assert group.sync(**asked).answer()["error_code"] == code
    assert group.heartbeat(**asked) == code
    assert group.commit(**asked) == code


def test_sync_with_wrong_protocol_is_refused(group: Acting) -> None:
    generation, [member] = group.stable()
    right: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
    for wrong in ({"protocol_type": "connect"}, {"protocol_name": "sticky"}):
        answer = group.sync(generation, member, version=5, **(right | wrong)).answer()
        assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL
    answer = group.sync(generation, member, version=5, **right).answer()
    assert (answer["protocol_type"], answer["protocol_name"], answer["assignment"]) == ("consumer", "range", b"0")


def test_sync_and_heartbeat_during_rebalance_return_rebalance_in_progress(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    group.join(leader)
    assert group.sync(generation, follower).answer()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert group.heartbeat(generation, follower) == Code.REBALANCE_IN_PROGRESS
    assert group.commit(generation, follower) == Code.NONE


def test_commit_before_assignments_returns_rebalance_in_progress(group: Acting) -> None:
    member, _ = group.enter()
    assert group.heartbeat(1, member) == Code.NONE
    assert group.commit(1, member) == Code.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("release", "code"), [("2.5", Code.REBALANCE_IN_PROGRESS), ("2.6", Code.NONE)])
def test_until_2_5_heartbeat_before_assignments_returns_rebalance_in_progress(release: str, code: Code) -> None:
    stage = Stage(1, version=release, **ONE_PARTITION)
    group = Acting(stage)
    member, _ = group.enter(version=5)
    assert group.heartbeat(1, member) == code
    stage.close()


def test_commit_to_group_with_members_requires_membership(group: Acting) -> None:
    group.stable()
    assert group.commit(-1, "") == Code.UNKNOWN_MEMBER_ID
    assert group.commit(-1, "unknown") == Code.UNKNOWN_MEMBER_ID


def test_commit_to_empty_group_requires_no_membership(group: Acting) -> None:
    generation, [member] = group.stable()
    group.leave(member)
    assert group.commit(-1, "") == Code.NONE
    assert group.commit(-1, "unknown") == Code.NONE
    assert group.commit(generation, member) == Code.UNKNOWN_MEMBER_ID


def test_several_members_leave_in_one_request(group: Acting) -> None:
    generation, [leader, one, two] = group.stable(3)
    assert group.leave(one, "unknown", two) == [Code.NONE, Code.UNKNOWN_MEMBER_ID, Code.NONE]
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    assert group.join(leader).answer()["generation_id"] == generation + 1


def test_group_is_empty_after_last_member_left(group: Acting) -> None:
    generation, [member] = group.stable()
    assert group.leave(member) == [Code.NONE]
    assert (group.state, inside(group).generation) == ("Empty", generation + 1)
    assert group.leave(member) == [Code.UNKNOWN_MEMBER_ID]


def test_static_member_can_be_removed_by_instance_id(group: Acting) -> None:
    group.join(group_instance_id="i")
    by_name = {"member_id": "", "group_instance_id": "i"}
    assert group.leave({"member_id": "", "group_instance_id": "j"}, by_name, by_name) == [
        Code.UNKNOWN_MEMBER_ID,
        Code.NONE,
        Code.UNKNOWN_MEMBER_ID,
    ]
    assert group.state == "Empty"


def test_leave_without_any_id_returns_unknown_member_id(group: Acting) -> None:
    group.stable()
    assert group.leave("") == [Code.UNKNOWN_MEMBER_ID]


def test_reserved_member_id_can_leave(group: Acting) -> None:
    generation, [leader] = group.stable()
    late = group.given_id()
    pending = group.join(leader)
    assert pending.is_waiting
    assert group.leave(late) == [Code.NONE]
    assert pending.answer()["generation_id"] == generation + 1


@pytest.mark.parametrize(("release", "code"), [("3.9", Code.NONE), ("4.4", Code.REBALANCE_IN_PROGRESS)])
def test_since_4_0_leave_of_reserved_member_id_starts_rebalance(release: str, code: Code) -> None:
    stage = Stage(1, version=release, **ONE_PARTITION)
    group = Acting(stage)
    generation, [member] = group.stable()
    assert group.leave(group.given_id()) == [Code.NONE]
    assert group.heartbeat(generation, member) == code
    stage.close()


# requests of other clients


def test_group_with_members_cannot_be_deleted(group: Acting) -> None:
    group.stable()
    with pytest.raises(KafkaError) as refused:
        inside(group).check_delete()
    assert refused.value.code == Code.NON_EMPTY_GROUP


def test_offsets_can_be_deleted_from_group_of_consumers_only(group: Acting) -> None:
    _, [member] = group.stable()
    inside(group).check_delete_offsets()
    group.leave(member)
    group.stable(protocol_type="connect")
    with pytest.raises(KafkaError) as refused:
        inside(group).check_delete_offsets()
    assert refused.value.code == Code.NON_EMPTY_GROUP


def test_group_is_subscribed_to_topics_of_all_members(group: Acting) -> None:
    one, _ = group.enter(protocols={"range": subscription("a", "b")})
    group.enter(protocols={"range": subscription("c")})
    group.join(one, protocols={"range": subscription("a", "b")})
    assert inside(group).subscribed_topics() == {"a", "b", "c"}
    assert inside(group).is_subscribed_to("c")
    assert not inside(group).is_subscribed_to("d")


def test_group_with_undecodable_subscription_counts_as_subscribed_to_all_topics(group: Acting) -> None:
    group.stable(protocols={"range": b"\0"})
    assert inside(group).subscribed_topics() is None
    assert inside(group).is_subscribed_to("anything")


def test_empty_groups_and_other_protocol_types_have_no_subscriptions(group: Acting) -> None:
    _, [member] = group.stable(protocol_type="connect")
    assert inside(group).subscribed_topics() is None
    assert not inside(group).is_subscribed_to("a")
    group.leave(member)
    _, [member] = group.stable(protocols={"range": subscription("a")})
    group.leave(member)
    assert inside(group).subscribed_topics() == set()


def test_offset_retention_starts_when_group_becomes_empty(group: Acting) -> None:
    protocols = {"range": subscription("a")}
    now_ms = group.stage.clock.now_ms
    member, _ = group.enter(protocols=protocols)
    assert inside(group).offsets_expire_since_ms(5) is None  # offsets do not expire during a rebalance
    group.assign(1, member)
    assert inside(group).offsets_expire_since_ms(5) == 5
    group.stage.advance(1000)
    group.leave(member)
    since_ms = now_ms()
    group.stage.advance(1000)
    assert inside(group).offsets_expire_since_ms(5) == since_ms


def test_offset_retention_of_group_without_members_starts_at_commit(group: Acting) -> None:
    assert group.commit(-1, "") == Code.NONE
    simple = inside(group)
    assert (simple.protocol_type, simple.type, simple.is_empty) == ("", GroupType.CLASSIC, True)
    assert simple.offsets_expire_since_ms(5) == 5


# replay


def test_restart_preserves_group_and_members(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    before = group.described()
    group.stage.restart()
    assert group.described() == before
    assert group.heartbeat(generation, leader) == Code.NONE
    assert group.sync(generation, follower).answer()["assignment"] == b"1"
    assert group.join(leader).is_waiting


def test_members_have_one_session_timeout_to_return_after_restart(group: Acting) -> None:
    generation, [leader, gone] = group.stable(2)
    group.stage.advance(SESSION_MS - 1)
    group.heartbeat(generation, leader)
    group.stage.restart()
    group.stage.advance(SESSION_MS - 1)
    assert group.member_ids == [leader, gone]
    assert group.heartbeat(generation, leader) == Code.NONE
    group.stage.advance(1)
    assert group.member_ids == [leader]


def test_restart_preserves_static_members(group: Acting) -> None:
    leader = group.join(group_instance_id="i").answer()["member_id"]
    group.assign(1, leader)
    group.stage.restart()
    answer = group.join(group_instance_id="i").answer()
    assert (answer["generation_id"], answer["skip_assignment"]) == (1, True)


def test_restart_during_rebalance_restores_last_assignments(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    group.join(leader)
    group.join(follower)
    assert group.state == "CompletingRebalance"
    group.stage.restart()
    assert group.state == "Stable"
    assert group.heartbeat(generation, follower) == Code.NONE


def test_restart_preserves_empty_group(group: Acting) -> None:
    generation, [member] = group.stable()
    group.leave(member)
    group.stage.restart()
    assert (group.state, inside(group).generation, inside(group).protocol_type) == ("Empty", generation + 1, "consumer")


def test_restart_preserves_group_with_offsets_only(group: Acting) -> None:
    group.commit(-1, "")
    group.stage.restart()
    assert (group.state, inside(group).protocol_type) == ("Empty", "")


def test_deleted_group_stays_deleted_after_restart(group: Acting) -> None:
    _, [member] = group.stable()
    group.leave(member)
    deleted = group.stage.ask(Api.DELETE_GROUPS, 2, group.node, groups_names=["g"])
    assert deleted["results"][0]["error_code"] == Code.NONE
    group.stage.restart()
    assert group.state == "Dead"


def test_group_exceeding_max_size_after_restart_rebalances(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    group.stage.config["group.max.size"] = "1"
    group.stage.restart()
    assert group.state == "PreparingRebalance"
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    pending = group.join(leader)
    assert group.join(follower).answer()["error_code"] == Code.GROUP_MAX_SIZE_REACHED
    assert pending.answer()["generation_id"] == generation + 1


def test_group_moves_to_another_broker() -> None:
    stage = Stage(3, **ONE_PARTITION)
    group = Acting(stage)
    generation, [leader, follower] = group.stable(2)
    old = group.node
    stage.stop_broker(old)
    group.node = stage.coordinator("g", 0)
    assert group.node != old
    assert group.member_ids == [leader, follower]
    assert group.heartbeat(generation, follower) == Code.NONE
    pending = group.join(leader)
    assert group.join(follower).answer()["generation_id"] == pending.answer()["generation_id"] == generation + 1
    stage.close()


def test_waiting_requests_fail_with_not_coordinator_when_group_moves() -> None:
    stage = Stage(3, **ONE_PARTITION)
    group = Acting(stage)
    generation, [leader, follower] = group.stable(2)
    joining = group.join(leader)
    stage.cluster._server.brokers[group.node].coordinators.groups.unload(0)
    assert (joining.answer()["error_code"], joining.answer()["member_id"]) == (Code.NOT_COORDINATOR, leader)
    assert group.heartbeat(generation, follower) == Code.NONE  # replayed from the log
    group.join(leader)
    group.join(follower)
    syncing = group.sync(generation + 1, follower)
    stage.cluster._server.brokers[group.node].coordinators.groups.unload(0)
    assert syncing.answer()["error_code"] == Code.NOT_COORDINATOR
    stage.close()


def test_since_4_0_new_group_is_written_immediately() -> None:
    for release, written in (("3.9", 0), ("4.4", 1)):
        stage = Stage(1, version=release, **ONE_PARTITION)
        group = Acting(stage)
        group.given_id(version=5)
        log = stage.cluster._server.nodes[1].partitions["__consumer_offsets", 0].log
        assert log.log_end_offset == written
        stage.close()


def test_until_3_9_group_without_generation_has_no_tombstone() -> None:
    for release, written in (("3.9", 0), ("4.4", 2)):
        stage = Stage(1, version=release, **ONE_PARTITION)
        group = Acting(stage)
        group.given_id(version=5)
        stage.ask(Api.DELETE_GROUPS, 2, 1, groups_names=["g"])
        assert stage.cluster._server.nodes[1].partitions["__consumer_offsets", 0].log.log_end_offset == written
        stage.close()
