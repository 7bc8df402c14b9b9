"""A member of a classic group.

It tells the group which protocols (ways to assign partitions) it knows, the one it likes best first, and what the
leader has to know for each. To the broker that is bytes.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroupMember, kafka.coordinator.group.MemberMetadata.
"""

from collections.abc import Collection, Mapping

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
