"""A group whose partitions the broker assigns: its epochs, its target assignment, and how records change it.

    group epoch         incremented whenever the members, the subscriptions or the topics change
    assignment epoch    the group epoch for which the target assignment was computed
    member epoch        the assignment epoch that a member has reached

Only records change a group: each decision is a list of changes that are first written to the log (`commit`) and then
applied by the same code that replays the log after a restart (`replay`).

Source: org.apache.kafka.coordinator.group.modern.ModernGroup, Assignment; the `replay` methods of
org.apache.kafka.coordinator.group.GroupMetadataManager.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.group import Group, GroupType
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.java_order import order_of_uuids
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch

from .members import LEAVING_FOR_A_RESTART, Members, ModernMember
from .records import Change, RecordTypes
from .timers import MemberTimers
from .topics import hash_without_racks, known_topics, metadata_hash

_LOG = logging.getLogger(__name__)

NEVER_READ = -1

MemberT = TypeVar("MemberT", bound=ModernMember)


class HasGroupId(Protocol):
    """The key of a record of a group."""

    group_id: str


class TargetEpochValue(Protocol):
    """The value of a record with the epoch of the target assignment."""

    assignment_epoch: int
    assignment_timestamp: int


class PartitionsOfTopic(Protocol):
    """Partitions of a topic in the value of a record."""

    topic_id: bytes
    partitions: list[int]


class TargetValue(Protocol):
    """The value of a record with the target assignment of a member."""

    @property
    def topic_partitions(self) -> Sequence[PartitionsOfTopic]: ...


class ModernGroup(ABC, Generic[MemberT]):
    """A group of a shard. It becomes one of the shard's groups with its first record.

    Its subclasses implement `Group`.
    """

    type: GroupType
    record_types: RecordTypes
    members: Members[MemberT]
    visible_from = 0

    def __init__(self, shard: Shard, group_id: str) -> None:
        self.shard = shard
        self.group_id = group_id
        self.timers = MemberTimers(shard.client_clock)
        self.group_epoch = shard.node.release.first_epoch_of_modern_groups
        self.metadata_hash = 0
        self.metadata_version = NEVER_READ
        """The version of the cluster metadata from which the metadata hash was computed."""
        self.assignment_epoch = self.group_epoch
        self.assignment_timestamp_ms = 0

    @property
    @abstractmethod
    def subscribed_topics(self) -> Collection[str]:
        """The topics whose metadata the metadata hash covers."""

    @abstractmethod
    def enter_epoch(self, epoch: int, names: Iterable[str]) -> list[Change]:
        """Return the records that start an epoch with these subscribed topics."""

    @property
    @abstractmethod
    def assignment_interval_ms(self) -> int:
        """The minimum time between two target assignments. The first one is computed immediately."""

    @property
    def _this(self) -> Group:
        return cast(Group, self)

    @property
    def is_empty(self) -> bool:
        return not len(self.members)

    def member(self, member_id: str) -> MemberT:
        """Return a member. Raises UNKNOWN_MEMBER_ID if it does not exist."""
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, member_id: str, instance_id: str) -> MemberT:
        """Return the static member with this instance id.

        Raises UNKNOWN_MEMBER_ID if there is none, and FENCED_INSTANCE_ID if its member id is not `member_id`.
        """
        member = self.members.static(instance_id)
        if member is None:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise KafkaError(
                Code.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
            )
        return member

    def check_has_room(self, member_id: str, most: int) -> None:
        """Raise GROUP_MAX_SIZE_REACHED if the member is not in the group yet and the group is full."""
        if len(self.members) >= most and member_id not in self.members:
            raise KafkaError(
                Code.GROUP_MAX_SIZE_REACHED,
                f"The {self.type} group has reached its maximum capacity of {most} members.",
            )

    def check_delete(self) -> None:
        if not self.is_empty:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Cancel all timers. The members never wait for a response, so none has to be completed."""
        self.timers.close()

    # Decisions

    def may_assign(self) -> bool:
        """Return whether the assignment interval has passed."""
        interval_ms, since_ms = self.assignment_interval_ms, self.assignment_timestamp_ms
        return not since_ms or not interval_ms or self.shard.clock.now_ms() >= since_ms + interval_ms

    def topics_have_changed(self) -> bool:
        """Return whether a subscribed topic may have changed since the group last looked at the metadata."""
        metadata, since = self.shard.node.metadata, self.metadata_version
        if since in (metadata.version, NEVER_READ):
            return since == NEVER_READ
        return any(metadata.may_have_changed(name, since) for name in self.subscribed_topics)

    def hash_of(self, names: Iterable[str]) -> int:
        """Return a hash of the metadata of these topics (ModernGroup.computeMetadataHash)."""
        node = self.shard.node
        if node.release.keeps_hash_of_topics:
            return metadata_hash(names, node.metadata)
        return hash_without_racks(known_topics(names, node.metadata))

    def fence_missing(self, member_id: str, reason: str, fence: Callable[[MemberT], object]) -> bool:
        """Fence a member that missed a timeout. Return False if that fails; the next timeout then has to try again."""
        member = self.members.get(member_id)
        if member is None:
            return True
        _LOG.info("group %s: member %s is fenced: %s", quoted(self.group_id), quoted(member_id), reason)
        try:
            fence(member)
        except KafkaError as error:  # no client is waiting for a response
            name = quoted(self.group_id)
            _LOG.warning("group %s: cannot fence member %s: %s", name, quoted(member_id), error.code.name)
            return False
        return True

    def own_number(self, name: str, default: int) -> int:
        """Return a number from the configuration of the group, or `default` if the group does not set it."""
        own = self.shard.node.metadata.group_config.get(self.group_id)
        if own is None:
            return default
        from kafkalet.broker.config.group_properties import effective_number

        return effective_number(own, name, default, self.shard.node.config)

    # Records

    def encoded(self, change: Change) -> StateRecord:
        """Encode a record as a broker of this release writes it."""
        return change.encoded()

    @abstractmethod
    def replay(self, change: Change) -> None:
        """Apply a record to the group."""

    def commit(self, changes: Iterable[Change], replacing: Sequence[StateRecord] = ()) -> int:
        """Append changes to the log, replay them, and return the offset of the last record.

        The records in `replacing` are written first; they delete the group that this one replaces. If KafkaError is
        raised, it has a code for the client and nothing has changed.
        """
        changes, shard = list(changes), self.shard
        offset = shard.append([*replacing, *map(self.encoded, changes)])
        former = shard.groups.get(self.group_id)
        if changes:
            shard.groups[self.group_id] = self._this
        for change in changes:
            self.replay(change)
        if changes and former is not None and former is not self._this:
            former.close(Code.REBALANCE_IN_PROGRESS)  # tells its members to join again, now in this group
        return offset

    def replay_end(self) -> None:
        """Remove the group from its shard, because its last record was a tombstone."""
        self.close()
        if self.shard.groups.get(self.group_id) is self._this:
            del self.shard.groups[self.group_id]

    def replay_target_epoch(self, value: TargetEpochValue | None) -> None:
        if value is None:
            self.assignment_epoch, self.assignment_timestamp_ms = -1, 0
        else:
            self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp


