"""Reconciliation of a member's assignment with its target."""

import pytest

from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.consumer.members import NOT_HELD, ConsumerMember, MemberState
from kafkalet.broker.groups.consumer.reconciliation import Step, reconcile
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

T, U = b"t" * 16, b"u" * 16
MEMBER = ConsumerMember("a", member_epoch=4, previous_member_epoch=3, assigned={T: {0: 2, 1: 4}})


def step(
    target: Assignment,
    epoch: int = 5,
    held: Assignment | None = None,
    taken: dict[int, int] | None = None,
    wanted: frozenset[bytes] = frozenset({T, U}),
    changed: bool = False,
) -> Step:
    """Create a step. `taken` maps partitions of T to the member epochs of their current owners."""
    said = None
    if held is not None:
        said = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in held.items()
        ]

    def holder_epoch(topic_id: bytes, partition: int) -> int:
        return (taken or {}).get(partition, NOT_HELD) if topic_id == T else NOT_HELD

    return Step(epoch, target, wanted, bool(wanted), holder_epoch, changed, said)


def test_free_partitions_are_assigned_immediately() -> None:
    after = reconcile(MEMBER, step({T: [0, 1, 2]}))
    assert after.assigned == {T: {0: 2, 1: 4, 2: 5}}
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (MemberState.STABLE, 5, 4)


def test_partitions_outside_target_are_revoked_first() -> None:
    after = reconcile(MEMBER, step({T: [1, 2]}))
    assert after.state == MemberState.UNREVOKED_PARTITIONS
    assert (after.assigned, after.pending_revocation) == ({T: {1: 4}}, {T: {0: 2}})
    assert after.member_epoch == 4


def test_member_keeps_epoch_until_it_has_revoked() -> None:
    before = reconcile(MEMBER, step({T: [1, 2]}))
    assert reconcile(before, step({T: [1, 2]}, held={T: [0, 1]})) is before
    assert reconcile(before, step({T: [1, 2]})) is before


def test_member_advances_after_it_has_revoked() -> None:
    before = reconcile(MEMBER, step({T: [1, 2]}))
    after = reconcile(before, step({T: [1, 2]}, held={T: [1]}))
    assert (after.state, after.member_epoch, after.assigned) == (MemberState.STABLE, 5, {T: {1: 4, 2: 5}})
    assert after.pending_revocation == {}


def test_partition_no_longer_owned_needs_no_revocation() -> None:
    after = reconcile(MEMBER, step({T: [1]}, held={T: [1]}))
    assert (after.state, after.assigned) == (MemberState.STABLE, {T: {1: 4}})


def test_partitions_of_other_members_are_awaited() -> None:
    waiting = reconcile(MEMBER, step({T: [0, 1, 2, 3]}, taken={2: 4}))
    assert waiting.state == MemberState.UNRELEASED_PARTITIONS
    assert waiting.assigned == {T: {0: 2, 1: 4, 3: 5}}
    after = reconcile(waiting, step({T: [0, 1, 2, 3]}))
    assert (after.state, after.assigned) == (MemberState.STABLE, {T: {0: 2, 1: 4, 2: 5, 3: 5}})


def test_unsubscribed_topics_are_revoked_within_epoch() -> None:
    stable = MEMBER._replace(assigned={T: {0: 2}, U: {5: 4}})
    after = reconcile(stable, step({T: [0], U: [5]}, epoch=4, wanted=frozenset({T}), changed=True))
    assert (after.state, after.member_epoch) == (MemberState.UNREVOKED_PARTITIONS, 4)
    assert (after.assigned, after.pending_revocation) == ({T: {0: 2}}, {U: {5: 4}})


def test_reconciled_member_does_not_change() -> None:
    assert reconcile(MEMBER, step({T: [0, 1]}, epoch=4)) is MEMBER


def test_member_in_unknown_state_has_to_rejoin() -> None:
    unknown = MEMBER._replace(state=MemberState.UNKNOWN, assigned={})
    with pytest.raises(KafkaError) as fenced:
        reconcile(unknown, step({T: [0]}, held={T: [0]}))
    assert fenced.value.code == Code.FENCED_MEMBER_EPOCH
    assert reconcile(unknown, step({T: [0]}, held={})).assigned == {T: {0: 5}}


def test_member_without_subscription_gets_same_epoch_again() -> None:
    stable = MEMBER._replace(assigned={})
    after = reconcile(stable, step({}, epoch=4, wanted=frozenset(), changed=True))
    assert (after.member_epoch, after.previous_member_epoch, after.assigned) == (4, 4, {})
