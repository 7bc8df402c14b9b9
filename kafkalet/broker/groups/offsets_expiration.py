"""Removal of committed offsets: by expiration, because their topic was deleted, or on request.

An offset expires `offsets.retention.minutes` after its group became empty. If the group has members, but none of them
subscribes to the topic, the time is counted from the commit (KIP-211). An offset that was committed with an explicit
retention time expires after that time. An offset that an open transaction is about to replace is kept. A group without
members is deleted together with its last expired offset; if it has no offsets, the next expiration run deletes it.

The records of a group are appended as one batch. If the append fails, the next run tries again.

Source: OffsetMetadataManager.cleanupExpiredOffsets, kafka.coordinator.group.GroupMetadata.removeExpiredOffsets.
"""

import logging
from collections.abc import Collection, Iterator

from kafkalet.broker.quoting import quoted, shown
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.record import wrapped

from .group import Group
from .offsets_records import NEVER
from .shard import Shard

_LOG = logging.getLogger(__name__)

MINUTE_MS = 60_000

Key = tuple[str, int]


def remove_expired(shard: Shard) -> None:
    """Remove all expired offsets, and empty groups without any offsets."""
    for group in list(shard.groups.values()):
        try:
            remove(shard, group, list(_expired(shard, group)), with_group=group.expires)
        except KafkaError as error:
            _LOG.warning("group %s: cannot remove expired offsets: %s", quoted(group.group_id), shown(error))


def remove_partitions(shard: Shard, topic: str, partitions: Collection[int]) -> None:
    """Remove all offsets of deleted partitions."""
    with_group = shard.node.release.drops_groups_with_their_last_offset
    for group in list(shard.groups.values()):
        gone = [key for key in shard.offsets.known(group.group_id) if key[0] == topic and key[1] in partitions]
        if not gone:
            continue
        try:
            remove(shard, group, gone, with_group=with_group)
        except KafkaError as error:
            _LOG.warning(
                "group %s: cannot remove offsets of deleted topic %s: %s",
                quoted(group.group_id),
                quoted(topic),
                shown(error),
            )


def remove(shard: Shard, group: Group, partitions: list[Key], *, with_group: bool) -> int:
    """Remove offsets of a group. With `with_group`, also remove the group if it has no members and no other offsets.

    Returns the log offset of the last record. Raises KafkaError with an error code for the client.
    """
    group_id = group.group_id
    records = shard.offsets.tombstones(group_id, [key for key in partitions if shard.offsets.is_known(group_id, *key)])
    ends = with_group and group.is_empty and not set(shard.offsets.known(group_id)) - set(partitions)
    if ends:
        records += group.tombstones()
    last_offset = shard.append(records)
    shard.offsets.forget(group_id, partitions)
    if ends:
        del shard.groups[group_id]
        group.close()
    return last_offset


def quiet_ms(shard: Shard) -> int:
    """Return the time until an offset may expire, including those of groups that become empty later."""
    quiet = shard.node.config.offsets_retention_minutes * MINUTE_MS
    return min([quiet, *(left_ms for group in shard.groups.values() for _, left_ms in _left(shard, group))])


def _expired(shard: Shard, group: Group) -> Iterator[Key]:
    for key, left_ms in _left(shard, group):
        if left_ms <= 0 and not shard.offsets.is_pending(group.group_id, *key):
            yield key


def _left(shard: Shard, group: Group) -> Iterator[tuple[Key, int]]:
    """Return the offsets of a group that can expire, with the time until then."""
    now_ms = shard.clock.now_ms()
    retention_ms = shard.node.config.offsets_retention_minutes * MINUTE_MS
    group_id = group.group_id
    for topic, by_partition in shard.offsets.committed(group_id).items():
        if group.is_subscribed_to(topic):
            continue
        for partition, committed in by_partition.items():
            since_ms = group.offsets_expire_since_ms(committed.commit_timestamp_ms)
            if since_ms is None:
                return
            # OffsetCommit v1 lets clients choose the timestamp; on overflow, the subtraction wraps around as in Java
            if committed.expire_timestamp_ms == NEVER:
                left_ms = retention_ms - wrapped(now_ms - since_ms)
            else:
                left_ms = committed.expire_timestamp_ms - now_ms
            yield (topic, partition), left_ms