class CommittingGroup(ModernGroup[MemberT]):
    """A group whose members commit offsets."""

    @abstractmethod
    def check_fetch_of(self, member: MemberT, epoch: int) -> None:
        """Raise KafkaError if the member may not fetch offsets with this epoch."""

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        if member_id is None:  # Kafka fails unexpectedly here: its member lookup does not handle this case
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        self.check_fetch_of(self.member(member_id), epoch)

    def check_delete_offsets(self) -> None:
        """Never raise: offsets of topics that the group does not read can always be deleted."""

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def offset_committed(self, member_id: str) -> None:
        """Do nothing: only heartbeats extend the session of a member."""


class SubscribedGroup(ModernGroup[MemberT]):
    """A group whose members subscribe to topics and whose target assignment contains their partitions."""

    def __init__(self, shard: Shard, group_id: str) -> None:
        super().__init__(shard, group_id)
        self.target: dict[str, Assignment] = {}
        self.assigned: dict[bytes, dict[int, str]] = {}
        """For each topic id and partition, a member whose target assignment contains the partition."""

    @property
    def subscribed_topics(self) -> Collection[str]:
        return self.members.topics()

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def replay_target(self, member_id: str, value: TargetValue | None) -> None:
        """Replace the target assignment of a member, or remove it if there is none."""
        for topic_id, partitions in self.target.pop(member_id, {}).items():
            holders = self.assigned.get(topic_id, {})
            for partition in partitions:
                if holders.get(partition) == member_id:
                    del holders[partition]
            if not holders:
                self.assigned.pop(topic_id, None)
        if value is not None:
            assignment = self.target[member_id] = assignment_of(value.topic_partitions)
            for topic_id, partitions in assignment.items():
                self.assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))


GroupT = TypeVar("GroupT", bound=ModernGroup[Any])


def check_released(member: ModernMember, member_id: str, instance_id: str) -> None:
    """Raise UNRELEASED_INSTANCE_ID unless a static member, which another one is to replace, has left for a restart."""
    if member.member_epoch != LEAVING_FOR_A_RESTART:
        raise KafkaError(
            Code.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {member.member_id} member.",
        )


def fenced_epoch(group: ModernGroup[Any], member: ModernMember, epoch: int) -> KafkaError:
    """Return the error for a heartbeat with an epoch that is not the member's."""
    word = "greater" if epoch > member.member_epoch else "smaller"
    return KafkaError(
        Code.FENCED_MEMBER_EPOCH,
        f"The {group.type} group member has a {word} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def group_of(kind: type[GroupT], group: object, group_id: str) -> GroupT:
    """Return the group with this id. Raises GROUP_ID_NOT_FOUND if there is none, or if it is of another kind."""
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, kind):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {kind.type} group.")
    return group


def existing_group(kind: type[GroupT], shard: Shard, group_id: str) -> GroupT:
    """Return the group for a heartbeat. The error message differs from that of `group_of`."""
    if group_id not in shard.groups:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"{kind.type.capitalize()} group {group_id} not found.")
    return group_of(kind, shard.groups[group_id], group_id)


def replay(kind: type[GroupT], shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    """Apply a record from the log to the group that it belongs to."""
    key_type, value_type = kind.record_types[version]
    read = key_type.decode(key, version)
    group_id = cast(HasGroupId, read).group_id
    known = shard.groups.get(group_id)
    group = known if isinstance(known, kind) else None
    if group is None:
        if value is None:  # the group no longer exists, or is now of another kind
            return
        group = kind(shard, group_id)
        shard.groups[group_id] = group._this
    group.replay(Change(read, None if value is None else value_type.decode(value, 0, 2)))


def lists_protocol(node: Node, name: str, *, default: bool) -> bool:
    """Return whether a group protocol is in `group.coordinator.rebalance.protocols`, or `default` if it is not set."""
    given = node.config.given().get("group.coordinator.rebalance.protocols")
    return default if given is None else name in [word.strip().lower() for word in given.split(",")]


def assignment_of(topics: Iterable[PartitionsOfTopic]) -> Assignment:
    """Return the partitions by topic id, in the order of Kafka's hash table (Assignment.fromRecord)."""
    given = {each.topic_id: each.partitions for each in topics}
    return {topic_id: given[topic_id] for topic_id in order_of_uuids(given)}
