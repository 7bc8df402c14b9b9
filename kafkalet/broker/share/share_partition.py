"""A partition as consumed by a share group: which records may be delivered, to whom they are, and which are done.

        done        |             in flight              |   not delivered yet
    ----------------+------------------------------------+--------------------
              start_offset                          end_offset

The start offset advances over records that are done. A share partition without records in flight has both offsets where
the next record is acquired. `acquire` (acquisition.py) takes records from the log into flight; all other changes of
their state are here:

* `acknowledge` and `release` return an `Update`, whose batches have to be persisted. `commit` or `roll_back` ends it.
* `expire` makes the records available whose locks have expired, whether or not this can be persisted.
* `move_start` follows the log start offset: records below it are done.

No method does any I/O. The caller supplies the time, which is that of the clock for locks.

Source: kafka.server.share.SharePartition.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

from .in_flight import InFlight, InFlightBatch, Run
from .state import RecordState, StateBatch

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
"""The types of an acknowledgement; 0 is a gap, an offset without a record."""
STATES = {
    0: RecordState.ARCHIVED,
    ACCEPT: RecordState.ACKNOWLEDGED,
    RELEASE: RecordState.AVAILABLE,
    REJECT: RecordState.ARCHIVED,
}
"""The state of a record after an acknowledgement."""


class Limits(NamedTuple):
    """The configuration of a share group that applies to the records in flight. It may change at any time."""

    lock_ms: int = 30_000
    """share.record.lock.duration.ms"""
    max_deliveries: int = 5
    """share.delivery.count.limit"""
    max_locks: int = 2000
    """share.partition.max.record.locks"""
    renews: bool = True
    """share.renew.acknowledge.enable"""
    dead_letters: bool = False
    """Whether records that cannot be delivered are written to a dead letter queue (KIP-1191)."""


class Acknowledgement(NamedTuple):
    """What a member says about the records that it has acquired: one type for all offsets, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def type_of(self, offset: int) -> int:
        return self.types[offset - self.first] if len(self.types) > 1 else self.types[0]


class Update(NamedTuple):
    """Transitions that have begun and have to be persisted, and the offsets to persist with them."""

    runs: list[Run]
    batches: list[StateBatch]
    start_offset: int
    delivery_complete_count: int


class Gaps(NamedTuple):
    """What has not been delivered among the persisted batches, up to `end`: it begins at `start`.

    A share partition that was loaded may have gaps between its batches. They end with the first new batch after `end`.
    """

    start: int
    end: int


