"""What a share coordinator stores of a share partition: the records between its start offset and the end of delivery.

A state batch is a range of offsets with the same delivery state and delivery count. Records at or above the start
offset that are in no batch have not been delivered; records below it are done.

Source: org.apache.kafka.coordinator.share.ShareGroupOffset, PersisterStateBatchCombiner.
"""

from collections import Counter
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


def combined(batches: Iterable[StateBatch], changes: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Return the batches with changes applied, without what is below the start offset (unless that is UNINITIALIZED).

    Where batches overlap, the higher delivery count wins, then the higher delivery state. Adjacent batches with the
    same state and count are merged.
    """
    kept = [
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in (*batches, *changes)
        if batch.last_offset >= start_offset
    ]
    if len(kept) < 2:
        return tuple(kept)
    borders: dict[int, Counter[tuple[int, int]]] = {}
    for batch in kept:
        rank = batch.delivery_count, batch.delivery_state
        borders.setdefault(batch.first_offset, Counter())[rank] += 1
        borders.setdefault(batch.last_offset + 1, Counter())[rank] -= 1
    result: list[StateBatch] = []
    covering: Counter[tuple[int, int]] = Counter()
    begin = 0
    for offset in sorted(borders):
        if covering:
            count, state = max(covering)
            last = result[-1] if result else None
            if last is not None and last[1:] == (begin - 1, state, count):
                result[-1] = last._replace(last_offset=offset - 1)
            else:
                result.append(StateBatch(begin, offset - 1, state, count))
        covering.update(borders[offset])
        covering = +covering
        begin = offset
    return tuple(result)
