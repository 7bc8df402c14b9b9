"""Online migration of groups between the classic and the consumer protocol (KIP-848).

    upgrade     A classic group becomes a consumer group when the first member of the consumer protocol joins. This
                requires consumers with one of Kafka's own assignors. Their assignments are decoded, and each member
                keeps its partitions, with the generation as its member epoch.
    downgrade   A consumer group becomes a classic group when its last member of the consumer protocol leaves and
                classic members remain. Each keeps its target assignment. The group starts a rebalance immediately,
                unless a static member has only switched its protocol and nothing else has changed.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.getOrMaybeCreateConsumerGroup, convertToConsumerGroup,
ConsumerGroup.fromClassicGroup; convertToClassicGroup, ClassicGroup.fromConsumerGroup.
"""

import logging
from collections.abc import Mapping, Sequence

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.classic.consumer_protocol import (
    NAME,
    Malformed,
    by_ids,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from kafkalet.broker.groups.classic.group import ClassicGroup, State, join_error, sync_error
from kafkalet.broker.groups.classic.members import ClassicMember
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError

from . import records
from .group import ConsumerGroup
from .members import ClassicProtocols, ConsumerMember

_LOG = logging.getLogger(__name__)


def may_migrate(node: Node, way: str) -> bool:
    """Return whether groups may be converted to the other protocol. `way` is "upgrade" or "downgrade"."""
    if not node.release.runs_consumer_groups:
        return False
    return (node.config.group_consumer_migration_policy or "").lower() in (way, "bidirectional")


# Upgrade


def group_to_join(shard: Shard, group_id: str) -> tuple[ConsumerGroup, list[StateRecord]]:
    """Return the consumer group that a member joins. If necessary, create it or convert a classic group.

    Also returns the records that have to be written before those of the consumer group. Raises GROUP_ID_NOT_FOUND if
    the classic group cannot be converted.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return ConsumerGroup(shard, group_id), []
    if isinstance(group, ConsumerGroup):
        return group, []
    if not isinstance(group, ClassicGroup):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    if group.is_empty:
        return ConsumerGroup(shard, group_id), group.tombstones()
    return _upgrade(group)


def _upgrade(classic: ClassicGroup) -> tuple[ConsumerGroup, list[StateRecord]]:
    shard, group_id = classic.shard, classic.group_id
    _check_upgrade(classic)
    try:
        members = [_consumer_member(classic, member) for member in classic.members]
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
        *group.enter_epoch(classic.generation, topics),
        *(records.target(group_id, member_id, target) for member_id, target in targets.items()),
        records.target_epoch(group_id, classic.generation, 0),
        *(records.current(group_id, member) for member in members),
    ]
    for change in changes:
        group.replay(change)
    _LOG.info("group %s: converting the classic group to a consumer group", quoted(group_id))
    return group, [*classic.tombstones(), *map(group.encoded, changes)]


def _check_upgrade(classic: ClassicGroup) -> None:
    node = classic.shard.node
    if not may_migrate(node, "upgrade"):
        raise _refused(classic.group_id, "because online upgrade is disabled.")
    if classic.members.protocol_type != NAME:
        raise _refused(classic.group_id, "because the group does not use the consumer embedded protocol.")
    if len(classic.members) > node.config.group_consumer_max_size:
        raise _refused(classic.group_id, "because the group size exceeds the consumer group maximum size.")


def _send_back(classic: ClassicGroup) -> None:
    """Make all waiting members join again, as Kafka does at the start of an upgrade even if the upgrade then fails."""
    for member in classic.members:
        classic.answer_join(member, join_error(Code.REBALANCE_IN_PROGRESS, member.member_id))
        classic.answer_sync(member, sync_error(Code.REBALANCE_IN_PROGRESS))
    classic.flush()


def _refused(group_id: str, reason: str) -> KafkaError:
    message = f"Cannot upgrade classic group {group_id} to consumer group {reason}"
    return KafkaError(Code.GROUP_ID_NOT_FOUND, message)


def _consumer_member(classic: ClassicGroup, member: ClassicMember) -> ConsumerMember:
    metadata, epoch = classic.shard.node.metadata, classic.generation
    if classic.protocol_name not in member.protocols:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)  # occurs in a rebalance; Kafka also fails here
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


# Downgrade


def can_downgrade_without(group: ConsumerGroup, leaving: Sequence[ConsumerMember]) -> bool:
    """Return whether the group has to be converted to a classic group once the members in `leaving` have left."""
    left = len(group.members) - len(leaving)
    return group.members.all_classic_without(leaving) and left > 0 and _may_downgrade(group, left)


def can_downgrade_with(group: ConsumerGroup, replaced: ConsumerMember | None) -> bool:
    """Return whether the group becomes a classic group when a classic member replaces this static member."""
    if replaced is None or replaced.uses_classic_protocol:
        return False
    members = len(group.members)
    return group.members.classic == members - 1 and _may_downgrade(group, members)


def _may_downgrade(group: ConsumerGroup, members: int) -> bool:
    node = group.shard.node
    return may_migrate(node, "downgrade") and members <= node.config.group_max_size


def downgrade(
    group: ConsumerGroup,
    leaving: Sequence[ConsumerMember] = (),
    joining: ConsumerMember | None = None,
    changes: Sequence[Change] = (),
    *,
    rebalances: bool = True,
) -> int:
    """Replace the group with a classic group and return the offset of the last record.

    The records of `changes` are written first, but not replayed. `joining` replaces the static member with its instance
    id.
    """
    shard, release = group.shard, group.shard.node.release
    replaced = None if joining is None else group.members.static(joining.instance_id)
    new_ids = {} if joining is None or replaced is None else {replaced.member_id: joining.member_id}
    gone = {member.member_id for member in leaving} | new_ids.keys()
    members = [group.member(member_id) for member_id in group.members.in_order() if member_id not in gone]
    targets = {new_ids.get(member_id, member_id): target for member_id, target in group.target.items()}
    classic = _classic_group(group, members if joining is None else [*members, joining], targets)
    written_ids = [new_ids.get(member_id, member_id) for member_id in group.members.in_order()]
    tombstones = records.without_group(group.group_id, written_ids, group.members.resolved)
    offset = shard.append(
        [
            *(records.encoded(change, release) for change in (*changes, *tombstones)),
            classic.record({member.member_id: member.assignment for member in classic.members}),
        ]
    )
    group.close()
    shard.groups[group.group_id] = classic
    _LOG.info("group %s: converted the consumer group to a classic group", quoted(group.group_id))
    for member in classic.members:
        classic.renew_session(member)
    if rebalances:
        classic.prepare_rebalance()
        classic.flush()
    return offset


def _classic_group(
    group: ConsumerGroup, members: Sequence[ConsumerMember], targets: Mapping[str, Assignment]
) -> ClassicGroup:
    """Return a classic group with these members, whose assignments are those in `targets`."""
    classic = ClassicGroup(group.shard, group.group_id, State.STABLE)
    classic.generation = group.group_epoch
    for member in members:
        classic.members.add(_classic_member(member))
    classic.protocol_name = classic.select_protocol()
    for each in classic.members:
        version = version_of(each.protocols[classic.protocol_name])
        each.assignment = write_assignment(targets.get(each.member_id, {}), group.shard.node.metadata, version)
    return classic


def _classic_member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        session_timeout_ms=member.classic.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocol_type=NAME,
        protocols=dict(member.classic.protocols),
    )
