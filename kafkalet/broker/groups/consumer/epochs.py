"""A consumer group enters a new epoch, with what it knows of its topics by then.

Since 4.1 that is a hash beside the epoch; before, it was a record of its own, written when something had changed.

Source: org.apache.kafka.coordinator.group.modern.ModernGroup.computeMetadataHash, computeSubscriptionMetadata (4.0).
"""

from collections.abc import Iterable

from . import records
from .records import Change
from .state import ConsumerState
from .topics import hash_without_racks, known_topics, metadata_hash


def hash_of(group: ConsumerState, names: Iterable[str]) -> int:
    """One number for all that a group knows of these topics."""
    node = group.shard.node
    if node.release.keeps_hash_of_topics:
        return metadata_hash(names, node.metadata)
    return hash_without_racks(known_topics(names, node.metadata))


def enter_epoch(group: ConsumerState, epoch: int, names: Iterable[str]) -> list[Change]:
    """The records of a new epoch of a group that wants these topics."""
    names, node = list(names), group.shard.node
    hashed = hash_of(group, names)
    if node.release.keeps_hash_of_topics:
        return [records.group_epoch(group.group_id, epoch, hashed)]
    changes = [records.group_epoch(group.group_id, epoch, 0)]
    if hashed != group.metadata_hash:
        changes.insert(0, records.partition_metadata(group.group_id, known_topics(names, node.metadata)))
    return changes
