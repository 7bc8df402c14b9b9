"""What every kind of group can be asked, whichever protocol its members speak.

Source: org.apache.kafka.coordinator.group.Group.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple, Protocol

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.errors import Code

PartitionCheck = Callable[[str, bytes, int], None]
"""(topic, topic id, partition): raises KafkaError where this partition's offset may not be committed."""


class Caller(NamedTuple):
    """Who wants to join, and in which version of JoinGroup."""

    client_id: str
    client_host: str
    version: int


class GroupType(StrEnum):
    """The kinds of groups, by their names in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Member(Protocol):
    """A member of a group."""

    @property
    def member_id(self) -> str: ...


class Group(Protocol):
    """A group. The checks raise KafkaError with the code that the client gets."""

    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state(self) -> str:
        """By its name in ListGroups: "Empty", "PreparingRebalance", "Stable", "Assigning", "Dead", ..."""

    @property
    def protocol_type(self) -> str:
        """ "consumer" where consumers are in it; "" where nobody ever joined."""

    @property
    def is_empty(self) -> bool:
        """It has no members."""

    @property
    def members(self) -> Iterable[Member]: ...

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> "PartitionCheck | None":
        """May this member commit offsets, in this generation (or member epoch)? `version` is that of OffsetCommit (or
        TxnOffsetCommit). Where the answer depends on the partition (KIP-1251), what is to be asked for each."""

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """May this member read committed offsets? Nobody is asked who he is before OffsetFetch v9 (KIP-848)."""

    def check_delete(self) -> None:
        """May the group be deleted?"""

    def check_delete_offsets(self) -> None:
        """May offsets be deleted, of topics that its members do not read?"""

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member wants this topic, so that its offsets may be neither deleted nor expire."""

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when on the retention of an offset committed at that time counts; None: it does not expire now."""

    def offset_committed(self, member_id: str) -> None:
        """A member has committed: it is alive (classic groups prolong its session by that)."""

    def tombstones(self) -> list[StateRecord]:
        """The records that remove the group itself from the log, without its offsets."""

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """The coordinator gives the group up (another broker takes over, or it becomes one of another kind): cancel
        timers, and answer those who wait with `code`."""
