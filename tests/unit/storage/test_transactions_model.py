"""A state machine test of transactions as seen by readers, against a simple model.

The model keeps a list of entries and a list of transactions. After any sequence of appends, markers, deletions and
truncations, with any segments and indexes, the last stable offset must equal the model's, the transaction indexes must
contain the model's aborted transactions, and a read_committed consumer must return the committed records and no others.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.storage.log import Log
from kafkalet.storage.values import AbortedTransaction, Isolation
from tests.profile import examples

from .place import CONFIG, Place, content

IDEMPOTENT = 7
TRANSACTIONAL = (11, 12, 13)

counts = st.integers(1, 4)
fraction = st.floats(0, 1)


class Transaction:
    def __init__(self, producer_id: int, first: int) -> None:
        self.producer_id, self.first = producer_id, first
        self.marker: int | None = None
        self.committed = False

    def is_undecided(self, high_watermark: int) -> bool:
        return self.marker is None or self.marker >= high_watermark


class Entry(NamedTuple):
    first: int
    last: int
    transaction: Transaction | None = None
    is_marker: bool = False


class TransactionsModel(RuleBasedStateMachine):
    @initialize(
        segment_bytes=st.sampled_from([100, 300, 10**6]),
        index_interval_bytes=st.sampled_from([0, 150, 4096]),
        lifts=st.booleans(),
    )
    def begin(self, segment_bytes: int, index_interval_bytes: int, lifts: bool) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="kafkalet-model-"))
        config = CONFIG._replace(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            retention_ms=-1,
            lifts_unstable_to_log_start=lifts,
        )
        self.lifts = lifts
        self.without_sync = mock.patch("os.fsync")
        self.without_sync.start()
        self.place = Place(self.root / "data", config, durable=True)
        self.entries: list[Entry] = []
        self.transactions: list[Transaction] = []
        self.open: dict[int, Transaction] = {}
        self.start = self.high_watermark = self.end = 0

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.directory.close(discard=True)
            self.without_sync.stop()
            shutil.rmtree(self.root)

    @property
    def log(self) -> Log:
        return self.place.log

    # Rules: operations on a log

    def _append(self, count: int, transaction: Transaction | None = None, **fields: object) -> None:
        if "producer_id" in fields:
            known = self.log.producers.entry(fields["producer_id"])  # type: ignore[arg-type]
            sequence = 0 if known is None else known.last_sequence + 1
            fields |= {"producer_epoch": 0, "base_sequence": sequence}
        self.place.append(*range(count), visible=False, **fields)
        self._add(Entry(self.end, self.end + count - 1, transaction))

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.end = entry.last + 1
        assert self.log.log_end_offset == self.end

    @rule(count=counts)
    def append(self, count: int) -> None:
        self._append(count)

    @rule(count=counts)
    def append_idempotently(self, count: int) -> None:
        self._append(count, producer_id=IDEMPOTENT)

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), count=counts)
    def append_to_a_transaction(self, producer_id: int, count: int) -> None:
        if producer_id not in self.open:
            self.open[producer_id] = Transaction(producer_id, self.end)
            self.transactions.append(self.open[producer_id])
        self._append(count, self.open[producer_id], producer_id=producer_id, transactional=True)

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), commit=st.booleans())
    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """The transaction may have no records."""
        transaction = self.open.pop(producer_id, None)
        if transaction is not None:
            transaction.marker, transaction.committed = self.end, commit
        self.place.end_transaction(producer_id, commit=commit, visible=False)
        self._add(Entry(self.end, self.end, transaction, is_marker=True))

    @rule(part=fraction)
    def raise_high_watermark(self, part: float) -> None:
        ends = [self.high_watermark, *(e.last + 1 for e in self.entries if e.last >= self.high_watermark)]
        self.high_watermark = ends[round(part * (len(ends) - 1))]
        self.log.maybe_increment_high_watermark(self.high_watermark)

    @rule()
    def replicate_everything(self) -> None:
        self.raise_high_watermark(1)

    @rule(part=fraction)
    def delete_records(self, part: float) -> None:
        self.start += round(part * (self.high_watermark - self.start))
        self.log.maybe_increment_log_start_offset(self.start)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    def is_rebuilt_exactly(self) -> bool:
        """Return whether no transaction that may be open has lost its first records, because deleted records cannot be
        replayed.
        """
        return hasattr(self, "place") and all(
            transaction.first >= self.start or (transaction.marker is not None and transaction.marker < self.start)
            for transaction in self.transactions
        )

    @precondition(is_rebuilt_exactly)
    @rule(part=fraction)
    def truncate(self, part: float) -> None:
        """Truncate like replication: to the beginning of an entry, not below the leader's high watermark.

        Markers above the high watermark are truncated, as after an election. A snapshot only says whether a transaction
        is open, so a transaction with such a marker would count as completed.
        """
        above = [entry for entry in self.entries if entry.first >= self.high_watermark]
        highest = next((entry.first for entry in above if entry.is_marker), self.end)
        begins = [*(entry.first for entry in above if entry.first < highest), highest]
        self.end = begins[round(part * (len(begins) - 1))]
        self.log.truncate_to(self.end)
        self.log.update_high_watermark(self.high_watermark)
        self.entries = [entry for entry in self.entries if entry.last < self.end]
        self.transactions = [each for each in self.transactions if each.first < self.end]
        for each in self.transactions:
            if each.marker is not None and each.marker >= self.end:
                each.marker = None
        self.open = {each.producer_id: each for each in self.transactions if each.marker is None}

    @precondition(lambda self: self.is_rebuilt_exactly() and self.high_watermark == self.end)
    @rule()
    def stop_and_start(self) -> None:
        self.place.reopen()

    # Invariants

    def unstable(self) -> int | None:
        """Return the first unstable offset."""
        first = min((t.first for t in self.transactions if t.is_undecided(self.high_watermark)), default=None)
        if first is None or first >= self.start:
            return first
        if self.lifts:
            return self.start
        return next((entry.first for entry in self.entries if entry.first <= self.start <= entry.last), self.start)

    def stable(self) -> int:
        unstable = self.unstable()
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def aborted(self, offset: int, upper_bound: int) -> list[tuple[int, int]]:
        """Return producer id and first offset of transactions aborted at or above `offset` that began below the
        bound."""
        ended = [each for each in self.transactions if each.marker is not None and not each.committed]
        ended.sort(key=lambda each: each.marker or 0)
        return [
            (each.producer_id, each.first)
            for each in ended
            if (each.marker or 0) >= offset and each.first < upper_bound
        ]

    def committed(self, offset: int) -> list[int]:
        """Return the offsets that a consumer must see, starting at `offset`."""
        return [
            at
            for entry in self.entries
            if not entry.is_marker and (entry.transaction is None or entry.transaction.committed)
            for at in range(max(entry.first, offset), entry.last + 1)
            if at < self.stable()
        ]

    @invariant()
    def offsets_are_those_of_the_model(self) -> None:
        if not hasattr(self, "place"):
            return
        log = self.log
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (
            self.start,
            self.high_watermark,
            self.end,
        )
        assert log.last_stable_offset == self.stable()

    @invariant()
    def producers_know_their_transactions(self) -> None:
        if not hasattr(self, "place"):
            return
        entries = {entry.producer_id: entry.open_since for entry in self.log.producers.active()}
        for producer_id in TRANSACTIONAL:
            transaction = self.open.get(producer_id)
            assert entries.get(producer_id) == (None if transaction is None else transaction.first)

    @invariant()
    def the_indexes_know_what_was_aborted(self) -> None:
        if not hasattr(self, "place"):
            return
        edges = sorted({self.start, self.end, *(entry.first for entry in self.entries if entry.first >= self.start)})
        for offset in edges:
            segment = self.log.segments.floor(offset)
            assert segment is not None
            for upper_bound in edges:
                if offset < upper_bound:
                    found = self.log.local.aborted_transactions(offset, upper_bound, segment)
                    assert named(found) == self.aborted(offset, upper_bound)

    @invariant()
    def consumers_see_what_was_committed(self) -> None:
        if hasattr(self, "place"):
            self.read_committed(self.start, 1 << 20)

    @rule(part=fraction, max_bytes=st.integers(1, 400))
    def read_from_anywhere(self, part: float, max_bytes: int) -> None:
        self.read_committed(self.start + round(part * (self.end - self.start)), max_bytes)

    def read_committed(self, offset: int, max_bytes: int) -> None:
        assert list(self.consume(offset, max_bytes)) == self.committed(offset)

    def consume(self, offset: int, max_bytes: int) -> Iterator[int]:
        """Return the offsets that a consumer returns if it works like Kafka's (CompletedFetch)."""
        while True:
            result = self.place.read(offset, Isolation.LAST_STABLE, max_bytes)
            returned = result.aborted
            assert returned is not None
            assert named(returned) == [each for each in self.aborted(offset, self.end) if each in named(returned)]
            read = list(batches(content(result)))
            if not read:
                assert offset >= self.stable()
                return
            waiting = sorted(returned, key=lambda each: each.first_offset)
            dropped: set[int] = set()
            for batch in read:
                while waiting and waiting[0].first_offset <= batch.last_offset:
                    dropped.add(waiting.pop(0).producer_id)
                if batch.is_control:
                    if control_type(batch.records()[0]) is ControlType.ABORT:
                        dropped.discard(batch.producer_id)
                elif not (batch.is_transactional and batch.producer_id in dropped):
                    yield from (record.offset for record in batch.records() if record.offset >= offset)
            offset = read[-1].next_offset


def named(aborted: Iterable[AbortedTransaction]) -> list[tuple[int, int]]:
    return [(transaction.producer_id, transaction.first_offset) for transaction in aborted]


TransactionsModel.TestCase.settings = settings(
    max_examples=examples(0.6), stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
TestTransactionsModel = TransactionsModel.TestCase
