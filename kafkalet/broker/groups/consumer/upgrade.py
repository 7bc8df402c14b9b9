"""A classic group becomes a consumer group: when the first member of the consumer protocol joins it (KIP-848).

That is possible for groups of consumers whose members use one of Kafka's own assignors: what they have is read from
their assignments, and each goes on with it, in the epoch that was its generation.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.getOrMaybeCreateConsumerGroup, convertToConsumerGroup,
ConsumerGroup.fromClassicGroup.
"""

import logging

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.classic.consumer_protocol import NAME, Malformed, by_ids, read_assignment, read_subscription
from kafkalet.broker.groups.classic.generations import refused, unassigned
from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.classic.members import ClassicMember
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError

from . import records
from .config import may_migrate
from .epochs import enter_epoch
from .group import ConsumerGroup
from .members import ClassicProtocols, ConsumerMember
from .replay import take_in

_LOG = logging.getLogger(__name__)


def consumer_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """A consumer group that exists. GROUP_ID_NOT_FOUND where it does not, or is of another kind."""
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def existing_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """The same for a heartbeat, which says it in other words."""
    if group_id not in shard.groups:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    return consumer_group(shard, group_id)


def group_to_join(shard: Shard, group_id: str) -> tuple[ConsumerGroup, list[StateRecord]]:
    """The consumer group of that name: a new one where there is none, or where the one that there is has to become
    one. With it, what is to be written before anything else of it is. GROUP_ID_NOT_FOUND where it cannot be."""
    group = shard.groups.get(group_id)
    if group is None:
        return ConsumerGroup(shard, group_id), []
    if isinstance(group, ConsumerGroup):
        return group, []
    if group.is_empty:
        return ConsumerGroup(shard, group_id), group.tombstones()
    if not isinstance(group, ClassicGroup):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return _upgrade(group)


def _upgrade(classic: ClassicGroup) -> tuple[ConsumerGroup, list[StateRecord]]:
    shard, group_id = classic.shard, classic.group_id
    _check(classic)
    try:
        members = [_member(classic, member) for member in classic.members]
    except KafkaError:
        _send_back(classic)
        raise
    group = ConsumerGroup(shard, group_id)
    topics = {name for member in members for name in member.topic_names}
    targets = {
        member.member_id: {topic_id: list(epochs) for topic_id, epochs in member.assigned.items()} for member in members
    }
    changes = [
        *(records.member(group_id, member) for member in members),
        *enter_epoch(group, classic.generation, topics),
        *(records.target(group_id, member_id, target) for member_id, target in targets.items()),
        records.target_epoch(group_id, classic.generation, 0),
        *(records.current(group_id, member) for member in members),
    ]
    for change in changes:
        take_in(group, change)
    _LOG.info("group %s: the classic group is about to be a consumer group", quoted(group_id))
    return group, [*classic.tombstones(), *(change.encoded(shard.node.release) for change in changes)]


def _check(classic: ClassicGroup) -> None:
    node = classic.shard.node
    if not may_migrate(node, "upgrade"):
        raise _refused(classic.group_id, "because online upgrade is disabled.")
    if classic.members.protocol_type != NAME:
        raise _refused(classic.group_id, "because the group does not use the consumer embedded protocol.")
    if len(classic.members) > node.config.group_consumer_max_size:
        raise _refused(classic.group_id, "because the group size exceeds the consumer group maximum size.")


def _send_back(classic: ClassicGroup) -> None:
    """Have those who wait ask again: so Kafka begins an upgrade, even one that then comes to nothing."""
    for member in classic.members:
        classic.answer_join(member, refused(Code.REBALANCE_IN_PROGRESS, member.member_id))
        classic.answer_sync(member, unassigned(Code.REBALANCE_IN_PROGRESS))
    classic.flush()


def _refused(group_id: str, reason: str) -> KafkaError:
    message = f"Cannot upgrade classic group {group_id} to consumer group {reason}"
    return KafkaError(Code.GROUP_ID_NOT_FOUND, message)


def _member(classic: ClassicGroup, member: ClassicMember) -> ConsumerMember:
    metadata, epoch = classic.shard.node.metadata, classic.generation
    if classic.protocol_name not in member.protocols:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)  # in the middle of a rebalance, which Kafka stumbles over
    partitions = {}
    try:
        assignment = read_assignment(member.assignment) if member.assignment else None
        subscription = read_subscription(member.protocols[classic.protocol_name])
    except Malformed as problem:
        raise _refused(classic.group_id, "because the embedded consumer protocol is malformed.") from problem
    if assignment is not None:
        if assignment.user_data:
            raise _refused(
                classic.group_id,
                "because an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
                "default assignor before re-attempting the upgrade.",
            )
        partitions = by_ids(assignment.assigned_partitions, metadata)
    return ConsumerMember(
        member.member_id,
        member_epoch=epoch,
        previous_member_epoch=epoch,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        assigned={topic_id: dict.fromkeys(of, epoch) for topic_id, of in partitions.items()},
        classic=ClassicProtocols(member.session_timeout_ms, tuple(member.protocols.items())),
    )
