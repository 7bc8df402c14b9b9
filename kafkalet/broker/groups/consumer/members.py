"""The members of a consumer group: what each wants and has, and what follows from all of them together.

    member epoch        what a member has caught up with; 0 while it joins, -2 while a static member restarts
    assigned            the partitions it may read, each with the epoch in which it got it (KIP-1251)
    pending revocation  those it has to give back before it goes on to the next epoch

A member is a value: a change makes another one (`_replace`). The group counts topics, expressions and assignors as
members come and go.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember, ConsumerGroup, modern.MemberState,
modern.SubscriptionCount.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import new_topic_id
from kafkalet.broker.groups.assignors.java_order import timeline_order
from kafkalet.formats import uuid_text
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOINING, LEAVING, LEAVING_FOR_A_RESTART = 0, -1, -2
"""Member epochs that are not epochs."""

Owned = dict[bytes, dict[int, int]]
"""Partitions by topic id, each with the epoch in which it was assigned."""


def new_member_id() -> str:
    """A member id for a client that brings none: a uuid as Kafka writes it."""
    return uuid_text(new_topic_id())


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

    def updated_by(
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


NOBODY = -1


class Resolved(NamedTuple):
    """The topics that a regular expression stood for, when that was found out, and in which version of the metadata."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


class ConsumerMembers:
    """The members of a group by their ids, in the order in which they came."""

    def __init__(self) -> None:
        self._members: dict[str, ConsumerMember] = {}
        self._peak = 0
        self._static: dict[str, str] = {}
        self._epochs: dict[bytes, dict[int, int]] = {}
        self.names: Counter[str] = Counter()
        """How many members want a topic by its name."""
        self.regexes: Counter[str] = Counter()
        """How many members want the topics of a regular expression."""
        self.resolved: dict[str, Resolved] = {}
        """What the regular expressions stand for, as far as that is known."""
        self.classic = 0
        """How many speak the classic protocol."""
        self.classic_protocols: Counter[str] = Counter()
        """How many of those know a protocol."""
        self._assignors: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[ConsumerMember]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def get(self, member_id: str) -> ConsumerMember | None:
        return self._members.get(member_id)

    def in_order(self) -> list[str]:
        """Their ids in the order in which Kafka goes through them."""
        return timeline_order(self._members, self._peak)

    def static(self, instance_id: str | None) -> ConsumerMember | None:
        """The static member of that instance."""
        return None if instance_id is None else self._members.get(self._static.get(instance_id, ""))

    # changes

    def update(self, member: ConsumerMember) -> None:
        """Put a member in, or in the place of the one with its id."""
        before = self._members.get(member.member_id)
        if before is not None:
            self._uncount(before)
        self._members[member.member_id] = member
        self._peak = max(self._peak, len(self._members))
        self._count(member)

    def remove(self, member_id: str) -> None:
        member = self._members.pop(member_id, None)
        if member is not None:
            self._uncount(member)

    def _count(self, member: ConsumerMember) -> None:
        self.names.update(member.topic_names)
        if member.topic_regex:
            self.regexes[member.topic_regex] += 1
        if member.server_assignor is not None:
            self._assignors[member.server_assignor] += 1
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        if member.classic is not None:
            self.classic += 1
            self.classic_protocols.update(name for name, _ in member.classic.protocols)
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                self._epochs.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_epoch))

    def _uncount(self, member: ConsumerMember) -> None:
        _subtract(self.names, member.topic_names)
        if member.topic_regex:
            _subtract(self.regexes, [member.topic_regex])
        if member.server_assignor is not None:
            _subtract(self._assignors, [member.server_assignor])
        if member.instance_id is not None and self._static.get(member.instance_id) == member.member_id:
            del self._static[member.instance_id]
        if member.classic is not None:
            self.classic -= 1
            _subtract(self.classic_protocols, (name for name, _ in member.classic.protocols))
        self._release(member.assigned, member.member_epoch)
        self._release(member.pending_revocation, member.member_epoch)

    def _release(self, owned: Owned, epoch: int) -> None:
        """Partitions are free again, unless somebody has taken them over in a later epoch."""
        for topic_id, partitions in owned.items():
            epochs = self._epochs.get(topic_id)
            if epochs is None:
                continue
            for partition in partitions:
                if epochs.get(partition) == epoch:
                    del epochs[partition]
            if not epochs:
                del self._epochs[topic_id]

    # what follows

    def holder_epoch(self, topic_id: bytes, partition: int) -> int:
        """The epoch of the member that has a partition, -1 where nobody has it."""
        return self._epochs.get(topic_id, {}).get(partition, NOBODY)

    def topics(self) -> set[str]:
        """All topics that somebody wants, by name or by regular expression."""
        return set(self.names).union(*(resolved.topics for resolved in self.resolved.values()))

    def is_homogeneous(self) -> bool:
        """All members want the same topics."""
        count = len(self._members)
        if not self.regexes:
            return all(wanted == count for wanted in self.names.values())
        if next(iter(self.regexes.values())) != count or self.names:
            return False
        matches = Counter(topic for resolved in self.resolved.values() for topic in resolved.topics)
        return all(times == 1 for times in matches.values())

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for; None where nobody asks for any. Where two are asked for equally
        often it is the one that the map of the counts has first (Kafka's TimelineHashMap)."""
        most = max(self._assignors.values(), default=0)
        names = timeline_order([name for name, count in self._assignors.items() if count == most], 2)
        return names[0] if names else None

    def preferred_assignor_with(self, before: ConsumerMember | None, after: ConsumerMember) -> str | None:
        """The same once a member has changed. One that nobody asked for so far comes first here (HashMap.compute)."""
        counts = self._assignors.copy()
        if before is not None and before.server_assignor is not None:
            _subtract(counts, [before.server_assignor])
        newcomer = None
        if after.server_assignor is not None:
            newcomer = after.server_assignor if after.server_assignor not in counts else None
            counts[after.server_assignor] += 1
        most = max(counts.values(), default=0)
        names = timeline_order([name for name, count in counts.items() if count == most], 2)
        return newcomer if newcomer in names else names[0] if names else None

    def all_classic_without(self, leaving: Iterable[ConsumerMember]) -> bool:
        """Whether only members of the classic protocol are left once these have gone."""
        leaving = list(leaving)
        classic = sum(member.uses_classic_protocol for member in leaving)
        return self.classic - classic == len(self._members) - len(leaving)


class Preview(ConsumerMembers):
    """The members as they will be, once some are changed and others are gone. The group is not touched."""

    def __init__(self, members: ConsumerMembers) -> None:
        super().__init__()
        self._members = dict(members._members)
        self._static = dict(members._static)
        self.names = members.names.copy()
        self.regexes = members.regexes.copy()
        self.resolved = members.resolved
        self._assignors = members._assignors.copy()

    def topics(self) -> set[str]:
        """Without those that only a regular expression stands for that nobody wants any more."""
        matches = (resolved.topics for regex, resolved in self.resolved.items() if regex in self.regexes)
        return set(self.names).union(*matches)


def _subtract(counter: Counter[str], keys: Iterable[str]) -> None:
    """Count down, and forget what nobody wants any more."""
    for key in keys:
        if counter[key] > 1:
            counter[key] -= 1
        else:
            counter.pop(key, None)
