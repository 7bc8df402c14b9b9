"""A group of the consumer protocol (KIP-848), as maintained by its coordinator.

    Empty ── group epoch > assignment epoch ──> Assigning ── target ──> Reconciling ── all reconciled ──> Stable

A member commits and fetches offsets with its current member epoch. With an older epoch it may still commit offsets of
partitions that it was assigned in that epoch or earlier (KIP-1251, 4.3), because the commit may have been sent before
the member advanced. Classic members get the error codes of the classic protocol.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.
"""

from collections.abc import Iterable

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.release import Release
from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.group import GroupType, PartitionCheck
from kafkalet.broker.groups.modern.group import CommittingGroup, SubscribedGroup, lists_protocol
from kafkalet.broker.groups.modern.members import LEAVING
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.modern.topics import hash_without_racks, known_topics
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.java_order import order_of_set
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages import consumer_group_state as messages
from kafkalet.protocol.messages.consumer_group_describe import Assignment as DescribedAssignment
from kafkalet.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse, TopicPartitions
from kafkalet.protocol.schema import Message

from . import records
from .members import ClassicProtocols, ConsumerMember, ConsumerMembers, MemberState, Owned, Resolved

FIRST_WITH_MEMBER_EPOCHS = 9
CLASSIC, CONSUMER = 0, 1
"""The values of `member_type` in ConsumerGroupDescribe, for members of the two protocols."""
_PACKAGE = "org.apache.kafka.coordinator.group.assignor."


class ConsumerGroup(SubscribedGroup[ConsumerMember], CommittingGroup[ConsumerMember]):
    """A group of the consumer protocol, which can have classic members while it is migrated."""

    type = GroupType.CONSUMER
    protocol_type = "consumer"
    record_types = records.KEYS
    expires = True

    def __init__(self, shard: Shard, group_id: str) -> None:
        super().__init__(shard, group_id)
        self.members: ConsumerMembers = ConsumerMembers()
        self.has_partition_metadata = False
        """Whether the log has a partition metadata record from a release before 4.1. The next change removes it."""
        self.is_resolving = False
        """Whether regular expressions are being resolved."""

    @property
    def state(self) -> str:
        if not len(self.members):
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    def target_of(self, member: ConsumerMember) -> Assignment:
        """Return the target assignment of a member. A restarted static member takes over that of its predecessor."""
        known = self.members.static(member.instance_id) if member.instance_id is not None else member
        return {} if known is None else self.target.get(known.member_id, {})

    # The Group interface

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> PartitionCheck | None:
        if (epoch < 0 and self.is_empty) or (transactional and (member_id, instance_id, epoch) == ("", None, -1)):
            return None
        return _check_commit(
            self.member(member_id), epoch, version, self.shard.node.release, transactional=transactional
        )

    def check_fetch_of(self, member: ConsumerMember, epoch: int) -> None:
        if epoch != member.member_epoch:
            _refuse_epoch(member, epoch)

    # configuration: taken from the group (resource type GROUP) if set there, otherwise from the broker

    @property
    def session_timeout_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("consumer.session.timeout.ms", config.group_consumer_session_timeout_ms)

    @property
    def heartbeat_interval_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms)

    @property
    def assignment_interval_ms(self) -> int:
        node = self.shard.node
        if not node.release.keeps_assignment_epochs:
            return 0
        return self.own_number("consumer.assignment.interval.ms", node.config.group_consumer_assignment_interval_ms)

    # Epochs

    def enter_epoch(self, epoch: int, names: Iterable[str]) -> list[Change]:
        """Return the records of a new group epoch, in which the members subscribe to these topics.

        Since 4.1, the epoch record contains the hash of the topics. Version 4.0 writes a separate record with the topic
        metadata, but only if it has changed (computeSubscriptionMetadata).
        """
        names, node = list(names), self.shard.node
        hashed = self.hash_of(names)
        if node.release.keeps_hash_of_topics:
            return [records.group_epoch(self.group_id, epoch, hashed)]
        changes = [records.group_epoch(self.group_id, epoch, 0)]
        if hashed != self.metadata_hash:
            changes.insert(0, records.partition_metadata(self.group_id, known_topics(names, node.metadata)))
        return changes

    # Records

    def encoded(self, change: Change) -> StateRecord:
        return records.encoded(change, self.shard.node.release)

    def replay(self, change: Change) -> None:
        key, value = change
        match key:
            case messages.ConsumerGroupMetadataKey():
                self._replay_epoch(value)
            case messages.ConsumerGroupPartitionMetadataKey():
                self._replay_partition_metadata(value)
            case messages.ConsumerGroupMemberMetadataKey():
                self._replay_member(key.member_id, value)
            case messages.ConsumerGroupTargetAssignmentMetadataKey():
                self.replay_target_epoch(
                    value if isinstance(value, messages.ConsumerGroupTargetAssignmentMetadataValue) else None
                )
            case messages.ConsumerGroupTargetAssignmentMemberKey():
                self.replay_target(
                    key.member_id,
                    value if isinstance(value, messages.ConsumerGroupTargetAssignmentMemberValue) else None,
                )
            case messages.ConsumerGroupCurrentMemberAssignmentKey():
                self._replay_current(key.member_id, value)
            case messages.ConsumerGroupRegularExpressionKey():
                self._replay_regex(key.regular_expression, value)

    def _replay_epoch(self, value: Message | None) -> None:
        if isinstance(value, messages.ConsumerGroupMetadataValue):
            self.group_epoch = value.epoch
            if self.shard.node.release.keeps_hash_of_topics:
                self.metadata_hash = value.metadata_hash
            return
        self.replay_end()

    def _replay_partition_metadata(self, value: Message | None) -> None:
        self.has_partition_metadata = value is not None
        if (
            isinstance(value, messages.ConsumerGroupPartitionMetadataValue)
            and not self.shard.node.release.keeps_hash_of_topics
        ):
            self.metadata_hash = hash_without_racks(
                (topic.topic_name, topic.topic_id, topic.num_partitions) for topic in value.topics
            )

    def _replay_member(self, member_id: str, value: Message | None) -> None:
        if not isinstance(value, messages.ConsumerGroupMemberMetadataValue):
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

    def _replay_current(self, member_id: str, value: Message | None) -> None:
        before = self.members.get(member_id)
        if isinstance(value, messages.ConsumerGroupCurrentMemberAssignmentValue):
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
        if isinstance(value, messages.ConsumerGroupRegularExpressionValue):
            self.members.resolved[expression] = Resolved(frozenset(value.topics), value.version, value.timestamp)
        else:
            self.members.resolved.pop(expression, None)

    def tombstones(self) -> list[StateRecord]:
        """Return the tombstones of all records of the group."""
        changes = records.without_group(self.group_id, self.members.in_order(), self.members.resolved)
        return [*map(self.encoded, changes)]

    # ConsumerGroupDescribe

    def described(self) -> ConsumerGroupDescribeResponse.Group:
        """Return the group as described by ConsumerGroupDescribe (ConsumerGroup.asDescribedGroup)."""
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
            subscribed_topic_names=order_of_set(sorted(member.topic_names)),
            subscribed_topic_regex=member.topic_regex,
            assignment=_described_assignment(owned, metadata),
            target_assignment=_described_assignment(self.target.get(member.member_id, {}), metadata),
            member_type=CLASSIC if member.uses_classic_protocol else CONSUMER,
        )


