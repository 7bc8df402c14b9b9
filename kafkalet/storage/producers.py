"""The producer states of one log: sequences, epochs and transactions (Kafka's ProducerStateManager).

An append is checked first and applied after the write:

    change = producers.prepare(batches, origin, ...)     raises the producer's error; nothing is changed
    change.duplicate                                     the batch is already in the log: append nothing
    aborted = producers.commit(change)                   the batches are in the log; entries for the .txnindex
    producers.end_offset = log_end_offset

Transactions limit the last stable offset, starting at their first offset:

    open          no marker yet
    unreplicated  the marker is in the log, but not below the high watermark

The states reflect all records below `end_offset`. They are restored from the latest snapshot (producer_snapshot.py) and
a `replay` of the records after it. A producer expires after `expiration_ms` without an append
(producer.id.expiration.ms), but never during a transaction. Raising the log start offset removes no producers.
"""

import logging
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.record import wrapped

from .files import Files, explain
from .producer_append import NO_CHANGE, CompletedTransaction, ProducerAppend, ProducerChange
from .producer_entry import ProducerEntry
from .producer_snapshot import CorruptSnapshot, Snapshots
from .values import UNKNOWN_OFFSET, UNKNOWN_POSITION, AbortedTransaction, LogOffsetMetadata, Origin
from .verification import Verifications

_LOG = logging.getLogger(__name__)

DEFAULT_EXPIRATION_MS = 24 * 60 * 60 * 1000


class Transaction(NamedTuple):
    """A transaction that limits the last stable offset."""

    producer_id: int
    first: LogOffsetMetadata
    last_offset: int | None = None
    """The offset of its marker; None while the transaction is open."""


