"""The members of a group, and the number of members that subscribe to each topic.

Source: org.apache.kafka.coordinator.group.modern.ModernGroup, ModernGroupMember, SubscriptionCount.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from kafkalet.broker.groups.group import Member
from kafkalet.broker.java_order import TimelineMap

JOINING, LEAVING, LEAVING_FOR_A_RESTART = 0, -1, -2
"""Member epochs that have a special meaning in heartbeats. Share groups have no static members, which restart."""


class ModernMember(Member, Protocol):
    """A member, which is immutable: a change creates a new one."""

    @property
    def member_epoch(self) -> int: ...

    @property
    def topic_names(self) -> frozenset[str]: ...


M = TypeVar("M", bound=ModernMember)


class Members(Generic[M]):
    """The members of a group by member id, in the order in which they joined."""

    def __init__(self) -> None:
        self._members: TimelineMap[M] = TimelineMap()
        self._static: dict[str, str] = {}
        self.names: Counter[str] = Counter()
        """For each topic, the number of members that subscribe to it by name."""

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[M]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def get(self, member_id: str) -> M | None:
        return self._members.get(member_id)

    def static(self, instance_id: str | None) -> M | None:
        """Return the static member with this instance id, or None."""
        return None if instance_id is None else self._members.get(self._static.get(instance_id, ""))

    def in_order(self) -> list[str]:
        """Return the member ids in the iteration order of Kafka's TimelineHashMap."""
        return self._members.in_order()

    def topics(self) -> set[str]:
        """Return all subscribed topics."""
        return set(self.names)

    def is_homogeneous(self) -> bool:
        """Return whether all members subscribe to the same topics."""
        return all(subscribers == len(self._members) for subscribers in self.names.values())

    def update(self, member: M) -> None:
        """Add a member, or replace the one with the same id."""
        before = self._members.get(member.member_id)
        if before is not None:
            self.uncount(before)
        self._members[member.member_id] = member
        self.count(member)

    def remove(self, member_id: str) -> None:
        member = self._members.pop(member_id, None)
        if member is not None:
            self.uncount(member)

    def preview(self) -> "Members[M]":
        """Return a copy of the members, for trying out changes without modifying the group."""
        copy: Members[M] = Members()
        copy._members, copy.names = self._members.copy(), self.names.copy()
        return copy

    def count(self, member: M) -> None:
        """Add a new member to all totals."""
        self.names.update(member.topic_names)
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id

    def uncount(self, member: M) -> None:
        """Remove a former member from all totals."""
        subtract(self.names, member.topic_names)
        if member.instance_id is not None and self._static.get(member.instance_id) == member.member_id:
            del self._static[member.instance_id]


def subtract(counter: Counter[str], keys: Iterable[str]) -> None:
    """Decrement counts, and remove any that reach zero."""
    for key in keys:
        if counter[key] > 1:
            counter[key] -= 1
        else:
            counter.pop(key, None)
