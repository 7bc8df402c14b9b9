"""The members of a classic group, their leader, and the protocols that all of them support.

In JoinGroup, a member lists the protocols (assignment strategies) it supports, in order of preference, each with the
metadata that the leader needs. The broker does not interpret this metadata.

Members are kept in the order in which they joined. Member ids that were assigned but not used yet (KIP-394) are kept
separately. A rebalance also waits for these, but no longer than the session timeout in the request.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup, ClassicGroupMember,
kafka.coordinator.group.GroupMetadata.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from kafkalet.clock import Timer
from kafkalet.protocol.messages.join_group import JoinGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupResponse
from kafkalet.tasks.delayed import Delayed


class ClassicMember:
    """A member of a classic group.

    `protocols` maps the names of its protocols, in order of preference, to their metadata.
    """

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
        self.instance_id = instance_id  # only for static members (KIP-345)
        self.client_id = client_id
        self.client_host = client_host  # formatted as in Java: "/127.0.0.1"
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = dict(protocols)
        self.assignment = assignment
        self.is_new = False
        """Whether the member is still waiting for its first response. Until then it sends no heartbeats.

        See NEW_MEMBER_JOIN_TIMEOUT_MS.
        """
        self.awaiting_join: Delayed[JoinGroupResponse] | None = None
        self.awaiting_sync: Delayed[SyncGroupResponse] | None = None
        self.session: Timer | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_awaiting_response(self) -> bool:
        """Whether the member is waiting for a response. While it waits, it sends no heartbeats."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def matches(self, protocols: Mapping[str, bytes]) -> bool:
        """Return whether `protocols` equals the member's protocols, including their order and metadata."""
        return list(self.protocols.items()) == list(protocols.items())

    def vote(self, candidates: Collection[str]) -> str:
        """Return the candidate that the member prefers. The member must support all candidates."""
        return next(name for name in self.protocols if name in candidates)

    def end_session(self) -> None:
        """Cancel the session timeout."""
        if self.session is not None:
            self.session.cancel()
            self.session = None


class ClassicMembers:
    """The members of a classic group."""

    def __init__(self) -> None:
        self._members: dict[str, ClassicMember] = {}
        self._static: dict[str, str] = {}
        self._supported: dict[str, int] = {}
        self._pending: dict[str, Timer] = {}
        self.leader_id: str | None = None
        self.protocol_type: str | None = None
        self.unsynced: set[str] = set()
        """The members of the current generation that have not sent their SyncGroup request yet."""

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[ClassicMember]:
        return iter(list(self._members.values()))

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._members[member_id]

    def static_id(self, instance_id: str | None) -> str | None:
        """Return the member id of a static member, or None if the instance id is unknown."""
        return None if instance_id is None else self._static.get(instance_id)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self._members.values()), default=0)

    def awaiting_join(self) -> int:
        """Return the number of members that have joined the next generation."""
        return sum(member.awaiting_join is not None for member in self._members.values())

    def all_joined(self) -> bool:
        return not self._pending and all(member.awaiting_join is not None for member in self._members.values())

    # Adding and removing

    def add_pending(self, member_id: str, expiry: Timer) -> None:
        """Record a member id that was assigned to a client; `expiry` is the timer that drops it."""
        self._pending[member_id] = expiry

    def is_pending(self, member_id: str) -> bool:
        return member_id in self._pending

    def add(self, member: ClassicMember) -> None:
        """Add a member. The first one sets the protocol type of the group and becomes its leader."""
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
        """Remove a member, if it exists. If it was the leader, the longest-standing member becomes the leader."""
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
        """Change the member id of a static member that has restarted, keeping the rest of its state."""
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
        """If the leader has not joined, make the first joined member the leader.

        Returns False if no member has joined.
        """
        if self.leader_id is None:
            return False
        if self._members[self.leader_id].awaiting_join is None:
            joined = next((member for member in self._members.values() if member.awaiting_join is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def clear(self) -> None:
        """Cancel all timers and drop the assigned but unused member ids."""
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

    # Protocols

    def supports(self, protocols: Collection[str]) -> bool:
        """Return whether one of these protocols is supported by all members."""
        return any(self._supported.get(name, 0) == len(self._members) for name in protocols)

    def select_protocol(self, tie_break: Callable[[str], int | tuple[int, ...]]) -> str:
        """Return the protocol with the most votes among those that all members support.

        If there is a tie, the protocol with the smallest `tie_break` wins. Requires at least one member.
        """
        candidates = {name for name, count in self._supported.items() if count == len(self._members)}
        votes: dict[str, int] = {}
        for member in self._members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(sorted(votes, key=tie_break), key=votes.__getitem__)