class ProducerStates:
    """The producer states of the log in `directory`. They are initially empty: existing snapshots are listed but not
    loaded."""

    __slots__ = (
        *("_by_id", "_last_snapshot", "_open", "_unreplicated", "end_offset", "expiration_ms", "snapshots"),
        "verifications",
    )

    def __init__(
        self,
        directory: str,
        files: Files,
        *,
        expiration_ms: int = DEFAULT_EXPIRATION_MS,
    ) -> None:
        self.snapshots = Snapshots(directory, files)
        self.expiration_ms = expiration_ms
        self.verifications = Verifications()
        self.end_offset = 0
        """The states reflect all records below this offset (Kafka's mapEndOffset)."""
        self._last_snapshot = 0
        self._by_id: dict[int, ProducerEntry] = {}
        self._open: dict[int, Transaction] = {}
        """Open transactions, keyed by first offset, in ascending order."""
        self._unreplicated: list[Transaction] = []
        """Unreplicated transactions, in ascending order of first offset."""

    # State

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def is_empty(self) -> bool:
        return not self._by_id and not self._unreplicated

    def active(self) -> Iterator[ProducerEntry]:
        """Return the producers that have not expired. Appends replace the entries but never modify them."""
        return iter(self._by_id.values())

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self._by_id.get(producer_id)

    def has_open_transaction(self, producer_id: int, producer_epoch: int | None = None) -> bool:
        """Return whether the producer has an open transaction (in this epoch, which 4.x requires)."""
        entry = self._by_id.get(producer_id)
        return (
            entry is not None
            and entry.open_since is not None
            and (producer_epoch is None or entry.producer_epoch == producer_epoch)
        )

    @property
    def first_unstable(self) -> LogOffsetMetadata | None:
        """The first offset of the oldest transaction that is open or unreplicated."""
        if not self._open and not self._unreplicated:
            return None
        undecided = next(iter(self._open.values()), None)
        if not self._unreplicated:
            return None if undecided is None else undecided.first
        unreplicated = self._unreplicated[0].first
        if undecided is None or unreplicated.offset < undecided.first.offset:
            return unreplicated
        return undecided.first

    # Append

    def prepare(
        self,
        batches: Sequence[Batch],
        origin: Origin,
        *,
        segment_base_offset: int = UNKNOWN_OFFSET,
        position: int = UNKNOWN_POSITION,
        transaction_version: int = 0,
    ) -> ProducerChange:
        """Return the effect of appending `batches`, whose offsets are assigned, without changing any state.

        `position` is the byte position of the first batch in the segment that begins at `segment_base_offset`.
        `transaction_version` applies to markers. Raises AppendRefused; see producer_append.py.
        """
        appends: dict[int, ProducerAppend] = {}
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id >= 0:
                known = self._by_id.get(producer_id)
                if origin is Origin.CLIENT and known is not None:
                    sequences = batch.base_sequence, batch.last_sequence
                    duplicate = known.find_duplicate(batch.producer_epoch, *sequences)
                    if duplicate is not None:
                        return ProducerChange(duplicate=duplicate)
                first = None
                if batch.is_transactional:
                    first = LogOffsetMetadata(batch.base_offset, segment_base_offset, position)
                append = appends.get(producer_id)
                if append is None:
                    verification = self.verifications.get(producer_id)
                    append = appends[producer_id] = ProducerAppend(producer_id, known, origin, verification)
                append.add(batch, first, transaction_version)
            if position != UNKNOWN_POSITION:
                position += batch.size
        return ProducerChange(tuple(appends.values())) if appends else NO_CHANGE

    def commit(self, change: ProducerChange) -> list[AbortedTransaction]:
        """Apply a change whose batches are in the log. Return the entries for the segment's transaction index."""
        started: list[Transaction] = []
        completed: list[CompletedTransaction] = []
        for append in change.appends:
            producer_id = append.entry.producer_id
            self._by_id[producer_id] = append.entry
            if append.is_transactional:
                if append.ends_verification:
                    self.verifications.end(producer_id)
                started += [Transaction(producer_id, first) for first in append.started]
                completed += append.completed
        for transaction in sorted(started, key=_first_offset):
            self._open[transaction.first.offset] = transaction
        completed.sort(key=_last_offset)
        return [aborted for each in completed if (aborted := self._complete(each)) is not None]

    def _complete(self, completed: CompletedTransaction) -> AbortedTransaction | None:
        """End a transaction; it limits the last stable offset until its marker is replicated."""
        others = (first for first, other in self._open.items() if other.producer_id != completed.producer_id)
        stable = next(others, completed.last_offset + 1)
        transaction = self._open.pop(completed.first_offset)
        insort(self._unreplicated, transaction._replace(last_offset=completed.last_offset), key=_first_offset)
        return completed.aborted(stable) if completed.is_aborted else None

    def replay(self, batches: Sequence[Batch]) -> list[AbortedTransaction]:
        """Update the states from batches that are already in the log. Return their transaction index entries."""
        return self.commit(self.prepare(batches, Origin.REPLICATION))

    # Changes of the log's offsets

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Drop transactions with markers below `high_watermark`: they no longer limit the last stable offset."""
        if self._unreplicated:
            self._unreplicated = [
                transaction
                for transaction in self._unreplicated
                if transaction.last_offset is None or transaction.last_offset >= high_watermark
            ]

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Update the offsets after records have been deleted. Producers and open transactions are kept."""
        self.on_high_watermark_updated(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
        self._last_snapshot = self.snapshots.offsets[-1] if self.snapshots.offsets else log_start_offset

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Truncate the states to these log offsets. The new end must be at or below the old one.

        Snapshots outside this range are deleted. If the end moved, the states are taken from the latest remaining
        snapshot (or are empty), and the records from `end_offset` onwards must be replayed.
        """
        outside = [at for at in self.snapshots.offsets if at > log_end_offset or at <= log_start_offset]
        self.snapshots.remove_all(outside)
        if log_end_offset == self.end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
        else:
            self._clear()
            self._load_latest(log_start_offset, now_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove all states and snapshots: the log is empty and starts at `offset`."""
        self._clear()
        self.snapshots.remove_all(self.snapshots.offsets)
        self._last_snapshot = 0
        self.end_offset = offset

    def _clear(self) -> None:
        self._by_id.clear()
        self._open.clear()
        self._unreplicated.clear()

    # Snapshots

    def _load_latest(self, log_start_offset: int, now_ms: int) -> None:
        """Load the latest readable snapshot; corrupt ones are deleted."""
        while self.snapshots.offsets:
            offset = self.snapshots.offsets[-1]
            try:
                entries = self.snapshots.read(offset)
            except (CorruptSnapshot, FileNotFoundError):
                self.snapshots.remove(offset)
                continue
            self._load(entry for entry in entries if not self._is_expired(entry, now_ms))
            self._last_snapshot = self.end_offset = offset
            return
        self._last_snapshot = self.end_offset = log_start_offset

    def _load(self, entries: Iterable[ProducerEntry]) -> None:
        self._by_id = {entry.producer_id: entry for entry in entries}
        first_offsets = {
            entry.open_since: entry.producer_id for entry in self._by_id.values() if entry.open_since is not None
        }
        self._open = {at: Transaction(first_offsets[at], LogOffsetMetadata(at)) for at in sorted(first_offsets)}

    def restore(self, offset: int, entries: Iterable[ProducerEntry]) -> None:
        """Take the states at `offset`, where the log begins, from another replica."""
        self._load(entries)
        self.end_offset = offset
        self.try_to_take_snapshot()

    def take_snapshot(self, *, force: bool = True) -> int | None:
        """Write a snapshot at `end_offset`, unless one exists. Return the offset of a new snapshot.

        It is synced to disk only with `force`.
        """
        if self.end_offset <= self._last_snapshot:
            return None
        self.snapshots.write(self.end_offset, self._by_id.values(), force=force)
        self._last_snapshot = self.end_offset
        return self.end_offset

    def try_to_take_snapshot(self, *, force: bool = True) -> int | None:
        """Take a snapshot, ignoring failures: without it, more records are read when the log is opened."""
        try:
            return self.take_snapshot(force=force)
        except OSError as error:
            _LOG.warning("%s; no snapshot taken", explain(error))
            return None

    # Time

    def remove_expired(self, now_ms: int) -> None:
        """Remove producers and verifications that have been inactive for too long."""
        for entry in list(self._by_id.values()):
            if self._is_expired(entry, now_ms):
                del self._by_id[entry.producer_id]
        self.verifications.expire(now_ms - self.expiration_ms)

    def quiet_ms(self, now_ms: int) -> int:
        """Return the time until a producer or a verification may expire, including those that will begin later."""
        inactive = [entry.last_timestamp for entry in self._by_id.values() if entry.open_since is None]
        oldest_ms = min([*inactive, *self.verifications.started_ms(), now_ms])
        return oldest_ms + self.expiration_ms - now_ms

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.open_since is None and wrapped(now_ms - entry.last_timestamp) >= self.expiration_ms


def _first_offset(transaction: Transaction) -> int:
    return transaction.first.offset


def _last_offset(completed: CompletedTransaction) -> int:
    return completed.last_offset
