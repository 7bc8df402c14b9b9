"""The records in flight of a share partition: those that a group has begun to deliver and has not finished.

Records come into flight as batches, whose bounds are those of record batches in the log. While all records of a batch
are in the same state, the batch has one run. When that ends, because a member acknowledges some of them or may acquire
only some, the batch is split once into runs of one record each. It stays split, even if all of its runs become equal.

    AVAILABLE --- acquired by a member ---> ACQUIRED --- accepted ---> ACKNOWLEDGED
        ^                                      |
        +-- released, or its lock expired -----+-------- rejected, or delivered too often ---> ARCHIVED

With a dead letter queue (KIP-1191), a record becomes ARCHIVING before it is ARCHIVED, until it is in the queue.

A change that has to be persisted first is a transition: the run is already in its new state, but can be neither
acquired nor acknowledged. `end_transition` keeps the new state or restores the old one.

Source: org.apache.kafka.server.share.fetch.InFlightBatch, InFlightState and RecordState, KIP-932.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from .state import RecordState

NO_MEMBER = ""


class _Before(NamedTuple):
    """The state of a run before a transition."""

    state: RecordState
    member: str
    max_deliveries: int


class Run:
    """Records with consecutive offsets in the same state. `lock_ms` is when the lock of the member expires."""

    __slots__ = ("before", "deliveries", "first", "is_archived", "is_rejected", "last", "lock_ms", "member", "state")

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        deliveries: int,
        member: str = NO_MEMBER,
        lock_ms: int | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.deliveries = deliveries
        self.member = member
        self.lock_ms = lock_ms
        self.before: _Before | None = None
        self.is_archived = False
        """Whether it was archived outside a transition: restoring an older state must not undo this."""
        self.is_rejected = False
        """Whether a member has rejected the records, and they are on their way to a dead letter queue."""

    def __repr__(self) -> str:
        return f"Run({self.first}-{self.last} {self.state.name}, delivered {self.deliveries} times, {self.member!r})"

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def is_in_transition(self) -> bool:
        return self.before is not None

    @property
    def is_acquirable(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.before is None

    @property
    def is_finished(self) -> bool:
        """Whether the records need no further delivery, and this is persisted."""
        return self.state.is_terminal and self.before is None

    def acquire(self, member: str, lock_ms: int) -> None:
        assert self.is_acquirable, f"{self} cannot be acquired"
        self.state, self.member, self.lock_ms = RecordState.ACQUIRED, member, lock_ms
        self.deliveries += 1

    def give_up(self, state: RecordState, max_deliveries: int, *, dead_letters: bool) -> None:
        """Take acquired records from their member. They are not available again after `max_deliveries` deliveries."""
        assert self.state is RecordState.ACQUIRED, f"{self} is not acquired"
        if state is RecordState.AVAILABLE and self.deliveries >= max_deliveries:
            state = RecordState.ARCHIVING if dead_letters else RecordState.ARCHIVED
        self.state, self.member = state, NO_MEMBER

    def begin_transition(self, state: RecordState, max_deliveries: int, *, dead_letters: bool) -> None:
        """Give up acquired records as soon as this is persisted."""
        before = _Before(self.state, self.member, max_deliveries)
        self.give_up(state, max_deliveries, dead_letters=dead_letters)
        self.before = before

    def end_transition(self, *, is_persisted: bool, now_ms: int) -> None:
        """Keep the state of the transition, or restore the one before it. A lock may have expired in between."""
        before, self.before = self.before, None
        if is_persisted or self.is_archived:
            self.lock_ms = None
        elif before is not None and self.lock_ms is not None and self.lock_ms <= now_ms:
            is_last = self.deliveries >= before.max_deliveries
            self.state = RecordState.ARCHIVED if is_last else RecordState.AVAILABLE
            self.member, self.lock_ms = NO_MEMBER, None
        elif before is not None:
            self.state, self.member = before.state, before.member

    def archive(self) -> None:
        self.state, self.member, self.lock_ms = RecordState.ARCHIVED, NO_MEMBER, None
        self.is_archived = True


class InFlightBatch:
    """Records in flight that were acquired together, with one run, or after `split` with one for each record."""

    __slots__ = ("first", "is_split", "last", "runs")

    def __init__(self, run: Run) -> None:
        self.first = run.first
        self.last = run.last
        self.runs = [run]
        self.is_split = False

    def __repr__(self) -> str:
        return f"InFlightBatch({self.runs})"

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def split(self) -> None:
        """Track each record of the batch on its own."""
        if self.is_split:
            return
        [whole] = self.runs
        self.is_split = True
        self.runs = [
            Run(offset, offset, whole.state, whole.deliveries, whole.member, whole.lock_ms)
            for offset in range(self.first, self.last + 1)
        ]

    def is_within(self, first: int, last: int) -> bool:
        return first <= self.first and self.last <= last

    def has_earlier_and_later(self, offset: int) -> bool:
        """Return whether `offset` is in the batch, but not its first offset."""
        return self.first < offset <= self.last

    def runs_within(self, first: int, last: int) -> list[Run]:
        """Return the runs that begin between two offsets. A batch that is not split has its run in any case."""
        if not self.is_split:
            return self.runs
        return self.runs[max(first - self.first, 0) : max(last - self.first + 1, 0)]


class InFlight:
    """The batches in flight, by first offset. They do not overlap, but there may be gaps between them."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[InFlightBatch] = []

    def __bool__(self) -> bool:
        return bool(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter(self._batches)

    @property
    def first(self) -> InFlightBatch:
        return self._batches[0]

    @property
    def last(self) -> InFlightBatch:
        return self._batches[-1]

    def add(self, batch: InFlightBatch) -> None:
        index = bisect_left(self._firsts, batch.first)
        self._firsts.insert(index, batch.first)
        self._batches.insert(index, batch)

    def clear(self) -> None:
        self._firsts.clear()
        self._batches.clear()

    def remove_before(self, offset: int) -> None:
        """Remove the batches that begin before `offset`."""
        index = bisect_left(self._firsts, offset)
        del self._firsts[:index]
        del self._batches[:index]

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at or before `offset`."""
        index = bisect_right(self._firsts, offset)
        return self._batches[index - 1] if index else None

    def after(self, offset: int) -> InFlightBatch:
        """Return the first batch that begins after `offset`."""
        return self._batches[bisect_right(self._firsts, offset)]

    def beginning_within(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that begin between two offsets, both included."""
        return self._batches[bisect_left(self._firsts, first) : bisect_right(self._firsts, last)]

    def touching(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that begin between two offsets, and the last one before them, even if it ends earlier."""
        floor = self.floor(first)
        return self.beginning_within(first if floor is None else floor.first, last)
