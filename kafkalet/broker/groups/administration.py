"""Changes to groups that no client requested: evicted members, forced rebalances, moved offsets, deletion.

Like the changes that clients request, they are written to the log before the state in memory changes (shard.py).
DeleteGroups uses `delete`. The test kit uses all of them.
"""

from collections.abc import Mapping

from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import ZERO_UUID

from .classic.group import ClassicGroup, classic_group
from .consumer.group import ConsumerGroup
from .consumer.leaving import fence
from .group import Group, GroupType
from .modern.group import ModernGroup
from .offsets_records import Commit, CommittedOffset
from .shard import Shard


def evict(group: Group, member_id: str) -> None:
    """Remove a member as if its session had timed out. Its client learns of it with its next heartbeat.

    Raises UNKNOWN_MEMBER_ID.
    """
    if isinstance(group, ClassicGroup):
        group.evict(member_id)
    elif isinstance(group, ConsumerGroup):
        fence(group, [group.member(member_id)])
    elif group.type is GroupType.SHARE:  # imported with the first of its kind
        from .share.heartbeat import remove

        remove(group, member_id)
    else:
        from .streams.heartbeat import remove

        remove(group, member_id)


def rebalance(group: Group) -> None:
    """Start a rebalance of a group with members, unless one is in progress.

    A classic group lets all members join again. Any other group enters a new epoch, for which the next heartbeat
    computes a target assignment.
    """
    if isinstance(group, ClassicGroup):
        group.force_rebalance()
    elif isinstance(group, ModernGroup) and group.group_epoch <= group.assignment_epoch:
        group.commit(group.enter_epoch(group.group_epoch + 1, group.subscribed_topics))


def move_offsets(shard: Shard, group_id: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets for a group without members, which is created if it does not exist.

    Raises NON_EMPTY_GROUP if the group has members, and an error of OffsetCommit if the append fails.
    """
    group = classic_group(shard, group_id)
    if not group.is_empty:
        raise KafkaError(Code.NON_EMPTY_GROUP, f"group {quoted(group_id)} has members")
    shard.offsets.commit(group_id, _commits(shard, offsets))


def add_offsets_to_transaction(
    shard: Shard, group_id: str, offsets: Mapping[tuple[str, int], int], producer_id: int, producer_epoch: int
) -> None:
    """Append offsets that take effect when the producer's transaction is committed. The group need not exist.

    The shard's partition of __consumer_offsets must be part of the transaction. Raises an error of TxnOffsetCommit.
    """
    classic_group(shard, group_id)
    shard.offsets.commit(group_id, _commits(shard, offsets), producer_id, producer_epoch)


def _commits(shard: Shard, offsets: Mapping[tuple[str, int], int]) -> list[Commit]:
    keeps_ids = shard.node.release.keeps_topic_ids_of_offsets
    record_offset, now_ms = shard.log.end_offset, shard.clock.now_ms()
    commits: list[Commit] = []
    for (topic, partition), offset in offsets.items():
        known = shard.node.metadata.existing_topic(topic)
        committed = CommittedOffset(
            offset,
            commit_timestamp_ms=now_ms,
            topic_id=known.topic_id if keeps_ids else ZERO_UUID,
            record_offset=record_offset,
        )
        commits.append((topic, partition, committed))
    return commits


def delete(shard: Shard, group_id: str) -> int:
    """Delete an empty group and its offsets. Return the offset of its last tombstone.

    Raises GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.
    """
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND)
    group.check_delete()
    last_offset = shard.append([*shard.offsets.tombstones(group_id), *group.tombstones()])
    shard.offsets.forget(group_id)
    del shard.groups[group_id]
    group.close()
    return last_offset
