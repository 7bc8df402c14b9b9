"""A share group, as maintained by its coordinator (KIP-932).

    Empty ── first member joins ──> Stable ── last member leaves ──> Empty ── DeleteGroups ──> Dead

A member always moves to its target assignment at once, because members share partitions and need not wait for each
other. Clients commit no offsets in a share group: what its members have consumed is the state of the share partitions
(`states`).

Source: org.apache.kafka.coordinator.group.modern.share.ShareGroup.
"""

import logging
from collections.abc import Iterable

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.group import GroupType, PartitionCheck
from kafkalet.broker.groups.modern.group import SubscribedGroup, assignment_of, group_of
from kafkalet.broker.groups.modern.members import LEAVING, Members
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.java_order import order_of_set
from kafkalet.broker.quoting import quoted, shown
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages import share_group_metadata as messages
from kafkalet.protocol.messages.consumer_group_describe import Assignment as DescribedAssignment
from kafkalet.protocol.messages.consumer_group_describe import TopicPartitions
from kafkalet.protocol.messages.share_group_describe import ShareGroupDescribeResponse
from kafkalet.protocol.schema import Message

from . import records
from .members import ShareMember
from .states import States, StateTopic, StateTopics

_LOG = logging.getLogger(__name__)

ASSIGNOR = "simple"

DescribedMember = ShareGroupDescribeResponse.Group.Member


class ShareGroup(SubscribedGroup[ShareMember]):
    """A share group."""

    type = GroupType.SHARE
    protocol_type = "share"
    record_types = records.KEYS
    expires = False

    def __init__(self, shard: Shard, group_id: str) -> None:
        super().__init__(shard, group_id)
        self.members: Members[ShareMember] = Members()
        self.states: States | None = None
        """The partitions with a state; None if the group has never had any."""

    @property
    def state(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    # The Group interface

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> PartitionCheck | None:
        raise self._no_offsets()

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Never raise: for OffsetFetch, a share group is a group without committed offsets."""

    def check_delete_offsets(self) -> None:
        raise self._no_offsets()

    def _no_offsets(self) -> KafkaError:
        return KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group.")

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return None: a share group has no committed offsets."""
        return None

    def offset_committed(self, member_id: str) -> None:
        """Do nothing: members commit no offsets."""

    def tombstones(self) -> list[StateRecord]:
        return [*map(self.encoded, records.without_group(self.group_id, self.members.in_order()))]

    # Configuration: taken from the group (resource type GROUP) if set there, otherwise from the broker

    @property
    def session_timeout_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("share.session.timeout.ms", config.group_share_session_timeout_ms)

    @property
    def heartbeat_interval_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("share.heartbeat.interval.ms", config.group_share_heartbeat_interval_ms)

    @property
    def assignment_interval_ms(self) -> int:
        node = self.shard.node
        if not node.release.keeps_assignment_epochs:
            return 0
        return self.own_number("share.assignment.interval.ms", node.config.group_share_assignment_interval_ms)

    @property
    def retry_interval_ms(self) -> int:
        """The time after which the initialization of states is tried again."""
        config = self.shard.node.config
        if not self.shard.node.release.waits_longer_for_share_states:
            return 2 * config.offsets_commit_timeout_ms
        return max(config.group_share_initialize_retry_interval_ms, config.offsets_commit_timeout_ms)

    # Records

    def enter_epoch(self, epoch: int, names: Iterable[str]) -> list[Change]:
        """Return the record of a new group epoch, in which the members subscribe to these topics."""
        return [records.group_epoch(self.group_id, epoch, self.hash_of(names))]

    def with_states(self, states: States) -> Change:
        """Return the record of new states."""
        return records.states(self.group_id, states.with_current_names(self.shard.node.metadata))

    def replay(self, change: Change) -> None:
        key, value = change
        match key:
            case messages.ShareGroupMemberMetadataKey():
                self._replay_member(key.member_id, value)
            case messages.ShareGroupMetadataKey():
                self._replay_epoch(value)
            case messages.ShareGroupTargetAssignmentMetadataKey():
                self.replay_target_epoch(
                    value if isinstance(value, messages.ShareGroupTargetAssignmentMetadataValue) else None
                )
            case messages.ShareGroupTargetAssignmentMemberKey():
                self.replay_target(
                    key.member_id, value if isinstance(value, messages.ShareGroupTargetAssignmentMemberValue) else None
                )
            case messages.ShareGroupCurrentMemberAssignmentKey():
                self._replay_current(key.member_id, value)
            case messages.ShareGroupStatePartitionMetadataKey():
                self._replay_states(value)

    def _replay_member(self, member_id: str, value: Message | None) -> None:
        if not isinstance(value, messages.ShareGroupMemberMetadataValue):
            self.members.remove(member_id)
            return
        before = self.members.get(member_id) or ShareMember(member_id)
        self.members.update(
            before._replace(
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                topic_names=frozenset(value.subscribed_topic_names),
            )
        )

    def _replay_epoch(self, value: Message | None) -> None:
        if isinstance(value, messages.ShareGroupMetadataValue):
            self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash
        else:
            self.replay_end()

    def _replay_current(self, member_id: str, value: Message | None) -> None:
        before = self.members.get(member_id)
        if isinstance(value, messages.ShareGroupCurrentMemberAssignmentValue):
            self.members.update(
                (before or ShareMember(member_id))._replace(
                    member_epoch=value.member_epoch,
                    previous_member_epoch=value.previous_member_epoch,
                    state=value.state,
                    assigned=assignment_of(value.assigned_partitions),
                )
            )
        elif before is not None:
            self.members.update(before._replace(member_epoch=LEAVING, previous_member_epoch=LEAVING, assigned={}))

    def _replay_states(self, value: Message | None) -> None:
        if not isinstance(value, messages.ShareGroupStatePartitionMetadataValue):
            self.states = None
            return
        now_ms = self.shard.clock.now_ms()
        self.states = States(
            _topics(value.initializing_topics, now_ms),
            _topics(value.initialized_topics, now_ms),
            {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
        )

    # ShareGroupDescribe

    def described(self) -> ShareGroupDescribeResponse.Group:
        """Return the group as described by ShareGroupDescribe (ShareGroup.asDescribedGroup)."""
        return ShareGroupDescribeResponse.Group(
            group_id=self.group_id,
            group_state=self.state,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            assignor_name=ASSIGNOR,
            members=[self._described_member(self.member(member_id)) for member_id in self.members.in_order()],
        )

    def _described_member(self, member: ShareMember) -> DescribedMember:
        metadata = self.shard.node.metadata
        return DescribedMember(
            member_id=member.member_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=order_of_set(sorted(member.topic_names)),
            assignment=DescribedAssignment(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=list(partitions))
                    for topic_id, partitions in member.assigned.items()
                    if (topic := metadata.topic_by_id(topic_id)) is not None
                ]
            ),
        )


