"""How committed offsets end: they grow too old, their topic is deleted, or somebody asks for it.

An offset expires when `offsets.retention.minutes` have passed since its group became empty, or, in a group that has
members but none that reads the topic, since it was committed (KIP-211). One that came with a retention time of its own
expires at that time. An offset that an open transaction is about to replace stays. A group without members goes with
its last offset: at once where that has expired, else when the next round finds it without any.

Each group's records are written as one batch; one that cannot be written is tried again in the next round.

Source: OffsetMetadataManager.cleanupExpiredOffsets, kafka.coordinator.group.GroupMetadata.removeExpiredOffsets.
"""

import logging
from collections.abc import Collection, Iterator

from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.record import wrapped

from .group import Group
from .offsets_records import NEVER
from .shard import Shard

_LOG = logging.getLogger(__name__)

MINUTE_MS = 60_000

Key = tuple[str, int]


def remove_expired(shard: Shard) -> None:
    """Remove what has expired by now, and groups that have nothing left."""
    for group in list(shard.groups.values()):
        try:
            remove(shard, group, list(_expired(shard, group)), with_group=True)
        except KafkaError as error:
            _LOG.warning("offsets of group %s have expired and cannot be removed: %s", quoted(group.group_id), error)


def remove_partitions(shard: Shard, topic: str, partitions: Collection[int]) -> None:
    """Remove all offsets of partitions that are no more."""
    with_group = shard.node.release.drops_groups_with_their_last_offset
    for group in list(shard.groups.values()):
        gone = [key for key in shard.offsets.known(group.group_id) if key[0] == topic and key[1] in partitions]
        if not gone:
            continue
        try:
            remove(shard, group, gone, with_group=with_group)
        except KafkaError as error:
            _LOG.warning("offsets of group %s in the deleted %s stay: %s", quoted(group.group_id), quoted(topic), error)


def remove(shard: Shard, group: Group, partitions: list[Key], *, with_group: bool) -> int:
    """Remove these offsets, and with the last of them the group, if that is wanted and it has no members.

    The offset of the last record in the log. Raises KafkaError with a code for the client.
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


def _expired(shard: Shard, group: Group) -> Iterator[Key]:
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
            if committed.expire_timestamp_ms == NEVER:  # clients of v1 choose the time, and Java's difference wraps
                is_due = wrapped(now_ms - since_ms) >= retention_ms
            else:
                is_due = now_ms >= committed.expire_timestamp_ms
            if is_due and not shard.offsets.is_pending(group_id, topic, partition):
                yield topic, partition
