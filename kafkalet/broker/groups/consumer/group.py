"""A group of the consumer protocol (KIP-848), as the broker that coordinates it knows it.

    group epoch         goes up with every change of members, subscriptions or topics
    assignment epoch    the group epoch that the target assignment was computed for
    member epoch        the assignment epoch that a member has reached

    Empty ── group epoch > assignment epoch ──> Assigning ── target ──> Reconciling ── all have theirs ──> Stable

Only records change a group: what is decided is a list of changes, written to the log (`commit`) and then replayed by
the same code that reads the log after a restart (`replay`).

A member commits and reads offsets in its own epoch. With an older epoch it may commit those partitions that it has had
since before (KIP-1251, 4.3): the commit was on its way while the member went on. Members of the classic protocol get
the codes that they know.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup, modern.ModernGroup; the `replay` methods of
org.apache.kafka.coordinator.group.GroupMetadataManager.
"""

from collections.abc import Iterable, Sequence

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.release import Release
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.group import GroupType, PartitionCheck
from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_describe import Assignment as DescribedAssignment
from kafkalet.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse, TopicPartitions
from kafkalet.protocol.messages.consumer_group_state import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    OwnedPartitions,
)
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.schema import Message

from . import records
from .config import assignors, duration_ms
from .members import LEAVING, ClassicProtocols, ConsumerMember, ConsumerMembers, MemberState, Owned, Resolved
from .records import KEYS, Change
from .timers import MemberTimers
from .topics import hash_without_racks, known_topics, metadata_hash

NEVER_READ = -1
FIRST_WITH_MEMBER_EPOCHS = 9
CLASSIC, CONSUMER = 0, 1
"""Which protocol a member speaks, in `member_type` of ConsumerGroupDescribe."""


