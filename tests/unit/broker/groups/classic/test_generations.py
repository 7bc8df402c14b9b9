"""How a classic group comes from one generation to the next: who is waited for, and how long."""

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
    """Let time pass for a member that sends heartbeats."""
    while ms > 0:
        step = min(ms, HALF_SESSION_MS)
        group.stage.advance(step)
        group.heartbeat(generation, member)
        ms -= step


def test_the_first_member_alone_is_a_generation_at_once(group: Acting) -> None:
    member, pending = group.enter()
    answer = pending.answer()
    assert (answer["generation_id"], answer["leader"], answer["member_id"]) == (1, member, member)
    assert [(entry["member_id"], entry["metadata"]) for entry in answer["members"]] == [(member, b"r")]
    assert group.state == "CompletingRebalance"


def test_a_new_member_waits_until_the_others_join_again(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, pending = group.enter()
    assert pending.is_waiting
    assert group.state == "PreparingRebalance"
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    answer = group.join(leader).answer()
    assert answer["generation_id"] == generation + 1
    assert [entry["member_id"] for entry in answer["members"]] == [leader, follower]
    told = pending.answer()
    assert (told["generation_id"], told["leader"], told["members"]) == (generation + 1, leader, [])


def test_followers_wait_for_the_assignments_of_the_leader(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    assert waiting.is_waiting
    assert group.sync(generation + 1, leader, {leader: b"l", follower: b"f"}).answer()["assignment"] == b"l"
    group.stage.settle()
    assert waiting.answer()["assignment"] == b"f"
    assert group.state == "Stable"


def test_the_leader_is_assigned_its_partitions_before_its_followers(group: Acting) -> None:
    """Followers that go on at once do not overtake a leader in the same process."""
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    answer = group.sync(generation + 1, leader, {leader: b"l", follower: b"f"})
    assert not answer.is_waiting
    assert waiting.is_waiting
    group.stage.settle()
    assert not waiting.is_waiting


def test_who_is_assigned_nothing_gets_nothing(group: Acting) -> None:
    generation, [leader] = group.stable()
    follower, _ = group.enter()
    group.join(leader)
    waiting = group.sync(generation + 1, follower)
    group.sync(generation + 1, leader, {"somebody else": b"x"})
    group.stage.settle()
    assert (waiting.answer()["error_code"], waiting.answer()["assignment"]) == (Code.NONE, b"")


def test_who_does_not_join_again_in_time_is_out(group: Acting) -> None:
    generation, [leader, late] = group.stable(2)
    pending = group.join(leader)
    stay_alive(group, generation, late, REBALANCE_MS)
    assert pending.answer()["generation_id"] == generation + 1
    assert group.member_ids == [leader]
    assert group.heartbeat(generation, late) == Code.UNKNOWN_MEMBER_ID


def test_where_the_leader_is_late_another_leads(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    stay_alive(group, generation, leader, REBALANCE_MS)
    assert pending.answer()["leader"] == follower


def test_the_most_patient_member_sets_the_rebalance_timeout(group: Acting) -> None:
    impatient, pending = group.enter(rebalance_timeout_ms=1000)
    generation = pending.answer()["generation_id"]
    _, waiting = group.enter(rebalance_timeout_ms=7000)
    group.stage.advance(6900)
    assert waiting.is_waiting
    group.stage.advance(100)
    assert waiting.answer()["generation_id"] == generation + 1
    assert impatient not in group.member_ids


def test_static_members_are_not_dropped_when_they_are_late(group: Acting) -> None:
    static = group.join(group_instance_id="i").answer()["member_id"]
    dynamic, pending = group.enter()
    stay_alive(group, 1, static, REBALANCE_MS)
    assert pending.answer()["leader"] == dynamic
    assert group.member_ids == [static, dynamic]


def test_while_nobody_joins_a_rebalance_of_static_members_goes_on(group: Acting) -> None:
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


def test_a_member_without_a_sign_of_life_is_out(group: Acting) -> None:
    generation, [leader, silent] = group.stable(2)
    stay_alive(group, generation, leader, HALF_SESSION_MS)
    assert group.member_ids == [leader, silent]
    stay_alive(group, generation, leader, HALF_SESSION_MS)
    assert group.member_ids == [leader]
    assert group.heartbeat(generation, leader) == Code.REBALANCE_IN_PROGRESS
    assert group.join(leader).answer()["generation_id"] == generation + 1


def test_with_its_last_member_a_group_becomes_empty(group: Acting) -> None:
    generation, [member] = group.stable()
    group.stage.advance(SESSION_MS)
    assert group.state == "Empty"
    assert group.heartbeat(generation, member) == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("sign", ["heartbeat", "commit", "sync"])
def test_every_sign_of_life_prolongs_the_session(group: Acting, sign: str) -> None:
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


def test_a_member_that_waits_to_join_needs_no_heartbeats(group: Acting) -> None:
    generation, [leader, other] = group.stable(2)
    pending = group.join(leader)
    stay_alive(group, generation, other, 2 * SESSION_MS)
    assert pending.is_waiting
    assert leader in group.member_ids


def test_a_new_member_waits_for_five_minutes_at_most(group: Acting) -> None:
    generation, [leader] = group.stable(rebalance_timeout_ms=600_000)
    new, pending = group.enter(rebalance_timeout_ms=600_000)
    stay_alive(group, generation, leader, 299_000)
    assert pending.is_waiting
    stay_alive(group, generation, leader, 1000)
    assert (pending.answer()["error_code"], pending.answer()["member_id"]) == (Code.UNKNOWN_MEMBER_ID, "")
    assert group.member_ids == [leader]
    assert new != leader


def test_an_id_that_was_given_out_is_waited_for_until_its_session_ends(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    late = group.given_id(session_timeout_ms=8000)
    pending = [group.join(leader), group.join(follower)]
    group.stage.advance(7999)
    assert all(waiting.is_waiting for waiting in pending)
    group.stage.advance(1)
    assert [waiting.answer()["generation_id"] for waiting in pending] == [generation + 1] * 2
    assert group.join(late).answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_a_change_while_assignments_are_awaited_sends_all_back(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    group.join(leader)
    generation = pending.answer()["generation_id"]
    waiting = group.sync(generation, follower)
    group.join(leader, protocols=OTHER)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert group.sync(generation, leader).answer()["error_code"] == Code.REBALANCE_IN_PROGRESS


def test_who_does_not_fetch_its_assignment_in_time_is_out(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower, protocols=OTHER)
    group.join(leader)
    generation = pending.answer()["generation_id"]
    waiting = group.sync(generation, follower)
    stay_alive(group, generation, leader, REBALANCE_MS)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert group.member_ids == [follower]
    assert group.join(follower).answer()["leader"] == follower


def test_members_that_leave_while_others_join_are_not_waited_for(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    pending = group.join(leader)
    assert group.leave(follower) == [Code.NONE]
    assert [entry["member_id"] for entry in pending.answer()["members"]] == [leader]
    assert pending.answer()["generation_id"] == generation + 1


def test_a_member_that_leaves_while_it_waits_is_told_so(group: Acting) -> None:
    _, [leader] = group.stable()
    new, pending = group.enter()
    assert group.leave(new) == [Code.NONE]
    assert pending.answer()["error_code"] == Code.UNKNOWN_MEMBER_ID
    assert group.member_ids == [leader]


def test_a_member_that_leaves_while_it_waits_for_its_assignment_is_told_so(group: Acting) -> None:
    generation, [leader, follower] = group.stable(2)
    group.join(leader)
    group.join(follower)
    waiting = group.sync(generation + 1, follower)
    group.leave(follower)
    assert waiting.answer()["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_the_group_that_began_with_a_delay_does_not_end_it_early(stage: Stage) -> None:
    patient = Stage(1, **ONE_PARTITION | {"group.initial.rebalance.delay.ms": "3000"})
    group = Acting(patient)
    one = group.join(version=3)
    other = group.join(version=3)
    patient.advance(2999)
    assert one.is_waiting
    patient.advance(3001)
    assert len(one.answer()["members"] + other.answer()["members"]) == 2
    patient.close()


def test_a_generation_that_cannot_be_written_begins_anew() -> None:
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


def test_a_client_that_asks_again_from_its_answer_meets_a_finished_change(group: Acting) -> None:
    """Answers are given when the change is done, one after the other."""
    generation, [leader, follower] = group.stable(2)
    pending = group.join(follower)
    assert pending.answer()["generation_id"] == generation  # without news it learns what is the case
    waiting = group.join(leader)
    states: list[str] = []
    waiting._answer.then(lambda answer: states.append(group.state))
    group.join(follower, protocols=RANGE)
    assert states == ["CompletingRebalance"]


def test_two_hundred_members_come_to_a_generation(group: Acting) -> None:
    ids = [group.given_id() for _ in range(200)]
    first = group.join(ids[0]).answer()
    assert first["generation_id"] == 1
    others = [group.join(member) for member in ids[1:]]
    leader = group.join(ids[0]).answer()
    assert (leader["generation_id"], len(leader["members"])) == (2, 200)
    assert {pending.answer()["generation_id"] for pending in others} == {2}
    group.assign(2, *ids)
    assert group.state == "Stable"
