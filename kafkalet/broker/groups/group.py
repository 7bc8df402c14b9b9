"""The interface that all kinds of groups have in common.

Source: org.apache.kafka.coordinator.group.Group.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple, Protocol

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.errors import Code

PartitionCheck = Callable[[str, bytes, int], None]
"""Called with (topic, topic id, partition); raises KafkaError if the member may not commit there."""


TopicCheck = Callable[[str], bool]
"""Whether a client may describe a topic."""


class Caller(NamedTuple):
    """The client that sent a JoinGroup request, and the version of the request."""

    client_id: str
    client_host: str
    version: int
    may_describe: TopicCheck | None = None  # None if there is no authorizer


class GroupType(StrEnum):
    """The group types, as named in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Member(Protocol):
    """A member of a group."""

    @property
    def member_id(self) -> str: ...

    @property
    def instance_id(self) -> str | None: ...

    @property
    def client_id(self) -> str: ...

    @property
    def client_host(self) -> str:
        """The address of the client, formatted as in Java: "/127.0.0.1"."""


class Group(Protocol):
    """A group. The `check_…` methods raise KafkaError with the error code for the client."""

    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state(self) -> str:
        """The group state, as named in ListGroups: "Empty", "PreparingRebalance", "Stable", "Assigning", "Dead", ..."""

    @property
    def protocol_type(self) -> str:
        """The protocol type of the members, such as "consumer"; "" if the group never had any."""

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""

    @property
    def visible_from(self) -> int:
        """The end offset of the shard's log from which clients can list and describe the group.

        Kafka reads the state as of the last record, so a group that was created without a record is not yet visible.
        """

    @property
    def members(self) -> Iterable[Member]: ...

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> "PartitionCheck | None":
        """Raise KafkaError if the member may not commit offsets with this generation or member epoch.

        `version` is the version of the OffsetCommit or TxnOffsetCommit request. If the decision depends on the
        partition (KIP-1251), a check is returned, which must be called for each partition.
        """

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raise KafkaError if the member may not fetch committed offsets.

        `member_id` is None before OffsetFetch v9 (KIP-848); in that case, every caller may fetch them.
        """

    def check_delete(self) -> None:
        """Raise KafkaError if the group may not be deleted."""

    def check_delete_offsets(self) -> None:
        """Raise KafkaError if none of the group's offsets may be deleted (OffsetDelete)."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member is subscribed to this topic. Its offsets cannot be deleted and do not expire."""

    @property
    def expires(self) -> bool:
        """Whether the group is deleted when it has neither members nor committed offsets."""

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time at which the retention period of a committed offset starts.

        Returns None if the offset cannot expire while the group is in its current state.
        """

    def offset_committed(self, member_id: str) -> None:
        """Record that a member has committed offsets. In a classic group, this extends the member's session."""

    def tombstones(self) -> list[StateRecord]:
        """Return the records that delete the group itself, without its offsets, from the log."""

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Cancel all timers and complete all waiting requests with `code`.

        Called when the group moves to another broker or is replaced by a group of another type.
        """
