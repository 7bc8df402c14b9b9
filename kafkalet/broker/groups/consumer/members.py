"""The members of a consumer group: their subscriptions and assignments, and totals over all members.

    member epoch        the epoch that the member has reached; 0 while it joins, -2 while a static member restarts
    assigned            the partitions it owns, each with the epoch in which it was assigned (KIP-1251)
    pending revocation  the partitions it has to revoke before it advances to the next epoch

A member is immutable: a change creates a new one (`_replace`). The totals, such as the number of subscribers of each
topic, are updated with each change.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember, ConsumerGroup, modern.MemberState,
modern.SubscriptionCount.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import new_topic_id
from kafkalet.broker.groups.modern.members import Members, subtract
from kafkalet.broker.java_order import order_of_set, timeline_order
from kafkalet.formats import uuid_text
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Owned = dict[bytes, dict[int, int]]
"""Partitions, keyed by topic id, each with the epoch in which it was assigned."""


def new_member_id() -> str:
    """Return a new member id for a client that does not send one, in the text form of Kafka's Uuid."""
    return uuid_text(new_topic_id())


class MemberState(IntEnum):
    """The progress of a member towards its target assignment, as numbered in its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # has to revoke partitions before it advances
    UNRELEASED_PARTITIONS = 2  # waits for partitions that other members have not revoked yet
    UNKNOWN = 127  # written by a later release


class ClassicProtocols(NamedTuple):
    """The additional state of a classic member: its session timeout and the metadata of each of its protocols."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


_NOTHING: Owned = {}


class ConsumerMember(NamedTuple):
    """A member of a consumer group. The host is formatted as in Java: "/127.0.0.1"."""

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
    classic: ClassicProtocols | None = None  # None for members of the consumer protocol

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return whether the member has exactly its target assignment of this epoch."""
        return self.state == MemberState.STABLE and self.member_epoch == epoch

    def at_epoch(self, epoch: int, state: MemberState, assigned: Owned, pending: Owned) -> "ConsumerMember":
        """Return the member after a reconciliation step."""
        return self._replace(
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            pending_revocation=pending,
        )

    def updated_by(
        self, request: ConsumerGroupHeartbeatRequest, client_id: str, client_host: str, member_id: str
    ) -> "ConsumerMember":
        """Return the member updated by a heartbeat, or the same object if nothing has changed.

        A null field in the heartbeat means that the field has not changed.
        """
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
    """Return the number of partitions."""
    return sum(map(len, owned.values()))


NOT_HELD = -1


class Resolved(NamedTuple):
    """The topics that match a regular expression, and the metadata version and time at which they were resolved."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


def wanted_names(member: ConsumerMember, resolved: Mapping[str, Resolved]) -> list[str]:
    """Return the topics that a member subscribes to, in the order in which Kafka iterates over them (UnionSet)."""
    matched = resolved.get(member.topic_regex) if member.topic_regex else None
    names = order_of_set(sorted(member.topic_names))
    if matched is None:
        return names
    others = order_of_set(sorted(matched.topics))
    large, small = (names, others) if len(names) > len(others) else (others, names)
    known = frozenset(large)
    return [*large, *(name for name in small if name not in known)]


