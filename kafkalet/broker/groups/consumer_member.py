"""A member of a group of the consumer protocol: who it is, what it wants, what it has.

    member epoch        what it has caught up with; 0 while it joins, -2 while a static member is away for a restart
    assigned            the partitions it may read, each with the epoch in which it got it (KIP-1251)
    pending revocation  those it has to give back first, before it goes on to the next epoch

Members are values: who changes one makes another (`_replace`).

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember, modern.MemberState.
"""

from enum import IntEnum
from typing import NamedTuple

from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOINING, LEAVING, LEAVING_FOR_A_RESTART = 0, -1, -2
"""Member epochs that are not epochs."""

Owned = dict[bytes, dict[int, int]]
"""Partitions by topic id, each with the epoch in which it was assigned."""


class MemberState(IntEnum):
    """How far a member is on its way to its target, by the numbers in its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it has to give partitions back before it goes on
    UNRELEASED_PARTITIONS = 2  # it waits for partitions that others have not given back yet
    UNKNOWN = 127  # written by a later release


class ClassicProtocols(NamedTuple):
    """What a member of the classic protocol has told beyond the rest: the metadata of each protocol that it knows."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


_NOTHING: Owned = {}


class ConsumerMember(NamedTuple):
    """A member. The host is written as Java does, "/127.0.0.1"."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: Owned = _NOTHING
    pending_revocation: Owned = _NOTHING
    classic: ClassicProtocols | None = None  # None where it speaks the consumer protocol

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        """It has all that it is to have in that epoch, and nothing else."""
        return self.state == MemberState.STABLE and self.member_epoch == epoch

    def at_epoch(self, epoch: int, state: MemberState, assigned: Owned, pending: Owned) -> "ConsumerMember":
        """The member one step further."""
        return self._replace(
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            pending_revocation=pending,
        )

    def told_by(
        self, request: ConsumerGroupHeartbeatRequest, client_id: str, client_host: str, member_id: str
    ) -> "ConsumerMember":
        """The member with what a heartbeat says of it; what is null there has not changed. The same one where nothing
        is new."""
        names = request.subscribed_topic_names
        if (
            (names is None or self.topic_names == set(names))
            and request.subscribed_topic_regex in (None, self.topic_regex)
            and request.server_assignor in (None, self.server_assignor)
            and request.rack_id in (None, self.rack_id)
            and request.instance_id in (None, self.instance_id)
            and request.rebalance_timeout_ms in (-1, self.rebalance_timeout_ms)
            and (self.client_id, self.client_host, self.classic) == (client_id, client_host, None)
        ):
            return self
        return self._replace(
            instance_id=self.instance_id if request.instance_id is None else request.instance_id,
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=(
                self.rebalance_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms
            ),
            server_assignor=self.server_assignor if request.server_assignor is None else request.server_assignor,
            topic_names=self.topic_names if names is None else frozenset(names),
            topic_regex=self.topic_regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
            client_id=client_id,
            client_host=client_host,
            classic=None,
        )


def owned_partitions(owned: Owned) -> int:
    """How many partitions that is."""
    return sum(map(len, owned.values()))