def _described_assignment(partitions: Assignment, metadata: MetadataImage) -> DescribedAssignment:
    """Return the partitions of all topics that still exist, with their names."""
    return DescribedAssignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=list(indexes))
            for topic_id, indexes in partitions.items()
            if (topic := metadata.topic_by_id(topic_id)) is not None
        ]
    )


def _owned(written: Iterable[messages.OwnedPartitions], epoch: int) -> Owned:
    """Return partitions with their assignment epochs, which releases before 4.3 did not write."""
    owned: Owned = {}
    for of in written:
        epochs = of.assignment_epochs
        if epochs is None or len(epochs) != len(of.partitions):
            epochs = [max(epoch, 0)] * len(of.partitions)
        owned[of.topic_id] = dict(zip(of.partitions, epochs, strict=True))
    return owned


# Validation of the member epoch in offset commits and fetches (validateOffsetCommit, validateOffsetFetch)


def _check_commit(
    member: ConsumerMember, epoch: int, version: int, release: Release, *, transactional: bool
) -> PartitionCheck | None:
    """Raise KafkaError if the member may not commit any offsets.

    If the decision depends on the partition, a check to call for each partition is returned.
    """
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


# The consumer groups of a shard


# The configuration (GroupConfigManager, GroupCoordinatorConfig)


def assignors(node: Node) -> list[str]:
    """Return the names of the enabled assignors, the default one first.

    `group.consumer.assignors` may also contain the class names of Kafka's own assignors. Other classes are ignored,
    because Java code cannot run here.
    """
    given = node.config.given().get("group.consumer.assignors")
    if given is None:
        return list(ASSIGNORS)
    names = (name.strip().removeprefix(_PACKAGE).removesuffix("Assignor").lower() for name in given.split(","))
    return [name for name in names if name in ASSIGNORS] or list(ASSIGNORS)


def runs_consumer_groups(node: Node) -> bool:
    """Return whether the consumer protocol is enabled.

    This depends on `group.coordinator.rebalance.protocols` and, in releases that have it, on the feature
    `group.version`.
    """
    is_released = node.release.runs_consumer_groups
    is_listed = lists_protocol(node, "consumer", default=is_released)
    return is_listed and (not is_released or node.feature_level("group.version") >= 1)
