"""The producers of one log: sequences, epochs, and transactions that are open or not yet safe (ProducerStateManager).

An append is first decided, then done:

    change = producers.prepare(batches, origin, ...)     raises what the producer is told; nothing has happened
    change.duplicate                                     the batch is in the log already: nothing is to be appended
    aborted = producers.commit(change)                   the records are in the log; these entries go into the .txnindex
    producers.end_offset = log_end_offset

Transactions hold the last stable offset back, from their first offset on:

    open          no marker yet
    unreplicated  the marker is in the log, but not below the high watermark

The state is that of the records below `end_offset`. It survives in snapshots (producer_snapshot.py) and by `replay` of
the records behind the latest one. A producer is forgotten when it has been silent for `expiration_ms`
(producer.id.expiration.ms), but never inside a transaction. Moving the log start forgets none.
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

_log = logging.getLogger(__name__)

DEFAULT_EXPIRATION_MS = 24 * 60 * 60 * 1000


class Transaction(NamedTuple):
    """A transaction that holds the last stable offset back."""

    producer_id: int
    first: LogOffsetMetadata
    last_offset: int | None = None
    """Of its marker; None while it is open."""


class ProducerStates:
    """What the log in `directory` remembers of its producers. It begins empty, with the snapshots that are there."""

    __slots__ = (
        "_by_id",
        "_last_snapshot",
        "_open",
        "_unreplicated",
        "end_offset",
        "expiration_ms",
        "snapshots",
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
        """The records below it have been taken in (Kafka's mapEndOffset)."""
        self._last_snapshot = 0
        self._by_id: dict[int, ProducerEntry] = {}
        self._open: dict[int, Transaction] = {}
        """By first offset, ascending."""
        self._unreplicated: list[Transaction] = []
        """Ascending by first offset."""

    # What is known

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def is_empty(self) -> bool:
        return not self._by_id and not self._unreplicated

    def active(self) -> Iterator[ProducerEntry]:
        """The producers that have not expired. The entries are replaced by an append, never changed."""
        return iter(self._by_id.values())

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self._by_id.get(producer_id)

    def has_open_transaction(self, producer_id: int, producer_epoch: int | None = None) -> bool:
        """Whether the producer is inside a transaction here (in this epoch: what 4.x asks for)."""
        entry = self._by_id.get(producer_id)
        return (
            entry is not None
            and entry.open_since is not None
            and (producer_epoch is None or entry.producer_epoch == producer_epoch)
        )

    @property
    def first_unstable(self) -> LogOffsetMetadata | None:
        """The first offset of the oldest transaction that is open or unreplicated."""
        undecided = next(iter(self._open.values()), None)
        if not self._unreplicated:
            return None if undecided is None else undecided.first
        unreplicated = self._unreplicated[0].first
        if undecided is None or unreplicated.offset < undecided.first.offset:
            return unreplicated
        return undecided.first

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction; replication plays no part."""
        return next(iter(self._open), None)

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
        """What appending `batches`, whose offsets are assigned, will do; nothing is changed here.

        The first batch goes to byte `position` of the segment with that base offset. `transaction_version` is that of
        the markers. Raises AppendRefused as producer_append.py says.
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
        """The batches of `change` are in the log. Returns what goes into the transaction index of their segment."""
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
        """The marker is in the log; the transaction goes on to hold the stable offset back until it is replicated."""
        others = (first for first, other in self._open.items() if other.producer_id != completed.producer_id)
        stable = next(others, completed.last_offset + 1)
        transaction = self._open.pop(completed.first_offset)
        insort(self._unreplicated, transaction._replace(last_offset=completed.last_offset), key=_first_offset)
        return completed.aborted(stable) if completed.is_aborted else None

    def replay(self, batches: Sequence[Batch]) -> list[AbortedTransaction]:
        """Take in batches that lie in the log already. Returns what the transaction index says of them."""
        return self.commit(self.prepare(batches, Origin.REPLICATION))

    # The log's offsets move

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Transactions whose markers are below `high_watermark` no longer hold the last stable offset back."""
        if self._unreplicated:
            self._unreplicated = [
                transaction
                for transaction in self._unreplicated
                if transaction.last_offset is None or transaction.last_offset >= high_watermark
            ]

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """The records below are gone. The producers stay, and so do open transactions."""
        self.on_high_watermark_updated(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
        self._last_snapshot = self.snapshots.offsets[-1] if self.snapshots.offsets else log_start_offset

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """The log now lies between these offsets, at or below its old end. Snapshots outside go.

        Where the end moved, the state is that of the latest snapshot left, or empty, and `end_offset` says from where
        records have to be replayed.
        """
        outside = [at for at in self.snapshots.offsets if at > log_end_offset or at <= log_start_offset]
        self.snapshots.remove_all(outside)
        if log_end_offset == self.end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
        else:
            self._forget_all()
            self._load_latest(log_start_offset, now_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """The log is empty and begins at `offset`."""
        self._forget_all()
        self.snapshots.remove_all(self.snapshots.offsets)
        self._last_snapshot = 0
        self.end_offset = offset

    def _forget_all(self) -> None:
        self._by_id.clear()
        self._open.clear()
        self._unreplicated.clear()

    # Snapshots

    def _load_latest(self, log_start_offset: int, now_ms: int) -> None:
        """The latest snapshot that can be read; broken ones are deleted."""
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

    def take_snapshot(self) -> int | None:
        """Write the state at `end_offset`, unless there is a snapshot of it. Returns the offset of a new one."""
        if self.end_offset <= self._last_snapshot:
            return None
        self.snapshots.write(self.end_offset, self._by_id.values())
        self._last_snapshot = self.end_offset
        return self.end_offset

    def try_to_take_snapshot(self) -> None:
        """The same where it may fail: without the snapshot, more records are read when the log is opened."""
        try:
            self.take_snapshot()
        except OSError as error:
            _log.warning("%s; the snapshot is not taken", explain(error))

    # Time

    def remove_expired(self, now_ms: int) -> None:
        """Forget the producers, and the open questions about transactions, that have been silent for too long."""
        for entry in list(self._by_id.values()):
            if self._is_expired(entry, now_ms):
                del self._by_id[entry.producer_id]
        self.verifications.expire(now_ms - self.expiration_ms)

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.open_since is None and wrapped(now_ms - entry.last_timestamp) >= self.expiration_ms


def _first_offset(transaction: Transaction) -> int:
    return transaction.first.offset


def _last_offset(completed: CompletedTransaction) -> int:
    return completed.last_offset