class ConsumerMembers(Members[ConsumerMember]):
    """The members of a group, keyed by member id, with totals over all members."""

    def __init__(self) -> None:
        super().__init__()
        self._epochs: dict[bytes, dict[int, int]] = {}
        self.regexes: Counter[str] = Counter()
        """For each regular expression, the number of members that subscribe with it."""
        self.resolved: dict[str, Resolved] = {}
        """The topics of each regular expression that has been resolved."""
        self.classic = 0
        """The number of classic members."""
        self.classic_protocols: Counter[str] = Counter()
        """The number of classic members that support each protocol."""
        self._assignors: Counter[str] = Counter()

    # Changes

    def count(self, member: ConsumerMember) -> None:
        super().count(member)
        if member.topic_regex:
            self.regexes[member.topic_regex] += 1
        if member.server_assignor is not None:
            self._assignors[member.server_assignor] += 1
        if member.classic is not None:
            self.classic += 1
            self.classic_protocols.update(name for name, _ in member.classic.protocols)
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                self._epochs.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_epoch))

    def uncount(self, member: ConsumerMember) -> None:
        super().uncount(member)
        if member.topic_regex:
            subtract(self.regexes, [member.topic_regex])
        if member.server_assignor is not None:
            subtract(self._assignors, [member.server_assignor])
        if member.classic is not None:
            self.classic -= 1
            subtract(self.classic_protocols, (name for name, _ in member.classic.protocols))
        self._release(member.assigned, member.member_epoch)
        self._release(member.pending_revocation, member.member_epoch)

    def _release(self, owned: Owned, epoch: int) -> None:
        """Mark partitions as free, except those that have been assigned to another member in a later epoch."""
        for topic_id, partitions in owned.items():
            epochs = self._epochs.get(topic_id)
            if epochs is None:
                continue
            for partition in partitions:
                if epochs.get(partition) == epoch:
                    del epochs[partition]
            if not epochs:
                del self._epochs[topic_id]

    # Totals over all members

    def holder_epoch(self, topic_id: bytes, partition: int) -> int:
        """Return the member epoch of the member that holds a partition, or -1 if no member does."""
        return self._epochs.get(topic_id, {}).get(partition, NOT_HELD)

    def topics(self) -> set[str]:
        """Return all topics that are subscribed to by name or by regular expression."""
        return set(self.names).union(*(resolved.topics for resolved in self.resolved.values()))

    def is_homogeneous(self) -> bool:
        """Return whether all members subscribe to the same topics."""
        if not self.regexes:
            return super().is_homogeneous()
        if next(iter(self.regexes.values())) != len(self._members) or self.names:
            return False
        matches = Counter(topic for resolved in self.resolved.values() for topic in resolved.topics)
        return all(times == 1 for times in matches.values())

    def preferred_assignor(self) -> str | None:
        """Return the assignor that most members request, or None if no member requests one.

        If there is a tie, the first in the iteration order of Kafka's TimelineHashMap is returned.
        """
        most = max(self._assignors.values(), default=0)
        names = timeline_order([name for name, count in self._assignors.items() if count == most], 2)
        return names[0] if names else None

    def preferred_assignor_with(self, before: ConsumerMember | None, after: ConsumerMember) -> str | None:
        """Return the assignor that most members request after one member has changed.

        If there is a tie, an assignor that no other member requests wins (HashMap.compute).
        """
        counts = self._assignors.copy()
        if before is not None and before.server_assignor is not None:
            subtract(counts, [before.server_assignor])
        newcomer = None
        if after.server_assignor is not None:
            newcomer = after.server_assignor if after.server_assignor not in counts else None
            counts[after.server_assignor] += 1
        most = max(counts.values(), default=0)
        names = timeline_order([name for name, count in counts.items() if count == most], 2)
        return newcomer if newcomer in names else names[0] if names else None

    def all_classic_without(self, leaving: Iterable[ConsumerMember]) -> bool:
        """Return whether all remaining members use the classic protocol once the members in `leaving` have left."""
        leaving = list(leaving)
        classic = sum(member.uses_classic_protocol for member in leaving)
        return self.classic - classic == len(self._members) - len(leaving)


class Preview(ConsumerMembers):
    """A copy of the members, for trying out changes without modifying the group."""

    def __init__(self, members: ConsumerMembers) -> None:
        super().__init__()
        self._members = members._members.copy()
        self._static = dict(members._static)
        self.names = members.names.copy()
        self.regexes = members.regexes.copy()
        self.resolved = members.resolved
        self._assignors = members._assignors.copy()

    def topics(self) -> set[str]:
        """Return all subscribed topics, leaving out regular expressions that no member uses any more."""
        matches = (resolved.topics for regex, resolved in self.resolved.items() if regex in self.regexes)
        return set(self.names).union(*matches)
