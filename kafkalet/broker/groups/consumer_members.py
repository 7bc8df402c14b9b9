"""The members of a consumer group, and what follows from all of them together: counted as they come and go.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup, modern.SubscriptionCount.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from .assignors.java_order import timeline_order
from .consumer_member import ConsumerMember, Owned
from .consumer_records import Resolved

NOBODY = -1


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
