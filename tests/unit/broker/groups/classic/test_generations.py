"""Rebalances of a classic group: which members it waits for, and how long."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.acting import ONE_PARTITION, RANGE, REBALANCE_MS, SESSION_MS, Acting
from tests.unit.model.stage import Stage

HALF_SESSION_MS = SESSION_MS // 2
OTHER = {"range": b"other"}


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(1, **ONE_PARTITION)
    yield stage
    stage.close()


@pytest.fixture
def group(stage: Stage) -> Acting:
    return Acting(stage)


def stay_alive(group: Acting, generation: int, member: str, ms: int) -> None:
    """Advance the clock while a member sends heartbeats."""
    while ms > 0:
        step = min(ms, HALF_SESSION_MS)
        group.stage.advance(step)
        group.heartbeat(generation, member)
        ms -= step


def test_first_member_alone_starts_generation_immediately(group: Acting) -> None:
    member, pending = group.enter()
    answer = pending.answer()
    assert (answer["generation_id"], answer["leader"], answer["member_id"]) == (1, member, member)
    assert [(entry["member_id"], entry["metadata"]) for entry in answer["members"]] == [(member, b"r")]
    assert group.state == "CompletingRebalance"


def test_new_member_waits_until_others_rejoin(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, pending = group.enter()
    assert pending.is_waiting
    assert group.state == "PreparingRebalance"
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    answer = group.join(leader).answer()
    assert answer["generation_id"] == generation + 1
    assert [entry["member_id"] for entry in answer["members"]] == [leader, follower]
    result = pending.answer()
    assert (result["generation_id"], result["leader"], result["members"]) == (generation + 1, leader, [])


def test_followers_wait_for_assignments_from_leader(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    assert waiting.is_waiting
    assert group.sync(generation + 1, leader, {leader: b"l", follower: b"f"}).answer()["assignment"] == b"l"
    group.stage.settle()
    assert waiting.answer()["assignment"] == b"f"
    assert group.state == "Stable"


def test_leader_gets_assignment_before_followers(group: Acting) -> None:
    """Thus followers that continue immediately cannot overtake a leader in the same process."""
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    answer = group.sync(generation + 1, leader, {leader: b"l", follower: b"f"})
    assert not answer.is_waiting
    assert waiting.is_waiting
    group.stage.settle()
    assert not waiting.is_waiting


def test_member_missing_from_assignments_gets_empty_assignment(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    group.sync(generation + 1, leader, {"unknown": b"x"})
    group.stage.settle()
    assert (waiting.answer()["error_code"], waiting.answer()["assignment"]) == (Code.NONE, b"")


def test_member_that_misses_rebalance_timeout_is_removed(group: Acting) -> None:
    generation, [leader, late] = group.stable(2)
    pending = group.join(leader)
    stay_alive(group, generation, late, REBALANCE_MS)
    assert pending.answer()["generation_id"] == generation + 1
    assert group.member_ids == [leader]
    assert group.heartbeat(generation, late) == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("release", "state"), [("2.7", "CompletingRebalance"), ("2.8", "Empty")])
def test_member_that_sends_no_sync_is_removed_since_2_8(release: str, state: str) -> None:
    stage = Stage(1, version=release, **ONE_PARTITION)
    group = Acting(stage)
    group.enter(session_timeout_ms=SESSION_MS, rebalance_timeout_ms=HALF_SESSION_MS)
    stage.advance(HALF_SESSION_MS)
    assert group.state == state
    stage.close()


def test_late_leader_is_replaced(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    stay_alive(group, generation, leader, REBALANCE_MS)
    assert pending.answer()["leader"] == follower


def test_longest_rebalance_timeout_of_members_applies(group: Acting) -> None:
    impatient, pending = group.enter(rebalance_timeout_ms=1000)
    generation = pending.answer()["generation_id"]
    _, waiting = group.enter(rebalance_timeout_ms=7000)
    group.stage.advance(6900)
    assert waiting.is_waiting
    group.stage.advance(100)
    assert waiting.answer()["generation_id"] == generation + 1
    assert impatient not in group.member_ids


def test_late_static_member_is_not_removed(group: Acting) -> None:
    static = group.join(group_instance_id="i").answer()["member_id"]
    dynamic, pending = group.enter()
    stay_alive(group, 1, static, REBALANCE_MS)
    assert pending.answer()["leader"] == dynamic
    assert group.member_ids == [static, dynamic]


def test_rebalance_of_static_members_lasts_until_one_joins(group: Acting) -> None:
    one = group.join(group_instance_id="1").answer()["member_id"]
    pending = group.join(group_instance_id="2")
    two = group.join(one, group_instance_id="1").answer()["members"][1]["member_id"]
    assert pending.answer()["member_id"] == two
    gone, _ = group.enter()
    assert group.leave(gone) == [Code.NONE]
    for _ in range(4):
        stay_alive(group, 2, one, HALF_SESSION_MS)
        assert group.heartbeat(2, two) == Code.REBALANCE_IN_PROGRESS
    group.stage.advance(REBALANCE_MS)
    assert group.state == "Empty"


def test_member_without_heartbeats_is_removed_after_session_timeout(group: Acting) -> None:
    generation, [leader, silent] = group.stable(2)
    stay_alive(group, generation, leader, HALF_SESSION_MS)
    assert group.member_ids == [leader, silent]
    stay_alive(group, generation, leader, HALF_SESSION_MS)
    assert group.member_ids == [leader]
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    assert group.join(leader).answer()["generation_id"] == generation + 1


def test_group_is_empty_after_session_timeout_of_last_member(group: Acting) -> None:
    generation, [member] = group.stable()
    group.stage.advance(SESSION_MS)
    assert group.state == "Empty"
    assert group.heartbeat(generation, member) == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("sign", ["heartbeat", "commit", "sync"])
def test_heartbeat_commit_and_sync_extend_session(group: Acting, sign: str) -> None:
    generation, [member] = group.stable()
    for _ in range(3):
        group.stage.advance(SESSION_MS - 1)
        if sign == "heartbeat":
            assert group.heartbeat(generation, member) == Code.NONE
        elif sign == "commit":
            assert group.commit(generation, member) == Code.NONE
        else:
            assert group.sync(generation, member).answer()["error_code"] == Code.NONE
    assert group.state == "Stable"


def test_member_waiting_to_join_needs_no_heartbeats(group: Acting) -> None:
    generation, [leader, other] = group.stable(2)
    pending = group.join(leader)
    stay_alive(group, generation, other, 2 * SESSION_MS)
    assert pending.is_waiting
    assert leader in group.member_ids


def test_new_member_waits_for_five_minutes_at_most(group: Acting) -> None:
    generation, [leader] = group.stable(rebalance_timeout_ms=600_000)
    new, pending = group.enter(rebalance_timeout_ms=600_000)
    stay_alive(group, generation, leader, 299_000)
    assert pending.is_waiting
    stay_alive(group, generation, leader, 1000)
    assert (pending.answer()["error_code"], pending.answer()["member_id"]) == (Code.UNKNOWN_MEMBER_ID, "")
    assert group.member_ids == [leader]
    assert new != leader


def test_rebalance_waits_for_reserved_member_id_until_its_session_timeout(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    late = group.given_id(session_timeout_ms=8000)
    pending = [group.join(leader), group.join(follower)]
    group.stage.advance(7999)
    assert all(waiting.is_waiting for waiting in pending)
    group.stage.advance(1)
    assert [waiting.answer()["generation_id"] for waiting in pending] == [generation + 1] * 2
    assert group.join(late).answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_rebalance_before_assignments_fails_waiting_syncs(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    group.join(leader)
    generation = pending.answer()["generation_id"]
    waiting = group.sync(generation, follower)
    group.join(leader, protocols=OTHER)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert group.sync(generation, leader).answer()["error_code"] == Code.REBALANCE_IN_PROGRESS


def test_member_that_does_not_sync_in_time_is_removed(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    group.join(leader)
    generation = pending.answer()["generation_id"]
    waiting = group.sync(generation, follower)
    stay_alive(group, generation, leader, REBALANCE_MS)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert group.member_ids == [follower]
    assert group.join(follower).answer()["leader"] == follower


def test_rebalance_does_not_wait_for_member_that_left(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(leader)
    assert group.leave(follower) == [Code.NONE]
    assert [entry["member_id"] for entry in pending.answer()["members"]] == [leader]
    assert pending.answer()["generation_id"] == generation + 1


def test_leaving_member_gets_unknown_member_id_for_waiting_join(group: Acting) -> None:
    _, [leader] = group.stable()
    new, pending = group.enter()
    assert group.leave(new) == [Code.NONE]
    assert pending.answer()["error_code"] == Code.UNKNOWN_MEMBER_ID
    assert group.member_ids == [leader]


def test_leaving_member_gets_unknown_member_id_for_waiting_sync(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    group.join(leader)
    group.join(follower)
    waiting = group.sync(generation + 1, follower)
    group.leave(follower)
    assert waiting.answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_initial_delay_is_not_ended_early_by_second_member(stage: Stage) -> None:
    patient = Stage(1, **ONE_PARTITION | {"group.initial.rebalance.delay.ms": "3000"})
    group = Acting(patient)
    one = group.join(version=3)
    other = group.join(version=3)
    patient.advance(2999)
    assert one.is_waiting
    patient.advance(3001)
    assert len(one.answer()["members"] + other.answer()["members"]) == 2
    patient.close()


def test_generation_that_cannot_be_written_is_followed_by_rebalance() -> None:
    stage = Stage(3, **ONE_PARTITION | {"min.insync.replicas": "2"})
    group = Acting(stage)
    generation, [leader, follower] = group.stable(2)
    pending = group.join(leader)
    group.join(follower)
    for node in stage.alive:
        if node != group.node:
            stage.stop_broker(node)
    waiting = group.sync(pending.answer()["generation_id"], follower)
    answer = group.sync(generation + 1, leader, {leader: b"l", follower: b"f"})
    assert answer.answer()["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
    stage.settle()
    assert waiting.answer()["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
    assert group.state == "PreparingRebalance"
    stage.close()


def test_response_is_sent_after_change_is_complete(group: Acting) -> None:
    """Responses are sent one after the other once the change is complete."""
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower)
    assert pending.answer()["generation_id"] == generation  # a rejoin without changes returns the current generation
    waiting = group.join(leader)
    states: list[str] = []
    waiting._answer.then(lambda answer: states.append(group.state))
    group.join(follower, protocols=RANGE)
    assert states == ["CompletingRebalance"]


def test_two_hundred_members_form_generation(group: Acting) -> None:
    ids = [group.given_id() for _ in range(200)]
    first = group.join(ids[0]).answer()
    assert first["generation_id"] == 1
    others = [group.join(member) for member in ids[1:]]
    leader = group.join(ids[0]).answer()
    assert (leader["generation_id"], len(leader["members"])) == (2, 200)
    assert {pending.answer()["generation_id"] for pending in others} == {2}
    group.assign(2, *ids)
    assert group.state == "Stable"
