"""ShareAcknowledge: which acknowledgements are accepted."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.members import ACCEPT, REJECT, RELEASE, RENEW, Jobs, Member, Range, jobs, partition_of


@pytest.fixture
def group() -> Iterator[Jobs]:
    with jobs() as opened:
        opened.write(10)
        yield opened


@pytest.fixture
def member(group: Jobs) -> Member:
    """A member that has acquired ten records."""
    alice = group.member()
    assert alice.fetch() == [(0, 9, 1)]
    return alice


def test_accepted_and_rejected_records_are_not_delivered_again(member: Member) -> None:
    assert member.acknowledge((0, 4, ACCEPT), (5, 9, REJECT)) is Code.NONE
    assert member.fetch() == []
    assert member.last["acquisition_lock_timeout_ms"] == 30_000


def test_released_records_are_delivered_again(member: Member) -> None:
    assert member.acknowledge((0, 3, [ACCEPT, RELEASE, ACCEPT, RELEASE])) is Code.NONE
    assert member.fetch() == [(1, 1, 2), (3, 3, 2)]


@pytest.mark.parametrize(
    "ranges",
    [
        [(5, 3, ACCEPT)],
        [(0, 4, ACCEPT), (3, 9, ACCEPT)],
        [(5, 9, ACCEPT), (0, 4, ACCEPT)],
        [(0, 9, [])],
        [(0, 9, [ACCEPT, ACCEPT])],
        [(0, 1, [ACCEPT, ACCEPT, ACCEPT])],
        [(0, 9, 5)],
        [(0, 9, -1)],
        [(0, 9, RENEW)],
        [(0, 4, ACCEPT), (9, 8, ACCEPT)],
        [(0, 20, ACCEPT)],
    ],
)
def test_nothing_is_applied_if_any_range_is_not_valid(member: Member, ranges: list[Range]) -> None:
    assert member.acknowledge(*ranges) is Code.INVALID_REQUEST
    assert member.acknowledge((0, 9, ACCEPT)) is Code.NONE


def test_records_of_another_member_cannot_be_acknowledged(group: Jobs, member: Member) -> None:
    bob = group.member("bob")
    bob.fetch()
    assert bob.acknowledge((0, 9, ACCEPT)) is Code.INVALID_RECORD_STATE
    assert partition_of(bob.last)["error_message"] == "Member is not the owner of batch record"


def test_the_epoch_has_to_be_that_of_the_session(member: Member) -> None:
    assert member.acknowledge((0, 9, ACCEPT), epoch=0) is Code.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 9, ACCEPT), epoch=5) is Code.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 9, ACCEPT), epoch=1) is Code.NONE


def test_the_last_request_of_a_session_releases_what_is_left(group: Jobs, member: Member) -> None:
    assert member.acknowledge((0, 4, ACCEPT), epoch=-1) is Code.NONE
    assert group.member("bob").fetch() == [(5, 9, 2)]
    assert member.acknowledge((5, 9, ACCEPT), epoch=2) is Code.SHARE_SESSION_NOT_FOUND


def test_locks_are_renewed_in_a_request_that_says_so(member: Member) -> None:
    assert member.acknowledge((0, 9, RENEW), is_renew_ack=True) is Code.NONE
    assert member.acknowledge((0, 9, RENEW), version=1) is Code.INVALID_REQUEST


def test_a_share_partition_that_is_not_in_use_is_unknown(group: Jobs, member: Member) -> None:
    member.disconnect()
    member.fetch(epoch=0, partitions=())
    member.disconnect()  # the last member of the group
    member.fetch(epoch=0, partitions=())
    assert member.acknowledge((0, 9, ACCEPT)) is Code.UNKNOWN_TOPIC_OR_PARTITION