def _topics(written: list[messages.TopicPartitionsInfo], now_ms: int) -> StateTopics:
    return {topic.topic_id: StateTopic(topic.topic_name, frozenset(topic.partitions), now_ms) for topic in written}


def in_subscription(assignment: Assignment, member: ShareMember, node: Node) -> Assignment:
    """Return an assignment without the topics to which the member does not subscribe, or that do not exist."""
    topics = {topic_id: node.metadata.topic_by_id(topic_id) for topic_id in assignment}
    return {
        topic_id: of
        for topic_id, of in assignment.items()
        if (topic := topics[topic_id]) is not None and topic.name in member.topic_names
    }


# The share groups of a shard


def group_to_join(shard: Shard, group_id: str) -> ShareGroup:
    """Return the share group that a member joins, which becomes a group of the shard with its first record.

    Raises GROUP_ID_NOT_FOUND if the id is that of another kind of group, even if that group is empty.
    """
    return group_of(ShareGroup, shard.groups.get(group_id) or ShareGroup(shard, group_id), group_id)


def forget_deleted_topics(shard: Shard) -> None:
    """Forget the share partitions of topics that do not exist any more."""
    for group in list(shard.groups.values()):
        if not isinstance(group, ShareGroup) or group.states is None:
            continue
        states = group.states
        known = {*states.initializing, *states.initialized, *states.deleting}
        gone = [topic_id for topic_id in known if shard.node.metadata.topic_by_id(topic_id) is None]
        if gone:
            try:
                group.commit([group.with_states(states.without_topics(gone))])
            except KafkaError as error:
                _LOG.warning("group %s: cannot forget deleted topics: %s", quoted(group.group_id), shown(error))


def runs_share_groups(node: Node) -> bool:
    """Return whether share groups are enabled, which depends only on the feature `share.version`."""
    return node.feature_level("share.version") >= 1
