"""JoinGroup to a classic group: new members, rejoining members, static members and refusals."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.acting import ONE_PARTITION, RANGE, SESSION_MS, Acting
from tests.unit.model.stage import Stage

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
OTHER = {"range": b"other"}


@pytest.fixture
def group() -> Iterator[Acting]:
    stage = Stage(1, **ONE_PARTITION)
    yield Acting(stage)
    stage.close()


@pytest.fixture
def small() -> Iterator[Acting]:
    """A group of at most two members."""
    stage = Stage(1, **ONE_PARTITION | {"group.max.size": "2"})
    yield Acting(stage)
    stage.close()


def static_pair(group: Acting) -> tuple[int, str, str]:
    """Create a stable group of the static members "1" (the leader) and "2"."""
    leader = group.join(group_instance_id="1").answer()["member_id"]
    pending = group.join(group_instance_id="2")
    generation = group.join(leader, group_instance_id="1").answer()["generation_id"]
    follower = pending.answer()["member_id"]
    group.assign(generation, leader, follower)
    return generation, leader, follower


# ids


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_before_v4_member_joins_without_member_id(group: Acting, version: int) -> None:
    answer = group.join(version=version).answer()
    assert (answer["error_code"], answer["generation_id"]) == (Code.NONE, 1)
    assert re.fullmatch(f"ann-{UUID}", answer["member_id"])


@pytest.mark.parametrize("version", [4, 5, 6, 7, 8, 9])
def test_since_v4_member_has_to_rejoin_with_its_member_id(group: Acting, version: int) -> None:
    answer = group.join(version=version).answer()
    assert (answer["error_code"], answer["generation_id"], answer["members"]) == (Code.MEMBER_ID_REQUIRED, -1, [])
    assert re.fullmatch(f"ann-{UUID}", answer["member_id"])
    assert group.state == "Empty"
    assert group.join(answer["member_id"], version=version).answer()["error_code"] == Code.NONE


def test_static_member_joins_immediately_with_id_derived_from_instance_id(group: Acting) -> None:
    answer = group.join(group_instance_id="till").answer()
    assert answer["error_code"] == Code.NONE
    assert re.fullmatch(f"till-{UUID}", answer["member_id"])
    assert answer["members"][0]["group_instance_id"] == "till"


def test_reserved_member_id_expires_after_session_timeout(group: Acting) -> None:
    group.stable(rebalance_timeout_ms=60_000)
    member_id = group.given_id()
    group.stage.advance(SESSION_MS)
    assert group.join(member_id).answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_unknown_member_id_is_refused(group: Acting) -> None:
    for member_id, instance_id in (("unknown", None), ("unknown", "i")):
        answer = group.join(member_id, group_instance_id=instance_id).answer()
        assert (answer["error_code"], answer["member_id"]) == (Code.UNKNOWN_MEMBER_ID, "unknown")
    group.stable()
    assert group.join("unknown").answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_member_ids_are_unknown_after_all_members_left(group: Acting) -> None:
    _, [member] = group.stable()
    group.leave(member)
    assert group.join(member).answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_reserved_member_id_cannot_be_used_by_static_member(group: Acting) -> None:
    answer = group.join(group.given_id(), group_instance_id="i").answer()
    assert (answer["error_code"], answer["member_id"]) == (Code.UNKNOWN_SERVER_ERROR, "")


# protocols


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}, {"protocols": {"unknown": b""}}, {"protocols": {}}])
def test_member_without_common_protocol_is_refused(group: Acting, fields: dict[str, Any]) -> None:
    _, [member] = group.stable()
    for member_id in ("", member):
        answer = group.join(member_id, **fields).answer()
        assert (answer["error_code"], answer["member_id"]) == (Code.INCONSISTENT_GROUP_PROTOCOL, member_id)
    assert group.state == "Stable"


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": {}}])
def test_first_member_needs_protocol_type_and_protocol(group: Acting, fields: dict[str, Any]) -> None:
    assert group.join(**fields).answer()["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_empty_group_accepts_other_protocol_type(group: Acting) -> None:
    _, [member] = group.stable()
    group.leave(member)
    _, pending = group.enter(protocol_type="connect")
    assert pending.answer()["protocol_type"] == "connect"


def test_protocol_with_most_votes_is_chosen(group: Acting) -> None:
    both = {"range": b"r", "sticky": b"s"}
    one, _ = group.enter(protocols=both)
    two, _ = group.enter(protocols={"sticky": b"s2", "range": b"r2"})
    group.join(one, protocols=both)
    _, pending = group.enter(protocols={"sticky": b"s3", "range": b"r3"})
    group.join(two, protocols={"sticky": b"s2", "range": b"r2"})
    answer = group.join(one, protocols=both).answer()
    assert answer["protocol_name"] == pending.answer()["protocol_name"] == "sticky"
    assert [entry["metadata"] for entry in answer["members"]] == [b"s", b"s2", b"s3"]


def test_first_of_two_protocols_with_same_name_is_used(group: Acting) -> None:
    answer = group.join(version=3, protocols=[("range", b"1"), ("range", b"2")]).answer()
    assert answer["members"][0]["metadata"] == b"1"


# rejoining members


def test_follower_that_rejoins_unchanged_gets_current_generation(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    answer = group.join(follower).answer()
    assert (answer["generation_id"], answer["leader"], answer["members"]) == (generation, leader, [])
    assert group.state == "Stable"


def test_follower_that_rejoins_with_changed_metadata_starts_rebalance(group: Acting) -> None:
    _, [_, follower] = group.stable(2)
    assert group.join(follower, protocols=OTHER).is_waiting
    assert group.state == "PreparingRebalance"


def test_leader_that_rejoins_starts_rebalance(group: Acting) -> None:
    _, [leader, _] = group.stable(2)
    assert group.join(leader).is_waiting
    assert group.state == "PreparingRebalance"


def test_member_that_missed_its_response_gets_it_again(group: Acting) -> None:
    leader, pending = group.enter()
    again = group.join(leader).answer()
    assert again == pending.answer()
    assert group.state == "CompletingRebalance"


def test_rejoining_member_changes_its_session_timeout(group: Acting) -> None:
    member, _ = group.enter()
    group.join(member, protocols=OTHER, session_timeout_ms=6000)
    group.stage.advance(5999)
    assert group.state == "CompletingRebalance"
    group.stage.advance(1)
    assert group.state == "Empty"


def test_until_3_2_rejoining_member_keeps_its_timeouts() -> None:
    stage = Stage(1, version="3.2", **ONE_PARTITION)
    group = Acting(stage)
    member, _ = group.enter()
    group.join(member, protocols=OTHER, session_timeout_ms=6000)
    stage.advance(SESSION_MS - 1)
    assert group.state == "CompletingRebalance"
    stage.advance(1)
    assert group.state == "Empty"
    stage.close()


def test_v0_uses_session_timeout_as_rebalance_timeout(group: Acting) -> None:
    first = group.join(version=0).answer()["member_id"]
    pending = group.join(version=0)
    group.stage.advance(SESSION_MS - 1)
    assert pending.is_waiting
    group.stage.advance(1)
    assert pending.answer()["generation_id"] == 2
    assert first not in group.member_ids


# the size of a group


def test_full_group_refuses_new_members(small: Acting) -> None:
    small.stable(2)
    for fields in ({}, {"version": 3}, {"group_instance_id": "i"}, {"member_id": "unknown"}):
        answer = small.join(**fields).answer()
        assert (answer["error_code"], answer["member_id"]) == (Code.GROUP_MAX_SIZE_REACHED, "")


def test_members_of_full_group_can_rejoin(small: Acting) -> None:
    generation, [_, follower] = small.stable(2)
    assert small.join(follower).answer()["generation_id"] == generation


def test_last_member_to_rejoin_does_not_fit_into_full_group(small: Acting) -> None:
    generation, [leader, late] = small.stable(2)
    pending = small.join(leader)
    new, last = small.enter()
    assert small.join(late).answer()["error_code"] == Code.GROUP_MAX_SIZE_REACHED
    assert pending.answer()["generation_id"] == last.answer()["generation_id"] == generation + 1
    assert small.member_ids == [leader, new]


# static members


def test_restarted_static_follower_starts_no_rebalance(group: Acting) -> None:
    generation, leader, follower = static_pair(group)
    answer = group.join(group_instance_id="2").answer()
    assert (answer["generation_id"], answer["leader"], answer["members"]) == (generation, leader, [])
    assert not answer["skip_assignment"]
    new = answer["member_id"]
    assert new != follower
    assert group.sync(generation, new, group_instance_id="2").answer()["assignment"] == b"1"
    assert group.state == "Stable"


def test_restarted_static_leader_may_skip_assignment(group: Acting) -> None:
    generation, _, follower = static_pair(group)
    answer = group.join(group_instance_id="1").answer()
    assert (answer["generation_id"], answer["leader"]) == (generation, answer["member_id"])
    assert answer["skip_assignment"]
    assert {entry["member_id"] for entry in answer["members"]} == {answer["member_id"], follower}


def test_before_v9_restarted_static_leader_gets_old_leader_id(group: Acting) -> None:
    generation, leader, _ = static_pair(group)
    answer = group.join(version=8, group_instance_id="1").answer()
    assert (answer["generation_id"], answer["leader"], answer["members"]) == (generation, leader, [])
    assert answer["member_id"] != leader


def test_restarted_static_member_with_changed_metadata_starts_no_rebalance(group: Acting) -> None:
    generation, leader, _ = static_pair(group)
    assert group.join(group_instance_id="2", protocols=OTHER).answer()["generation_id"] == generation
    assert group.heartbeat(generation, leader) == Code.NONE


def test_restarted_static_member_that_changes_chosen_protocol_starts_rebalance(group: Acting) -> None:
    both = {"range": b"", "sticky": b""}
    leader = group.join(group_instance_id="1", protocols=both).answer()["member_id"]
    group.assign(1, leader)
    pending = group.join(group_instance_id="1", protocols={"sticky": b""})
    assert (pending.answer()["generation_id"], pending.answer()["protocol_name"]) == (2, "sticky")


def test_old_member_id_of_static_member_is_fenced(group: Acting) -> None:
    generation, _, follower = static_pair(group)
    group.join(group_instance_id="2")
    assert group.heartbeat(generation, follower, group_instance_id="2") == Code.FENCED_INSTANCE_ID
    assert group.heartbeat(generation, follower) == Code.UNKNOWN_MEMBER_ID
    assert group.commit(generation, follower, group_instance_id="2") == Code.FENCED_INSTANCE_ID
    assert group.leave({"member_id": follower, "group_instance_id": "2"}) == [Code.FENCED_INSTANCE_ID]
    synced = group.sync(generation, follower, group_instance_id="2").answer()
    assert synced["error_code"] == Code.FENCED_INSTANCE_ID
    assert group.join(follower, group_instance_id="2").answer()["error_code"] == Code.FENCED_INSTANCE_ID


def test_waiting_requests_of_replaced_static_member_are_fenced(group: Acting) -> None:
    _, leader, follower = static_pair(group)
    waiting = group.join(follower, group_instance_id="2", protocols=OTHER)
    again = group.join(group_instance_id="2", protocols=OTHER)
    assert (waiting.answer()["error_code"], waiting.answer()["member_id"]) == (Code.FENCED_INSTANCE_ID, follower)
    generation = group.join(leader, group_instance_id="1").answer()["generation_id"]
    syncing = group.sync(generation, again.answer()["member_id"], group_instance_id="2")
    group.join(group_instance_id="2", protocols=OTHER)
    assert syncing.answer()["error_code"] == Code.FENCED_INSTANCE_ID
    assert group.state == "PreparingRebalance"  # the leader has received the old id


def test_static_member_keeps_old_id_when_new_one_cannot_be_written() -> None:
    stage = Stage(3, **ONE_PARTITION | {"min.insync.replicas": "2"})
    group = Acting(stage)
    generation, leader, follower = static_pair(group)
    for node in stage.alive:
        if node != group.node:
            stage.stop_broker(node)
    answer = group.join(group_instance_id="2", protocols=OTHER).answer()
    assert (answer["error_code"], answer["member_id"]) == (Code.COORDINATOR_NOT_AVAILABLE, "")
    assert (answer["generation_id"], answer["leader"]) == (generation, leader)
    assert group.heartbeat(generation, follower, group_instance_id="2") == Code.NONE
    assert group.join(follower, group_instance_id="2", protocols=RANGE).answer()["error_code"] == Code.NONE
    stage.close()


def test_before_3_0_unknown_instance_id_is_ignored() -> None:
    stage = Stage(1, version="2.8", **ONE_PARTITION)
    group = Acting(stage)
    generation, [member] = group.stable(version=7)
    assert group.heartbeat(generation, member, group_instance_id="i") == Code.NONE
    answer = group.join(member, version=7, group_instance_id="i").answer()
    assert answer["error_code"] == Code.UNKNOWN_MEMBER_ID
    stage.close()


def test_static_member_that_restarts_twice_gets_one_response() -> None:
    stage = Stage(3, **ONE_PARTITION)
    group = Acting(stage)
    generation, _, _ = static_pair(group)
    for node in stage.alive:
        if node != group.node:
            stage.cluster._server.leadership.hold(node, None, None)
    first, last = group.join(group_instance_id="2"), group.join(group_instance_id="2")
    assert first.answer()["error_code"] == Code.FENCED_INSTANCE_ID
    assert last.is_waiting
    for node in stage.alive:
        if node != group.node:
            stage.cluster._server.leadership.release(node, None, None)
    stage.settle()
    assert last.answer()["generation_id"] == generation
    assert group.heartbeat(generation, last.answer()["member_id"], group_instance_id="2") == Code.NONE
    stage.close()


def test_assignments_are_sent_after_replication() -> None:
    stage = Stage(3, **ONE_PARTITION)
    group = Acting(stage)
    leader, pending = group.enter()
    stage.settle()
    other = group.node % 3 + 1
    stage.cluster._server.leadership.hold(other, None, None)
    waiting = group.sync(pending.answer()["generation_id"], leader, {leader: b"mine"})
    stage.settle()
    assert waiting.is_waiting
    stage.cluster._server.leadership.release(other, None, None)
    stage.settle()
    assert waiting.answer()["assignment"] == b"mine"
    stage.close()
