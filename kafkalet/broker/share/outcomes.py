"""How the deliveries of a share partition have ended, also below its start offset.

Kafka forgets records below the start offset. Tests ask afterwards which records were acknowledged or archived, and
after how many deliveries, so the share coordinator remembers this in memory. After a restart, only what is still in its
log is known.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from .state import RecordState, StateBatch

ENDED = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class Outcomes:
    """State batches in a terminal state, by offset. They do not overlap, and equal neighbors are one batch."""

    __slots__ = ("_batches",)

    def __init__(self) -> None:
        self._batches: list[StateBatch] = []

    def __iter__(self) -> Iterator[StateBatch]:
        return iter(self._batches)

    def add(self, batches: Iterable[StateBatch]) -> None:
        """Remember those batches whose delivery has ended. They replace older ones with the same offsets."""
        for batch in batches:
            if batch.delivery_state in ENDED:
                self._add(batch)

    def _add(self, batch: StateBatch) -> None:
        known = self._batches
        if known and known[-1].last_offset >= batch.first_offset:
            begin = bisect_left(known, batch.first_offset, key=lambda each: each.last_offset)
            end = bisect_right(known, batch.last_offset, key=lambda each: each.first_offset)
            left, right = [], []
            for each in known[begin:end]:
                if each.first_offset < batch.first_offset:
                    left.append(each._replace(last_offset=batch.first_offset - 1))
                if each.last_offset > batch.last_offset:
                    right.append(each._replace(first_offset=batch.last_offset + 1))
            known[begin:end] = [*left, batch, *right]
            at = begin + len(left)
            self._merge(at + 1)
        else:
            known.append(batch)
            at = len(known) - 1
        self._merge(at)

    def _merge(self, at: int) -> None:
        """Merge a batch with the one before it if they are neighbors in the same state."""
        if not 0 < at < len(self._batches):
            return
        before, batch = self._batches[at - 1 : at + 1]
        if (before.last_offset + 1, *before[2:]) == (batch.first_offset, *batch[2:]):
            self._batches[at - 1 : at + 1] = [before._replace(last_offset=batch.last_offset)]

    def forget_from(self, offset: int) -> None:
        """Forget the records at and above an offset: they will be delivered again."""
        at = bisect_left(self._batches, offset, key=lambda each: each.last_offset)
        kept = [each._replace(last_offset=offset - 1) for each in self._batches[at : at + 1]]
        self._batches[at:] = [each for each in kept if each.first_offset < offset]
