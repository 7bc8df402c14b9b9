"""What holds in any history of a share partition: of members, locks, failed writes, deletions and restarts.

The model is a log of batches with gaps, and for each record the number of times that it was delivered and the member
that holds it. After every step:

* no record is lost: each one is done, in flight, or will be read again;
* none is delivered more often than the limit, and none that is done is delivered again;
* none is held by two members: a member holds exactly what it has acquired, and not given back or lost;
* the start offset does not go back, and the number of completed deliveries is that of the done records above it.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kafkalet.broker.share.acquisition import BY_BATCHES, BY_RECORDS, LogBatch, Wanted, acquire
from kafkalet.broker.share.in_flight import Run
from kafkalet.broker.share.share_partition import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Limits,
    SharePartition,
    Update,
)
from kafkalet.broker.share.state import RecordState, StateBatch, combined
from kafkalet.protocol.errors import KafkaError
from tests.profile import examples

MEMBERS = ("alice", "bob", "carol")
LOCK_MS = 1000

members = st.sampled_from(MEMBERS)
fraction = st.floats(0, 1)


class Histories(RuleBasedStateMachine):
    @initialize(
        sizes=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), min_size=2, max_size=8),
        limit=st.integers(2, 4),
    )
    def write(self, sizes: list[tuple[int, int]], limit: int) -> None:
        self.limits = Limits(lock_ms=LOCK_MS, max_deliveries=limit, max_locks=40)
        self.log: list[LogBatch] = []
        self.log_start = end = 0
        for size, gap in sizes:
            self.log.append(LogBatch(end + gap, end + gap + size - 1))
            end += gap + size
        self.now_ms = 0
        self.deliveries: dict[int, int] = {}
        self.holders: dict[int, tuple[str, int]] = {}
        self.done: set[int] = set()
        self.stored: tuple[StateBatch, ...] = ()
        self.stored_start = 0
        self.writing: list[Update] = []
        self.partition = SharePartition(lambda: self.limits, 0)
        self.lowest_start = 0

    # What members do

    @rule(
        member=members, mode=st.sampled_from([BY_BATCHES, BY_RECORDS]), most=st.integers(1, 15), size=st.integers(1, 8)
    )
    def acquire(self, member: str, mode: int, most: int, size: int) -> None:
        if not self.partition.can_acquire():
            return
        offset = max(self.partition.next_fetch_offset(), self.log_start)
        read = [batch for batch in self.log if batch.last >= offset]
        acquired = acquire(self.partition, Wanted(member, mode, most, size), offset, read, self.now_ms)
        assert mode == BY_BATCHES or sum(last - first + 1 for first, last, _ in acquired) <= most
        for first, last, count in acquired:
            for each in range(first, last + 1):
                assert each not in self.done, f"record {each} was done"
                assert each not in self.holders, f"record {each} was held"
                assert count <= self.limits.max_deliveries, f"record {each} was delivered {count} times"
                assert count == self.deliveries.get(each, 0) + 1, f"the deliveries of record {each}"
                self.deliveries[each] = count
                self.holders[each] = member, self.now_ms + LOCK_MS

    @precondition(lambda self: self.holders)
    @rule(
        at=fraction,
        types=st.lists(st.sampled_from([0, ACCEPT, RELEASE, RELEASE, REJECT, RENEW, RENEW]), min_size=1, max_size=12),
        is_persisted=st.sampled_from([True, True, False]),
        waits=st.booleans(),
    )
    def acknowledge(self, at: float, types: list[int], is_persisted: bool, waits: bool) -> None:
        held = sorted(offset for offset, (owner, _) in self.holders.items() if owner)
        if not held:  # all of them are being written
            return
        first = held[int(at * (len(held) - 1))]
        member, _ = self.holders[first]
        count = 1
        while (count < len(types) or len(types) == 1) and self.holders.get(first + count, ("",))[0] == member:
            count += 1
        asked = Acknowledgement(first, first + count - 1, types[:count])
        update = self.partition.acknowledge(member, [asked], self.now_ms)
        for offset in range(max(first, self.partition.start_offset), asked.last + 1):
            if asked.type_of(offset) == RENEW:
                self.holders[offset] = member, self.now_ms + LOCK_MS
        if not is_persisted:
            self.partition.roll_back(update, self.now_ms)
        elif waits:
            self.writing.append(update)
            for run in update.runs:  # no longer to acknowledge, but not available either
                for offset in range(run.first, run.last + 1):
                    self.holders[offset] = "", self.holders[offset][1]
        else:
            self.persist(update)

    @precondition(lambda self: self.writing)
    @rule(is_persisted=st.booleans())
    def end_writing(self, is_persisted: bool) -> None:
        update = self.writing.pop(0)
        if is_persisted:
            self.persist(update)
        else:
            self.partition.roll_back(update, self.now_ms)
            self.relearn()

    def persist(self, update: Update) -> None:
        self.store(update.batches, update.start_offset)
        for first, last, state, _ in update.batches:
            for offset in range(first, last + 1):
                self.holders.pop(offset, None)
                if state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED):
                    self.done.add(offset)
        self.partition.commit(update, self.now_ms)

    def store(self, batches: list[StateBatch], start_offset: int) -> None:
        self.stored = combined(self.stored, batches, start_offset)
        self.stored_start = start_offset

    @precondition(lambda self: self.holders)
    @rule(member=members)
    def repeat_what_is_not_held(self, member: str) -> None:
        other = next((offset for offset, (owner, _) in self.holders.items() if owner not in (member, "")), None)
        if other is None or other < self.partition.start_offset:
            return
        before = self.pictured()
        try:
            self.partition.acknowledge(member, [Acknowledgement(other, other, [ACCEPT])], self.now_ms)
        except KafkaError:
            assert self.pictured() == before
        else:
            raise AssertionError("a member acknowledged the record of another one")

    def pictured(self) -> list[str]:
        return [repr(run) for batch in self.partition.in_flight for run in batch.runs]

    @precondition(lambda self: self.holders)
    @rule(member=members)
    def leave(self, member: str) -> None:
        update = self.partition.release(member, self.now_ms)
        released = {offset for run in update.runs for offset in range(run.first, run.last + 1)}
        assert released == {offset for offset, (owner, _) in self.holders.items() if owner == member}
        self.persist(update)

    # What happens to them

    @precondition(lambda self: self.holders)
    @rule(after_ms=st.sampled_from([300, 600, 600, LOCK_MS]))
    def wait(self, after_ms: int) -> None:
        self.now_ms += after_ms
        batches = self.partition.expire(self.now_ms)
        self.store(batches, self.partition.start_offset)
        for first, last, state, _ in batches:
            for offset in range(first, last + 1):
                owner, due_ms = self.holders.pop(offset)
                assert owner, f"record {offset} was lost while it was written"
                assert due_ms <= self.now_ms, f"record {offset} was lost too early"
                if state == RecordState.ARCHIVED:
                    self.done.add(offset)
        self.partition.advance()
        assert all(due_ms > self.now_ms for owner, due_ms in self.holders.values() if owner)

    @rule(at=fraction)
    def delete_records(self, at: float) -> None:
        end = self.log[-1].last + 1
        to = self.log_start + int(at * (end - self.log_start) / 3)
        self.log_start = max(self.log_start, to)
        self.partition.move_start(self.log_start)

    @precondition(lambda self: self.holders and self.stored)
    @rule()
    def restart(self) -> None:
        self.writing.clear()
        self.holders.clear()
        self.partition = SharePartition(lambda: self.limits, self.stored_start, self.stored)
        self.partition.move_start(self.log_start)
        self.lowest_start = self.partition.start_offset
        self.done = {
            offset
            for first, last, state, _ in self.stored
            if state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
            for offset in range(first, last + 1)
        } | set(range(self.stored_start))
        self.relearn_deliveries()

    def relearn_deliveries(self) -> None:
        """Only deliveries that ended are stored."""
        self.deliveries = {offset: count for first, last, _, count in self.stored for offset in range(first, last + 1)}

    def relearn(self) -> None:
        """Learn who holds what after a failed write, which the lock of a record may not have outlived."""
        for batch in self.partition.in_flight:
            for run in batch.runs:
                for offset in range(run.first, run.last + 1):
                    if run.state is RecordState.ACQUIRED and run.lock_ms is not None:
                        self.holders[offset] = run.member, run.lock_ms
                    elif not run.is_in_transition:
                        self.holders.pop(offset, None)
                        if run.state.is_terminal:
                            self.done.add(offset)

    # What holds

    def visible(self) -> dict[int, Run]:
        """Return the records in flight at or above the start offset."""
        return {
            offset: run
            for batch in self.partition.in_flight
            for run in batch.runs
            for offset in range(max(run.first, self.partition.start_offset), run.last + 1)
        }

    @invariant()
    def members_hold_what_they_have_acquired(self) -> None:
        start = self.partition.start_offset
        held = {offset: owner for offset, (owner, _) in self.holders.items() if offset >= start}
        found = self.visible()
        assert {offset: run.member for offset, run in found.items() if run.state is RecordState.ACQUIRED} == {
            offset: owner for offset, owner in held.items() if owner
        }
        assert {offset for offset, run in found.items() if run.is_in_transition} == {
            offset for offset, owner in held.items() if not owner
        }

    @invariant()
    def available_records_are_read_again(self) -> None:
        available = [offset for offset, run in self.visible().items() if run.is_acquirable]
        assert not available or self.partition.next_fetch_offset() <= available[0]

    @invariant()
    def the_start_offset_does_not_go_back(self) -> None:
        assert self.partition.start_offset >= self.lowest_start
        self.lowest_start = self.partition.start_offset

    @invariant()
    def no_record_is_lost(self) -> None:
        partition = self.partition
        in_flight = {
            offset: run
            for batch in partition.in_flight
            for run in batch.runs
            for offset in range(run.first, run.last + 1)
        }
        gap = partition.gaps.start if partition.gaps is not None else None
        for batch in self.log:
            for offset in range(batch.first, batch.last + 1):
                run = in_flight.get(offset)
                if offset < partition.start_offset:
                    assert offset in self.done or offset < self.log_start or run is not None, f"record {offset} is lost"
                elif offset <= partition.end_offset and not partition.is_empty and (gap is None or offset < gap):
                    assert run is not None, f"record {offset} is neither in flight nor to be read"

    @invariant()
    def completed_deliveries_are_counted(self) -> None:
        done = sum(
            self.partition.visible_count(run.first, run.last)
            for batch in self.partition.in_flight
            for run in batch.runs
            if run.state.is_terminal
        )
        assert self.partition.delivery_complete_count == done


def test_any_history_keeps_the_promises_of_a_share_group() -> None:
    run_state_machine_as_test(Histories, settings=settings(max_examples=examples(3), stateful_step_count=40))