class ConsumerGroup:
    """A group whose members are (or may be) of the consumer protocol."""

    type = GroupType.CONSUMER
    protocol_type = "consumer"

    def __init__(self, shard: Shard, group_id: str) -> None:
        self.shard = shard
        self.group_id = group_id
        self.members = ConsumerMembers()
        self.timers = MemberTimers(shard.clock)
        self.group_epoch = shard.node.release.first_epoch_of_consumer_groups
        self.metadata_hash = 0
        self.metadata_version = NEVER_READ
        """The version of the cluster's metadata that the hash was computed from."""
        self.has_partition_metadata = False
        """A release before 4.1 has left a record that goes at the next occasion."""
        self.assignment_epoch = self.group_epoch
        self.assignment_timestamp_ms = 0
        self.target: dict[str, Assignment] = {}
        self.is_resolving = False
        """Regular expressions are being looked up."""
        self.assigned: dict[bytes, dict[int, str]] = {}
        """Who has a partition in its target, by topic and partition."""

    @property
    def state(self) -> str:
        if not len(self.members):
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not len(self.members)

    def member(self, member_id: str) -> ConsumerMember:
        """A member. UNKNOWN_MEMBER_ID where there is none of that id."""
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def target_of(self, member: ConsumerMember) -> Assignment:
        """What a member is to get; a static one takes over what was meant for its instance."""
        known = self.members.static(member.instance_id) if member.instance_id is not None else member
        return {} if known is None else self.target.get(known.member_id, {})

    # what others ask

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> PartitionCheck | None:
        if (epoch < 0 and self.is_empty) or (transactional and (member_id, instance_id, epoch) == ("", None, -1)):
            return None
        return _check_commit(
            self.member(member_id), epoch, version, self.shard.node.release, transactional=transactional
        )

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        if member_id is None:  # what Kafka's lookup of a member is not made for
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        _check_fetch(self.member(member_id), epoch)

    def check_delete(self) -> None:
        if not self.is_empty:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Of topics that nobody reads they may always go."""

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.members.topics()

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def offset_committed(self, member_id: str) -> None:
        """Only heartbeats are signs of life here."""

    # configuration: a group's own (resource GROUP), or the broker's

    @property
    def session_timeout_ms(self) -> int:
        config = self.shard.node.config
        return self._duration_ms("consumer.session.timeout.ms", config.group_consumer_session_timeout_ms)

    @property
    def heartbeat_interval_ms(self) -> int:
        config = self.shard.node.config
        return self._duration_ms("consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms)

    @property
    def assignment_interval_ms(self) -> int:
        """How long a target stays as it is, however much changes; the first one comes at once."""
        node = self.shard.node
        if not node.release.keeps_assignment_epochs:
            return 0
        return self._duration_ms("consumer.assignment.interval.ms", node.config.group_consumer_assignment_interval_ms)

    def _duration_ms(self, name: str, default: int) -> int:
        return duration_ms(self.shard.node, self.group_id, name, default)

    # epochs

    def hash_of(self, names: Iterable[str]) -> int:
        """One number for all that the group knows of these topics (ModernGroup.computeMetadataHash)."""
        node = self.shard.node
        if node.release.keeps_hash_of_topics:
            return metadata_hash(names, node.metadata)
        return hash_without_racks(known_topics(names, node.metadata))

    def enter_epoch(self, epoch: int, names: Iterable[str]) -> list[Change]:
        """The records of a new epoch of the group, whose members subscribe to these topics.

        Since 4.1 the hash of the topics is beside the epoch; before, it was a record of its own, written when something
        had changed (computeSubscriptionMetadata in 4.0).
        """
        names, node = list(names), self.shard.node
        hashed = self.hash_of(names)
        if node.release.keeps_hash_of_topics:
            return [records.group_epoch(self.group_id, epoch, hashed)]
        changes = [records.group_epoch(self.group_id, epoch, 0)]
        if hashed != self.metadata_hash:
            changes.insert(0, records.partition_metadata(self.group_id, known_topics(names, node.metadata)))
        return changes

    # the log

    def commit(self, changes: Iterable[Change], before: Sequence[StateRecord] = ()) -> int:
        """Write changes and replay them; the offset of the last record. `before` is written first: it removes what the
        group was before it became this one. Raises KafkaError with a code for the client; nothing has changed then."""
        changes, shard = list(changes), self.shard
        offset = shard.append([*before, *(change.encoded(shard.node.release) for change in changes)])
        former = shard.groups.get(self.group_id)
        if changes:
            shard.groups[self.group_id] = self
        for change in changes:
            self.replay(change)
        if changes and former is not None and former is not self:
            former.close(Code.REBALANCE_IN_PROGRESS)  # its members may join again at once: they find this group
        return offset

    def replay(self, change: Change) -> None:
        """Change the group as a record of it says."""
        key, value = change
        match key:
            case ConsumerGroupMetadataKey():
                self._replay_epoch(value)
            case ConsumerGroupPartitionMetadataKey():
                self._replay_partition_metadata(value)
            case ConsumerGroupMemberMetadataKey():
                self._replay_member(key.member_id, value)
            case ConsumerGroupTargetAssignmentMetadataKey():
                self._replay_target_epoch(value)
            case ConsumerGroupTargetAssignmentMemberKey():
                self._replay_target(key.member_id, value)
            case ConsumerGroupCurrentMemberAssignmentKey():
                self._replay_current(key.member_id, value)
            case ConsumerGroupRegularExpressionKey():
                self._replay_regex(key.regular_expression, value)

    def _replay_epoch(self, value: Message | None) -> None:
        if isinstance(value, ConsumerGroupMetadataValue):
            self.group_epoch = value.epoch
            if self.shard.node.release.keeps_hash_of_topics:
                self.metadata_hash = value.metadata_hash
            return
        self.close()
        if self.shard.groups.get(self.group_id) is self:
            del self.shard.groups[self.group_id]

    def _replay_partition_metadata(self, value: Message | None) -> None:
        self.has_partition_metadata = value is not None
        if isinstance(value, ConsumerGroupPartitionMetadataValue) and not self.shard.node.release.keeps_hash_of_topics:
            self.metadata_hash = hash_without_racks(
                (topic.topic_name, topic.topic_id, topic.num_partitions) for topic in value.topics
            )

    def _replay_member(self, member_id: str, value: Message | None) -> None:
        if not isinstance(value, ConsumerGroupMemberMetadataValue):
            self.members.remove(member_id)
            return
        classic = None
        if value.classic_member_metadata is not None:
            classic = ClassicProtocols(
                value.classic_member_metadata.session_timeout_ms,
                tuple((known.name, known.metadata) for known in value.classic_member_metadata.supported_protocols),
            )
        before = self.members.get(member_id) or ConsumerMember(member_id)
        self.members.update(
            before._replace(
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                topic_names=frozenset(value.subscribed_topic_names),
                topic_regex=value.subscribed_topic_regex,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                server_assignor=value.server_assignor,
                classic=classic,
            )
        )

    def _replay_target_epoch(self, value: Message | None) -> None:
        if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
            self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
        else:
            self.assignment_epoch, self.assignment_timestamp_ms = -1, 0

    def _replay_target(self, member_id: str, value: Message | None) -> None:
        """Replace a member's target; without a value it has none any more."""
        for topic_id, partitions in self.target.pop(member_id, {}).items():
            holders = self.assigned.get(topic_id, {})
            for partition in partitions:
                if holders.get(partition) == member_id:
                    del holders[partition]
            if not holders:
                self.assigned.pop(topic_id, None)
        if isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
            assignment = {given.topic_id: given.partitions for given in value.topic_partitions}
            self.target[member_id] = assignment
            for topic_id, partitions in assignment.items():
                self.assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    def _replay_current(self, member_id: str, value: Message | None) -> None:
        before = self.members.get(member_id)
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            known = value.state in set(MemberState)
            self.members.update(
                (before or ConsumerMember(member_id))._replace(
                    member_epoch=value.member_epoch,
                    previous_member_epoch=value.previous_member_epoch,
                    state=MemberState(value.state) if known else MemberState.UNKNOWN,
                    assigned=_owned(value.assigned_partitions, value.member_epoch),
                    pending_revocation=_owned(value.partitions_pending_revocation, value.member_epoch),
                )
            )
        elif before is not None:
            self.members.update(
                before._replace(member_epoch=LEAVING, previous_member_epoch=LEAVING, assigned={}, pending_revocation={})
            )

    def _replay_regex(self, expression: str, value: Message | None) -> None:
        if isinstance(value, ConsumerGroupRegularExpressionValue):
            self.members.resolved[expression] = Resolved(frozenset(value.topics), value.version, value.timestamp)
        else:
            self.members.resolved.pop(expression, None)

    def tombstones(self) -> list[StateRecord]:
        """The records that remove the group from the log."""
        changes = records.without_group(self.group_id, self.members.in_order(), self.members.resolved)
        return [change.encoded(self.shard.node.release) for change in changes]

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Another broker coordinates the group now, or it has become another one. Nobody waits for an answer here."""
        self.timers.close()

    # ConsumerGroupDescribe

    def described(self) -> ConsumerGroupDescribeResponse.Group:
        """The group as ConsumerGroupDescribe shows it (ConsumerGroup.asDescribedGroup)."""
        return ConsumerGroupDescribeResponse.Group(
            group_id=self.group_id,
            group_state=self.state,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            assignor_name=self.members.preferred_assignor() or assignors(self.shard.node)[0],
            members=[self._described_member(self.member(member_id)) for member_id in self.members.in_order()],
        )

    def _described_member(self, member: ConsumerMember) -> ConsumerGroupDescribeResponse.Group.Member:
        metadata = self.shard.node.metadata
        owned: dict[bytes, list[int]] = {topic_id: list(epochs) for topic_id, epochs in member.assigned.items()}
        shows_pending = self.shard.node.release.keeps_assignment_epochs
        for topic_id, epochs in member.pending_revocation.items() if shows_pending else ():
            owned.setdefault(topic_id, []).extend(epochs)
        return ConsumerGroupDescribeResponse.Group.Member(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topic_names),
            subscribed_topic_regex=member.topic_regex,
            assignment=_described_assignment(owned, metadata),
            target_assignment=_described_assignment(self.target.get(member.member_id, {}), metadata),
            member_type=CLASSIC if member.uses_classic_protocol else CONSUMER,
        )


def _described_assignment(partitions: Assignment, metadata: MetadataImage) -> DescribedAssignment:
    """Partitions of the topics that still exist, with their names."""
    return DescribedAssignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=list(indexes))
            for topic_id, indexes in partitions.items()
            if (topic := metadata.topic_by_id(topic_id)) is not None
        ]
    )


def _owned(written: Iterable[OwnedPartitions], epoch: int) -> Owned:
    """Partitions with their epochs; releases before 4.3 wrote none."""
    owned: Owned = {}
    for of in written:
        epochs = of.assignment_epochs
        if epochs is None or len(epochs) != len(of.partitions):
            epochs = [max(epoch, 0)] * len(of.partitions)
        owned[of.topic_id] = dict(zip(of.partitions, epochs, strict=True))
    return owned


# May a member commit or read offsets with the epoch that it gives? (validateOffsetCommit, validateOffsetFetch)


def _check_commit(
    member: ConsumerMember, epoch: int, version: int, release: Release, *, transactional: bool
) -> PartitionCheck | None:
    """Raise KafkaError where this member may commit nothing; else what each partition has to be asked for."""
    if not transactional and not member.uses_classic_protocol and version < FIRST_WITH_MEMBER_EPOCHS:
        raise KafkaError(
            Code.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return None
    if epoch < member.member_epoch and release.keeps_assignment_epochs:
        return _late(member, epoch)
    if not release.keeps_assignment_epochs:
        _refuse_epoch(member, epoch)
    word = "generation id" if member.uses_classic_protocol else "member epoch"
    raise _stale(member, f"Received {word} {epoch} is newer than current member epoch {member.member_epoch}.")


def _check_fetch(member: ConsumerMember, epoch: int) -> None:
    """Raise KafkaError where this member may not read offsets in that epoch."""
    if epoch != member.member_epoch:
        _refuse_epoch(member, epoch)


def _refuse_epoch(member: ConsumerMember, epoch: int) -> None:
    word = "generation id" if member.uses_classic_protocol else "member epoch"
    raise _stale(member, f"The received {word} {epoch} does not match the expected member epoch {member.member_epoch}.")


def _late(member: ConsumerMember, epoch: int) -> PartitionCheck:
    def check(topic: str, topic_id: bytes, partition: int) -> None:
        for owned in (member.assigned, member.pending_revocation):
            since = owned.get(topic_id, {}).get(partition)
            if since is not None:
                break
        else:
            raise _stale(member, f"Partition {topic}-{partition} is not assigned or pending revocation for member.")
        if epoch < since:
            word = "generation id" if member.uses_classic_protocol else "member epoch"
            raise _stale(
                member,
                f"Received {word} {epoch} is older than assignment epoch {since} for partition {topic}-{partition}.",
            )

    return check


def _stale(member: ConsumerMember, message: str) -> KafkaError:
    return KafkaError(Code.ILLEGAL_GENERATION if member.uses_classic_protocol else Code.STALE_MEMBER_EPOCH, message)


# groups of a shard


def consumer_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """A consumer group that exists. GROUP_ID_NOT_FOUND for any other group."""
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def existing_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """The same for a heartbeat, which has another message."""
    if group_id not in shard.groups:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    return consumer_group(shard, group_id)


def replay(shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    """Replay a record of the log."""
    key_type, value_type = KEYS[version]
    read = key_type.decode(key, version)
    group = shard.groups.get(read.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:  # it is a group of another kind by now, or none
            return
        group = shard.groups[read.group_id] = ConsumerGroup(shard, read.group_id)
    group.replay(Change(read, None if value is None else value_type.decode(value, 0, 2)))
