"""A consumer group becomes a classic one: when its last member of the consumer protocol has gone and others are left.

Each member goes on with the assignment that was meant for it; the group rebalances at once, unless a static member
has only changed its protocol and nothing else is due.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.convertToClassicGroup, ClassicGroup.fromConsumerGroup.
"""

import logging
from collections.abc import Sequence

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.classic.consumer_protocol import NAME, version_of, write_assignment
from kafkalet.broker.groups.classic.generations import State
from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.classic.members import ClassicMember
from kafkalet.broker.quoting import quoted

from . import records
from .config import may_migrate
from .members import ConsumerMember
from .records import Change
from .state import ConsumerState

_LOG = logging.getLogger(__name__)


def can_downgrade_without(group: ConsumerState, leaving: Sequence[ConsumerMember]) -> bool:
    """Whether the group is a classic one once these members have gone."""
    left = len(group.members) - len(leaving)
    return group.members.all_classic_without(leaving) and left > 0 and _may_downgrade(group, left)


def can_downgrade_with(group: ConsumerState, replaced: ConsumerMember | None) -> bool:
    """Whether the group is a classic one once this static member is replaced by one of the classic protocol."""
    if replaced is None or replaced.uses_classic_protocol:
        return False
    members = len(group.members)
    return group.members.classic == members - 1 and _may_downgrade(group, members)


def _may_downgrade(group: ConsumerState, members: int) -> bool:
    node = group.shard.node
    return may_migrate(node, "downgrade") and members <= node.config.group_max_size


def downgrade(
    group: ConsumerState,
    leaving: Sequence[ConsumerMember] = (),
    joining: ConsumerMember | None = None,
    changes: Sequence[Change] = (),
    *,
    rebalances: bool = True,
) -> int:
    """Put a classic group in the place of this one; the offset of the last record. `changes` are written before, and
    are not taken in any more. `joining` takes the place of the static member of its instance."""
    shard, group_id = group.shard, group.group_id
    classic = ClassicGroup(shard, group_id)
    classic.enter(State.STABLE)
    classic.generation = group.group_epoch
    replaced = None if joining is None else group.members.static(joining.instance_id)
    gone = {member.member_id for member in leaving} | ({replaced.member_id} if replaced is not None else set())
    for member_id in group.members.in_order():
        if member_id not in gone:
            classic.members.add(_classic_member(group.member(member_id)))
    if joining is not None:
        classic.members.add(_classic_member(joining))
    classic.protocol_name = classic.select_protocol()
    assignments: dict[str, bytes] = {}
    for member in classic.members:
        known = member.member_id
        if joining is not None and replaced is not None and known == joining.member_id:
            known = replaced.member_id
        version = version_of(member.protocols[classic.protocol_name])
        member.assignment = write_assignment(group.target.get(known, {}), shard.node.metadata, version)
        assignments[member.member_id] = member.assignment
    tombstones = _tombstones(group, joining, replaced)
    offset = shard.append(
        [*(change.encoded(shard.node.release) for change in changes), *tombstones, classic.record(assignments)]
    )
    group.close()
    shard.groups[group_id] = classic
    _LOG.info("group %s: the consumer group is a classic one now", quoted(group_id))
    for member in classic.members:
        classic.renew_session(member)
    if rebalances:
        classic.prepare_rebalance()
        classic.flush()
    return offset


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


def _tombstones(
    group: ConsumerState, joining: ConsumerMember | None, replaced: ConsumerMember | None
) -> list[StateRecord]:
    member_ids = group.members.in_order()
    if joining is not None and replaced is not None:
        member_ids = [joining.member_id if member_id == replaced.member_id else member_id for member_id in member_ids]
    changes = records.without_group(group.group_id, member_ids, group.members.resolved)
    return [change.encoded(group.shard.node.release) for change in changes]
