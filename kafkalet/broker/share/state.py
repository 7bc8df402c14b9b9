"""What a share coordinator stores of a share partition: the records between its start offset and the end of delivery.

A state batch is a range of offsets with the same delivery state and delivery count. Records at or above the start
offset that are in no batch have not been delivered; records below it are done.

Source: org.apache.kafka.coordinator.share.ShareGroupOffset, PersisterStateBatchCombiner.
"""

from bisect import insort
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

UNINITIALIZED = -1
"""The start offset before `share.auto.offset.reset` decides on it, and the count of completed deliveries then."""


class RecordState(IntEnum):
    """The state of a record in a share group. The numbers are those of stored batches; ACQUIRED is never stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateBatch(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def rank(self) -> tuple[int, int]:
        """The delivery count and state; of two batches that overlap, the higher one wins."""
        return self.delivery_count, self.delivery_state


class SharePartitionKey(NamedTuple):
    """A partition of a topic, as consumed by a share group."""

    group_id: str
    topic_id: bytes
    partition: int


class SharePartitionState(NamedTuple):
    """The stored state of a share partition.

    The state epoch changes when the group's offset is reset; the leader epoch is that of the partition's leader that
    wrote it last. `delivery_complete_count` is the number of records at or above the start offset whose delivery has
    ended (KIP-1226).
    """

    state_epoch: int
    start_offset: int
    leader_epoch: int = 0
    delivery_complete_count: int = UNINITIALIZED
    batches: tuple[StateBatch, ...] = ()
    snapshot_epoch: int = 0
    created_ms: int = 0
    written_ms: int = 0


def combined(
    batches: Iterable[StateBatch], changes: Iterable[StateBatch], start_offset: int, merges_all: bool = True
) -> tuple[StateBatch, ...]:
    """Return the batches with changes applied, without what is below the start offset (unless that is UNINITIALIZED).

    Where batches overlap, the higher delivery count wins, then the higher delivery state. Adjacent batches with the
    same state and count are merged; without `merges_all`, only those that did not result from an overlap.
    """
    left = [
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in (*batches, *changes)
        if batch.last_offset >= start_offset
    ]
    left.sort(key=_descending)
    result: list[StateBatch] = []
    while left:
        batch = left.pop()
        if left and (left[-1].first_offset <= batch.last_offset or _continues(batch, left[-1])):
            for part in _parts(batch, left.pop()):
                insort(left, part, key=_descending)
        elif merges_all and result and _continues(result[-1], batch):
            result[-1] = result[-1]._replace(last_offset=batch.last_offset)
        else:
            result.append(batch)
    return tuple(result)


def _descending(batch: StateBatch) -> tuple[int, int, int, int]:
    count, state = batch.rank
    return -batch.first_offset, -batch.last_offset, -count, -state


def _continues(batch: StateBatch, following: StateBatch) -> bool:
    return batch.last_offset + 1 == following.first_offset and batch.rank == following.rank


def _parts(batch: StateBatch, other: StateBatch) -> list[StateBatch]:
    """Return what is left of a batch and of one that overlaps it and does not begin earlier."""
    first, last = other.first_offset, other.last_offset
    if other.rank == batch.rank:
        return [batch._replace(last_offset=max(batch.last_offset, last))]
    if other.rank < batch.rank:
        parts = [batch, other._replace(first_offset=batch.last_offset + 1)]
    else:
        parts = [batch._replace(last_offset=first - 1), other, batch._replace(first_offset=last + 1)]
    return [part for part in parts if part.first_offset <= part.last_offset]