class SharePartition:
    """The state of a share partition. `limits` returns the current configuration of the group."""

    def __init__(self, limits: Callable[[], Limits], start_offset: int, batches: Iterable[StateBatch] = ()) -> None:
        self.limits = limits
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.delivery_complete_count = 0
        """How many records at or above the start offset are done (KIP-1226)."""
        self.in_flight = InFlight()
        self.may_have_available = False
        """Whether there may be records in flight to acquire. If not, the next ones are new."""
        self._gaps: Gaps | None = None
        self._dead: list[Run] = []
        """The records to write to the dead letter queue."""
        self._locks: list[tuple[int, int, int]] = []
        """A heap of (time, first offset, last offset). Locks that were released or renewed remain in it until then."""
        self._load(batches)

    def _load(self, batches: Iterable[StateBatch]) -> None:
        """Take persisted batches into flight. Raises UNKNOWN_SERVER_ERROR if they are not valid."""
        gap, expected = None, self.start_offset
        for batch in batches:
            if batch.first_offset < self.start_offset or batch.last_offset < batch.first_offset:
                raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
            if gap is None and batch.first_offset > expected:
                gap = expected
            expected = batch.last_offset + 1
            run = Run(batch.first_offset, batch.last_offset, RecordState(batch.delivery_state), batch.delivery_count)
            self.in_flight.add(InFlightBatch(run))
            if run.state.is_terminal:
                self.delivery_complete_count += run.count
            elif run.state is RecordState.ARCHIVING:
                run.is_rejected = run.deliveries < self.limits().max_deliveries
                self._dead.append(run)
        if self.in_flight:
            self.may_have_available = True
            self.end_offset = self.in_flight.last.last
            if gap is not None:
                self._gaps = Gaps(gap, self.end_offset)
            self.advance()

    # What there is

    @property
    def gaps(self) -> Gaps | None:
        """The gaps between the persisted batches, until records after them have been acquired."""
        return self._gaps if self._gaps is not None and self._gaps.end == self.end_offset else None

    @property
    def is_empty(self) -> bool:
        """Whether no record is in flight, so that the end offset is the offset of the next record."""
        return not self.in_flight or self.start_offset > self.in_flight.last.last

    @property
    def in_flight_count(self) -> int:
        return self.end_offset - self.start_offset + 1 if self.in_flight else 0

    def next_fetch_offset(self) -> int:
        """Return the offset from which to read records to acquire."""
        if self.is_empty:
            self.may_have_available = False
            return self.end_offset
        if self.may_have_available:
            offset = self._first_available()
            if offset is not None:
                return offset
            self.may_have_available = False
        return self.end_offset + 1

    def _first_available(self) -> int | None:
        gap = self.gaps.start if self.gaps is not None else None
        for batch in self.in_flight:
            if gap is not None:
                if batch.first > gap:
                    return gap
                gap = max(batch.last + 1, gap)
            for run in batch.runs:
                if run.is_acquirable:
                    return run.first
        return None

    def can_acquire(self) -> bool:
        """Return whether a member may acquire records if there are any."""
        return self.next_fetch_offset() != self.end_offset + 1 or self.in_flight_count < self.limits().max_locks

    def visible_count(self, first: int, last: int) -> int:
        """Return how many of these offsets are not below the start offset."""
        return max(last - max(self.start_offset, first) + 1, 0)

    def has_start_within(self, batch: InFlightBatch) -> bool:
        return batch.has_earlier_and_later(self.start_offset)

    # Locks

    def lock(self, run: Run, member: str, now_ms: int, lock_ms: int) -> None:
        """Give records to a member until its lock expires."""
        run.acquire(member, now_ms + lock_ms)
        heappush(self._locks, (now_ms + lock_ms, run.first, run.last))

    def renew(self, run: Run, now_ms: int, lock_ms: int) -> None:
        run.lock_ms = now_ms + lock_ms
        heappush(self._locks, (run.lock_ms, run.first, run.last))

    def next_expiry_ms(self) -> int | None:
        """Return when `expire` should be called next."""
        while self._locks:
            due_ms, first, last = self._locks[0]
            if any(run.lock_ms == due_ms for run in self._runs_within(first, last)):
                return due_ms
            heappop(self._locks)
        return None

    def expire(self, now_ms: int) -> list[StateBatch]:
        """Make the records available, or archive them, whose locks have expired. Return what to persist.

        `advance` has to be called afterwards, even if that failed.
        """
        limits = self.limits()
        batches: list[StateBatch] = []
        while self._locks and self._locks[0][0] <= now_ms:
            _, first, last = heappop(self._locks)
            for batch in self.in_flight.touching(first, last):
                for run in self._expiring(batch, first, last, now_ms):
                    state = RecordState.ARCHIVED if run.last < self.start_offset else RecordState.AVAILABLE
                    run.give_up(state, limits.max_deliveries, dead_letters=limits.dead_letters)
                    run.lock_ms = None
                    batches.append(_persisted(run))
                    if run.state.is_terminal:
                        self.delivery_complete_count += self.visible_count(run.first, run.last)
                    elif run.state is RecordState.AVAILABLE:
                        self.may_have_available = True
                    else:
                        self._dead.append(run)
        return batches

    def end_locks(self, member: str | None, now_ms: int) -> int:
        """Let the locks of a member, or all, expire now. Return how many records they lock.

        `expire` has to be called afterwards.
        """
        count = 0
        for batch in self.in_flight:
            for run in batch.runs:
                if run.lock_ms is not None and run.state is RecordState.ACQUIRED and member in (None, run.member):
                    self.renew(run, now_ms, 0)
                    count += run.count
        return count

    def _expiring(self, batch: InFlightBatch, first: int, last: int, now_ms: int) -> list[Run]:
        def expiring() -> list[Run]:
            return [
                run
                for run in batch.runs_within(first, last)
                if run.state is RecordState.ACQUIRED and run.lock_ms is not None and run.lock_ms <= now_ms
            ]

        if expiring() and self.has_start_within(batch):
            batch.split()
        return expiring()

    def _runs_within(self, first: int, last: int) -> Iterable[Run]:
        return (run for batch in self.in_flight.touching(first, last) for run in batch.runs_within(first, last))

    # Acknowledgements

    def acknowledge(self, member: str, acknowledgements: Iterable[Acknowledgement], now_ms: int) -> Update:
        """Begin to apply what a member says about its records. If one is not valid, none is applied.

        Raises INVALID_RECORD_STATE if the member has not acquired a record, and INVALID_REQUEST if the offsets are not
        in flight. Records below the start offset are skipped.
        """
        runs: list[Run] = []
        try:
            for each in acknowledgements:
                if each.last >= self.start_offset:
                    for batch in self._acknowledged_batches(each):
                        self._acknowledge_batch(member, each, batch, runs, now_ms)
        except KafkaError:
            self._undo(runs, now_ms)
            raise
        return self._update(runs)

    def _acknowledged_batches(self, each: Acknowledgement) -> list[InFlightBatch]:
        floor = self.in_flight.floor(each.first)
        if floor is None and each.first < self.start_offset <= each.last:
            floor = self.in_flight.floor(self.start_offset)
            if floor is None:  # a NullPointerException in Kafka
                raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        if floor is None:
            raise KafkaError(
                Code.INVALID_RECORD_STATE,
                "Batch record not found. The request batch offsets are not found in the cache.",
            )
        batches = self.in_flight.beginning_within(floor.first, each.last)
        for offset, name in ((each.first, "first"), (each.last, "last")):
            if batches[-1].last < offset:
                raise KafkaError(
                    Code.INVALID_REQUEST,
                    f"Batch record not found. The {name} offset in request is past acquired records.",
                )
        return batches

    def _acknowledge_batch(
        self, member: str, each: Acknowledgement, batch: InFlightBatch, runs: list[Run], now_ms: int
    ) -> None:
        if batch.last < self.start_offset:
            return
        whole = batch.is_within(each.first, each.last) and len(each.types) == 1 and not self.has_start_within(batch)
        if not batch.is_split:
            _check_owner(member, batch.runs[0], is_split=False)
            if not whole:
                batch.split()
        limits = self.limits()
        for run in batch.runs_within(max(each.first, self.start_offset), each.last):
            _check_owner(member, run, is_split=batch.is_split)
            self._acknowledge_run(each.type_of(run.first), run, limits, runs, now_ms)

    def _acknowledge_run(self, type_: int, run: Run, limits: Limits, runs: list[Run], now_ms: int) -> None:
        if type_ == RENEW:
            if not limits.renews:
                raise KafkaError(Code.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group.")
            self.renew(run, now_ms, limits.lock_ms)
            return
        run.is_rejected = limits.dead_letters and type_ == REJECT
        state = RecordState.ARCHIVING if run.is_rejected else STATES[type_]
        self._begin(run, state, limits, runs)

    def release(self, member: str, now_ms: int) -> Update:
        """Begin to release all records that a member has acquired."""
        limits = self.limits()
        runs: list[Run] = []
        for batch in self.in_flight:
            if not any(_is_acquired_by(run, member) for run in batch.runs):
                continue
            if self.has_start_within(batch):
                batch.split()
            for run in batch.runs:
                if _is_acquired_by(run, member):
                    state = RecordState.ARCHIVED if run.last < self.start_offset else RecordState.AVAILABLE
                    self._begin(run, state, limits, runs)
        return self._update(runs)

    def _begin(self, run: Run, state: RecordState, limits: Limits, runs: list[Run]) -> None:
        run.begin_transition(state, limits.max_deliveries, dead_letters=limits.dead_letters)
        runs.append(run)
        if run.state.is_terminal:
            self.delivery_complete_count += self.visible_count(run.first, run.last)

    def _update(self, runs: list[Run]) -> Update:
        batches = [_persisted(run) for run in runs]
        return Update(runs, batches, self.start_offset, self.delivery_complete_count)

    def commit(self, update: Update, now_ms: int) -> None:
        """End an update that is persisted. Advances the start offset."""
        for run in update.runs:
            run.end_transition(is_persisted=True, now_ms=now_ms)
            if run.state is RecordState.AVAILABLE:
                self.may_have_available = True
            elif run.state is RecordState.ARCHIVING:
                self._dead.append(run)
        self.advance()

    def roll_back(self, update: Update, now_ms: int) -> None:
        """End an update that could not be persisted: the records are again in the state before it."""
        self._undo(update.runs, now_ms)

    def _undo(self, runs: list[Run], now_ms: int) -> None:
        for run in runs:
            was_terminal = run.state.is_terminal
            run.end_transition(is_persisted=False, now_ms=now_ms)
            if run.state is RecordState.AVAILABLE:
                self.may_have_available = True
            if was_terminal and not run.state.is_terminal:
                self.delivery_complete_count -= self.visible_count(run.first, run.last)

    # Dead letters

    def take_dead(self) -> list[Run]:
        """Return the records that now have to be written to the dead letter queue, once."""
        dead, self._dead = self._dead, []
        return dead

    def buried(self, run: Run) -> StateBatch:
        """Archive records that are in the dead letter queue, and return what to persist. Then call `advance`."""
        run.archive()
        self.delivery_complete_count += self.visible_count(run.first, run.last)
        return _persisted(run)

    # The start offset

    def archive(self, first: int, last: int, state: RecordState) -> None:
        """Archive the records in flight between two offsets that are in a state. This is not persisted."""
        self.delivery_complete_count += sum(run.count for run in self._archive(first, last, state))

    def _archive(self, first: int, last: int, state: RecordState) -> list[Run]:
        archived: list[Run] = []
        for batch in self.in_flight.touching(first, last):
            if not batch.is_split and not batch.is_within(first, last) and batch.runs[0].state is state:
                if batch.last < first:
                    continue
                batch.split()
            for run in batch.runs_within(first, last):
                if run.state is state:
                    run.archive()
                    archived.append(run)
        if archived:
            self.may_have_available = True
        return archived

    def move_start(self, log_start_offset: int) -> None:
        """Skip the records that the log has deleted. What members have acquired of them stays with them."""
        if log_start_offset <= self.start_offset:
            return
        if not self.in_flight:
            self.start_offset = self.end_offset = log_start_offset
            self.delivery_complete_count = 0
            return
        first, last = self.start_offset, log_start_offset - 1
        self.delivery_complete_count -= sum(
            min(run.last, last) - max(run.first, first) + 1
            for run in self._runs_within(first, last)
            if run.state.is_terminal and run.last >= first
        )
        self._archive(first, last, RecordState.AVAILABLE)
        self.start_offset = log_start_offset
        self.end_offset = max(self.end_offset, log_start_offset)

    def advance(self) -> bool:
        """Advance the start offset over the records that are done. Return whether it was possible."""
        if not self._is_start_done():
            return False
        last, count = self._last_done()
        if last is None:
            return False
        newest = self.in_flight.last.last
        if last == newest:
            # Kafka goes back to newest + 1 if the log start offset is higher, and then has to read twice.
            self.start_offset = self.end_offset = max(self.start_offset, newest + 1)
            self.in_flight.clear()
            self.delivery_complete_count = 0
            return True
        batch = self.in_flight.floor(last)
        assert batch is not None
        if batch.last == last:
            following = self.in_flight.after(last).first
            if self.gaps is not None:
                following = min(following, self.gaps.start)
            self.start_offset = max(self.start_offset, following)  # Kafka may go back to a gap that was deleted
            self.in_flight.remove_before(batch.first + 1)
        else:
            self.start_offset = max(self.start_offset, last + 1)
            self.in_flight.remove_before(batch.first)
        self.delivery_complete_count -= count
        return True

    def _is_start_done(self) -> bool:
        if not self.in_flight:
            return False
        batch = self.in_flight.floor(self.start_offset)
        if batch is None:  # records at the start have not been delivered yet
            return False
        runs = batch.runs_within(self.start_offset, self.start_offset)
        return bool(runs) and runs[0].is_finished

    def _last_done(self) -> tuple[int | None, int]:
        """Return the last of the records in flight that are done without interruption, and how many they are."""
        last, count = None, 0
        for batch in self.in_flight:
            if self.gaps is not None and batch.last >= self.gaps.start:
                break
            for run in batch.runs:
                if not run.is_finished:
                    return last, count
                last = run.last
                count += self.visible_count(run.first, run.last)
        return last, count

    def close_gaps(self, before: int) -> None:
        """Note that everything before an offset has been acquired or skipped."""
        gaps = self._gaps
        if gaps is not None:
            self._gaps = Gaps(before, gaps.end) if gaps.end == self.end_offset and before <= gaps.end else None


def _is_acquired_by(run: Run, member: str) -> bool:
    return run.state is RecordState.ACQUIRED and run.member == member and not run.is_in_transition


def _check_owner(member: str, run: Run, *, is_split: bool) -> None:
    """Raise INVALID_RECORD_STATE unless a member has acquired these records, and has not acknowledged them yet."""
    if run.state is not RecordState.ACQUIRED:
        what, which = (
            ("offset", "offset is not acquired") if is_split else ("batch", "batch is not in the acquired state")
        )
        raise KafkaError(Code.INVALID_RECORD_STATE, f"The {what} cannot be acknowledged. The {which}.")
    if run.member != member:
        what = "offset" if is_split else "batch record"
        raise KafkaError(Code.INVALID_RECORD_STATE, f"Member is not the owner of {what}")


def _persisted(run: Run) -> StateBatch:
    return StateBatch(run.first, run.last, run.state, run.deliveries)
