"""The members of a classic group: who is in it, who leads it, which protocols all of them know.

A member tells the group which protocols (ways to assign partitions) it knows, in order of preference, and for each the
metadata that the leader needs. To the broker the metadata is bytes.

Members are kept in the order in which they came. Beside them are ids that were given out and not used yet (KIP-394):
the group waits for those too before it goes on, each for the session timeout it asked for.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup, ClassicGroupMember,
kafka.coordinator.group.GroupMetadata.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from kafkalet.broker.cluster.state_topics import java_hash
from kafkalet.broker.groups.assignors.java_order import slot_of
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Timer
from kafkalet.protocol.messages.join_group import JoinGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupResponse


class ClassicMember:
    """Who it is, what it knows, and what it waits for. `protocols`: metadata by protocol, in order of preference."""

    __slots__ = (
        *("assignment", "awaiting_join", "awaiting_sync", "client_host", "client_id", "instance_id", "is_new"),
        *("member_id", "protocol_type", "protocols", "rebalance_timeout_ms", "session", "session_timeout_ms"),
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        *,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocol_type: str,
        protocols: Mapping[str, bytes],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id  # a static member's (KIP-345)
        self.client_id = client_id
        self.client_host = client_host  # as Java writes an address, "/127.0.0.1"
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = dict(protocols)
        self.assignment = assignment
        self.is_new = False
        """It does not know its own id yet: nobody waits for its heartbeats, but neither is it waited for for ever."""
        self.awaiting_join: Delayed[JoinGroupResponse] | None = None
        self.awaiting_sync: Delayed[SyncGroupResponse] | None = None
        self.session: Timer | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_alive(self) -> bool:
        """It waits for an answer, and so cannot send heartbeats."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def matches(self, protocols: Mapping[str, bytes]) -> bool:
        """Whether these are its protocols, in this order and with this metadata."""
        return list(self.protocols.items()) == list(protocols.items())

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate it likes best. There is one: all candidates are known to all members."""
        return next(name for name in self.protocols if name in candidates)

    def end_session(self) -> None:
        """Stop waiting for its heartbeats."""
        if self.session is not None:
            self.session.cancel()
            self.session = None


MAX_UINT = 0xFFFFFFFF


class ClassicMembers:
    """The members of one group."""

    def __init__(self) -> None:
        self._members: dict[str, ClassicMember] = {}
        self._static: dict[str, str] = {}
        self._supported: dict[str, int] = {}
        self._pending: dict[str, Timer] = {}
        self.leader_id: str | None = None
        self.protocol_type: str | None = None
        self.unsynced: set[str] = set()
        """Those who were told of this generation and have not asked for their assignment yet."""

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[ClassicMember]:
        return iter(list(self._members.values()))

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._members[member_id]

    def static_id(self, instance_id: str | None) -> str | None:
        """The member id of a static member."""
        return None if instance_id is None else self._static.get(instance_id)

    @property
    def rebalance_timeout_ms(self) -> int:
        """As long as the most patient member allows."""
        return max((member.rebalance_timeout_ms for member in self._members.values()), default=0)

    def awaiting_join(self) -> int:
        """How many wait for the next generation."""
        return sum(member.awaiting_join is not None for member in self._members.values())

    def all_joined(self) -> bool:
        return not self._pending and all(member.awaiting_join is not None for member in self._members.values())

    # coming and going

    def add_pending(self, member_id: str, expiry: Timer) -> None:
        """An id was given out; `expiry` is the timer that forgets it."""
        self._pending[member_id] = expiry

    def is_pending(self, member_id: str) -> bool:
        return member_id in self._pending

    def add(self, member: ClassicMember) -> None:
        """The first one decides what kind of group it is, and leads it."""
        if not self._members:
            self.protocol_type = member.protocol_type
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._members[member.member_id] = member
        self._count(member, 1)
        self._remove_pending(member.member_id)

    def remove(self, member_id: str) -> None:
        """Where the leader goes, the one who has been there longest leads. An unknown id is no error."""
        member = self._members.pop(member_id, None)
        if member is not None:
            member.end_session()
            self._count(member, -1)
            if member.instance_id is not None:
                del self._static[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self._members), None)
        self._remove_pending(member_id)
        self.unsynced.discard(member_id)

    def replace_static(self, old_id: str, new_id: str) -> ClassicMember:
        """A static member came back under a new id; it has whatever it had before."""
        member = self._members.pop(old_id)
        member.end_session()
        assert member.instance_id is not None
        member.member_id = self._static[member.instance_id] = new_id
        member.is_new = False
        self._members[new_id] = member
        if self.leader_id == old_id:
            self.leader_id = new_id
        return member

    def change_protocols(self, member: ClassicMember, protocols: dict[str, bytes]) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is somebody who has joined; False where nobody has."""
        if self.leader_id is None:
            return False
        if self._members[self.leader_id].awaiting_join is None:
            joined = next((member for member in self._members.values() if member.awaiting_join is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def clear(self) -> None:
        """Cancel all timers."""
        for member in self._members.values():
            member.end_session()
        for expiry in self._pending.values():
            expiry.cancel()
        self._pending.clear()

    def _remove_pending(self, member_id: str) -> None:
        expiry = self._pending.pop(member_id, None)
        if expiry is not None:
            expiry.cancel()

    def _count(self, member: ClassicMember, by: int) -> None:
        for name in member.protocols:
            self._supported[name] = self._supported.get(name, 0) + by

    # protocols

    def supports(self, protocols: Collection[str]) -> bool:
        """Whether one of these is known to all members."""
        return any(self._supported.get(name, 0) == len(self._members) for name in protocols)

    def select_protocol(self, tie_break: Callable[[str], int | tuple[int, ...]]) -> str:
        """The one that most members like best among those that all of them know; of two with as many votes the one
        with the smaller `tie_break`. There has to be a member."""
        candidates = {name for name, count in self._supported.items() if count == len(self._members)}
        votes: dict[str, int] = {}
        for member in self._members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(sorted(votes, key=tie_break), key=votes.__getitem__)


def place_in_java(name: str) -> int:
    """Where a name lies in a HashMap of 16 buckets."""
    return slot_of(java_hash(name), 16)


def place_in_scala(name: str) -> tuple[int, ...]:
    """The way to a name in an immutable HashMap of Scala: five bits of its hash at each step."""
    hashed = java_hash(name)
    hashed = hashed + (~(hashed << 9) & MAX_UINT) & MAX_UINT
    hashed ^= hashed >> 14
    hashed = hashed + (hashed << 4) & MAX_UINT
    hashed ^= hashed >> 10
    return tuple(hashed >> bits & 31 for bits in range(0, 32, 5))
