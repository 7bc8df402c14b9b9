"""Find the open and aborted transactions of a log.

open     These are found by loading the newest producer snapshot between log start and log end, and replaying the
         entries after it: a transactional batch opens a transaction for its producer, and a marker ends it. If a
         snapshot cannot be read, an older one is used, as in Kafka; if there is none, the log is replayed from its
         start.
aborted  These are read from the .txnindex of the segments that hold the markers. A segment without aborted
         transactions has no .txnindex, so a lost file can be detected only by reading the markers, which `verify` does.

Consumers with read_committed skip all markers, and the batches that a producer wrote in an aborted transaction
(UnifiedLog.collectAbortedTransactions, Fetcher).

The last stable offset is the first offset of the oldest open transaction, or the log end offset if none is open. The
files do not show which records are replicated: the high watermark of a replicated partition may be lower
(`replication-offset-checkpoint`, which lags behind a running broker).

A marker is a control batch with one record. The log cleaner may have removed the record and left an empty batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.control import ControlType, EndMarker, control_type, read_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet_spark.decoding.aborted import AbortedTransactions

from .directory import ATTEMPTS, PartitionLog, open_partition, snapshot_path
from .ends import log_end, log_end_offset
from .files import CorruptFile
from .heads import Head
from .indexed import IndexedSegment, floor_segment
from .indexes import (
    NO_ABORTED,
    TXN_ENTRY_BYTES,
    TransactionIndex,
    read_transaction_index,
)
from .snapshots import Producers, read_snapshot, snapshot_offsets

_BEHIND_ALL = (1 << 63) - 1

_LOG = logging.getLogger(__name__)


class OpenTransactions(NamedTuple):
    """Transactions without a commit or abort marker, oldest first."""

    producer_id: NDArray[np.int64]
    first_offset: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]


class Ended(NamedTuple):
    """An aborted transaction, with the same fields as a .txnindex entry."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    not_before: int
    """The smallest first offset that the transaction can have had. The log cleaner may have removed its first batches,
    but not its entry in the .txnindex."""
    producer_epoch: int


class Replay:
    """Tracks the open transactions of a log while its entries are replayed, beginning at the offset `start`."""

    __slots__ = ("_behind_marker", "_start", "open")

    def __init__(self, producers: Producers | None = None, start: int = 0) -> None:
        self.open: dict[int, tuple[int, int]] = {}
        """The first offset and the producer epoch of each open transaction, keyed by producer id."""
        self._start = start
        self._behind_marker: dict[int, int] = {}
        """The offset after the last marker of each producer."""
        if producers is not None:
            for row in np.flatnonzero(producers.first_offset >= 0):
                begun = int(producers.first_offset[row]), int(producers.producer_epoch[row])
                self.open[int(producers.producer_id[row])] = begun

    def take(self, path: str, head: Head) -> Ended | None:
        """Replay an entry of the file at `path`. Return the transaction that it aborted, if any."""
        if not head.is_transactional or head.producer_id < 0:
            return None
        if not head.is_control:
            self.open.setdefault(head.producer_id, (head.base_offset, head.producer_epoch))
            return None
        kind = marker_type(path, head)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        begun = self.open.pop(head.producer_id, None)
        not_before = self._behind_marker.get(head.producer_id, self._start)
        self._behind_marker[head.producer_id] = head.last_offset + 1
        if begun is None or kind is ControlType.COMMIT:
            return None
        first, epoch = begun
        stable = self.stable_until(head.last_offset + 1)
        return Ended(head.producer_id, first, head.last_offset, stable, min(first, not_before), epoch)

    def stable_until(self, end_offset: int) -> int:
        """Return the first offset of the oldest open transaction; `end_offset` if none is open."""
        return min((first for first, _ in self.open.values()), default=end_offset)

    def columns(self) -> OpenTransactions:
        """Return the transactions that are open at this point."""
        rows = sorted((first, producer, epoch) for producer, (first, epoch) in self.open.items())
        return OpenTransactions(
            np.array([producer for _, producer, _ in rows], np.int64),
            np.array([first for first, _, _ in rows], np.int64),
            np.array([epoch for _, _, epoch in rows], np.int16),
        )


# Open transactions


def open_transactions(log: PartitionLog, *, lenient: bool = False) -> OpenTransactions:
    """Return the transactions that are open at the end of the log. Raises CorruptFile unless `lenient`."""
    # When a broker opens a log, it deletes the snapshots whose offsets are outside the log
    # (ProducerStateManager.truncateAndReload).
    end = log_end(log, lenient=lenient).offset
    start, replay = _latest_state(log, log.log_start_offset, end)
    for at in range(floor_segment(log, start), len(log.segments)):
        for ended in _replayed(log, at, start, replay, lenient):
            if _is_being_aborted(log, at, ended, end, lenient):
                replay.open[ended.producer_id] = ended.first_offset, ended.producer_epoch
    return replay.columns()


def _is_being_aborted(log: PartitionLog, at: int, ended: Ended, end_offset: int, lenient: bool) -> bool:
    """Return whether the abort marker is in the log, but not in the .txnindex. A running broker writes the marker
    first. Until then, the transaction counts as open; otherwise its records would appear to be committed."""
    if log.is_closed or ended.last_offset + 1 < end_offset:
        return False
    known = _transaction_index(log, at, lenient).aborted.last_offset
    return not np.isin(ended.last_offset, known)


def _latest_state(log: PartitionLog, above: int, until: int) -> tuple[int, Replay]:
    """Load the newest readable snapshot whose offset is greater than `above` and at most `until`. Return its offset and
    state."""
    for offset in reversed(snapshot_offsets(log.path)):
        if above < offset <= until:
            try:
                return offset, Replay(read_snapshot(snapshot_path(log.path, offset)), offset)
            except CorruptFile as error:
                _LOG.warning("%s; falling back to an older snapshot", error)
            except FileNotFoundError:
                continue  # a newer snapshot has replaced it
    return max(above, 0), Replay()


def _replayed(log: PartitionLog, at: int, start: int, replay: Replay, lenient: bool) -> Iterator[Ended]:
    """Replay segment number `at` from offset `start` on, updating `replay`. Yield the aborted transactions."""
    segment = IndexedSegment(log, log.segments[at], lenient=lenient)
    for head in segment.heads_from(start):
        if head.last_offset >= start:
            try:
                ended = replay.take(segment.segment.path, head)
            except CorruptFile:
                if not lenient:
                    raise
                continue
            if ended is not None:
                yield ended


# Aborted transactions


def aborted_transactions(
    log: PartitionLog, start: int, end: int, *, lenient: bool = False, verify: bool = False
) -> AbortedTransactions:
    """Return the aborted transactions that overlap the offsets from `start` up to but not including `end`, in the order
    of their markers.

    If `verify`, check that the .txnindex files list every abort marker in these segments. Raises CorruptFile unless
    `lenient`; if `lenient`, entries that are missing from a .txnindex are derived from the markers.
    """
    for _ in range(ATTEMPTS):
        try:
            return _aborted(log, start, end, lenient, verify)
        except FileNotFoundError:  # a running broker may delete or replace segments
            log = open_partition(log.path, lenient=lenient)
    return _aborted(log, start, end, lenient, verify)


def _aborted(log: PartitionLog, start: int, end: int, lenient: bool, verify: bool) -> AbortedTransactions:
    first = floor_segment(log, start)
    expected = _by_markers(log, first, lenient) if verify else None
    found = []
    for at in range(first, len(log.segments)):
        index = _transaction_index(log, at, lenient)
        stable = index.last_stable_offset[index.aborted.last_offset >= start]
        if expected is not None:
            replayed = next(expected)
            index = _verified(log, at, index, replayed, lenient)
            stable = np.append(stable, replayed.stable_offset)
        aborted = index.aborted
        found.append(aborted.take((aborted.last_offset >= start) & (aborted.first_offset < end)))
        # No transaction that ends later began below this last stable offset.
        if (stable >= end).any():
            break
    return AbortedTransactions(*map(np.concatenate, zip(*found, strict=True))) if found else NO_ABORTED


def verify_transactions(log: PartitionLog) -> None:
    """Check that the .txnindex of each segment has an entry for every abort marker whose transaction wrote any data.

    This reads the headers of the whole log. Raises CorruptFile with the path of the index and the position of the
    missing entry.
    """
    for at, expected in enumerate(_by_markers(log, 0, lenient=False)):
        _verified(log, at, _transaction_index(log, at, lenient=False), expected, lenient=False)


def _transaction_index(log: PartitionLog, at: int, lenient: bool) -> TransactionIndex:
    segment = log.segments[at]
    try:
        index = read_transaction_index(segment.txn_index_path, segment.base_offset)
    except CorruptFile:
        segment.check_is_there()
        if not lenient:
            raise
        return next(_by_markers(log, at, lenient)).entries
    if not index.last_stable_offset.size:  # the file may have been deleted together with its segment
        segment.check_is_there()
    return index


class _SegmentTransactions(NamedTuple):
    """The transactions whose abort markers are in the segment."""

    entries: TransactionIndex
    not_before: NDArray[np.int64]
    """The smallest first offset that each of them can have had."""
    stable_offset: int
    """The last stable offset at the end of the segment."""


def _by_markers(log: PartitionLog, first: int, lenient: bool) -> Iterator[_SegmentTransactions]:
    """Derive the .txnindex of segment number `first`, and of each later segment, from the log."""
    if not log.segments:
        return
    start, replay = _latest_state(log, -1, log.segments[first].base_offset)
    for at in range(floor_segment(log, start), len(log.segments)):
        rows = np.array(list(_replayed(log, at, start, replay, lenient)), np.int64).reshape(-1, 6)[:, :5]
        next_base = log.next_base_offset(at)
        if next_base is None and not log.is_closed:  # see _is_being_aborted
            rows = rows[rows[:, 2] + 1 < log_end(log, lenient=lenient).offset]
        if at >= first:
            stable_offset = replay.stable_until(_BEHIND_ALL if next_base is None else next_base)
            yield _SegmentTransactions(_index_of(rows[:, :4]), rows[:, 4], stable_offset)


def _index_of(rows: NDArray[np.int64]) -> TransactionIndex:
    producer_id, first_offset, last_offset, last_stable_offset = rows.T
    return TransactionIndex(AbortedTransactions(producer_id, first_offset, last_offset), last_stable_offset)


def _verified(
    log: PartitionLog, at: int, index: TransactionIndex, replayed: _SegmentTransactions, lenient: bool
) -> TransactionIndex:
    """Check `index` against the markers; return it, completed if lenient. Raises CorruptFile unless lenient.

    The index may have additional entries, and entries with a lower first offset: the log cleaner removes batches of
    aborted transactions, but keeps their entries as long as one batch remains, such as the empty last batch of a
    producer (Cleaner.cleanInto). It looks up no transactions below the log start offset
    (LocalLog.collectAbortedTransactions), so it may drop their entries and their markers but not their data, which then
    seems to belong to the next transaction. Also, at startup a broker deletes the snapshots below the log start offset,
    and with them the state of transactions that began before the oldest segment
    (ProducerStateManager.truncateAndReload).
    """
    oldest = log.segments[0].base_offset
    expected = replayed.entries
    begun = {(producer_id, last): first for producer_id, first, last in zip(*index.aborted, strict=True)}
    missing = []
    for row, (producer_id, first, last) in enumerate(zip(*expected.aborted, strict=True)):
        known = begun.get((producer_id, last))
        is_listed = known is not None and (
            replayed.not_before[row] <= known <= max(first, log.log_start_offset) or known < oldest
        )
        if not is_listed and last >= log.log_start_offset:
            missing.append(row)
    if not missing:
        return index
    if not lenient:
        producer_id, first_offset, last_offset = (int(column[missing[0]]) for column in expected.aborted)
        place = int(np.searchsorted(index.aborted.last_offset, last_offset))
        raise CorruptFile(
            log.segments[at].txn_index_path,
            place * TXN_ENTRY_BYTES,
            f"no entry for producer {producer_id}, whose transaction from offset {first_offset} on was aborted at"
            f" {last_offset}",
        )
    both = [np.column_stack([*each.aborted, each.last_stable_offset]) for each in (index, expected)]
    rows = np.concatenate([both[0], both[1][missing]])
    return _index_of(rows[np.argsort(rows[:, 2], kind="stable")])


# The last stable offset


def last_stable_offset(log: PartitionLog, *, lenient: bool = False, within_entry: bool = False) -> int:
    """Return the last stable offset: consumers with read_committed see only the records below it.

    If the oldest open transaction began below the log start offset (possible after DeleteRecords), return the log start
    offset or, if `within_entry`, the first offset of the entry that holds it, as Kafka 4 does. Raises CorruptFile
    unless `lenient`.
    """
    end = log_end_offset(log, lenient=lenient)
    open_now = open_transactions(log, lenient=lenient)
    if not open_now.first_offset.size:
        return end
    first = int(open_now.first_offset[0])
    if first >= log.log_start_offset:
        return min(first, end)
    if within_entry:
        return min(_first_offset_of_entry(log, lenient), end)
    return min(log.log_start_offset, end)


def _first_offset_of_entry(log: PartitionLog, lenient: bool) -> int:
    """Return the first offset of the entry that holds the log start offset."""
    start = log.log_start_offset
    segment = IndexedSegment(log, log.segments[floor_segment(log, start)], lenient=lenient)
    head = segment.entry_with(start)
    return start if head is None else min(start, head.base_offset)


# Markers


_ENDS_OF_TRANSACTIONS = (ControlType.ABORT, ControlType.COMMIT)


def marker_type(path: str, head: Head) -> ControlType | None:
    """Return the type of the control batch with header `head`; None if it has no record. Raises CorruptFile."""
    record = _control_record(path, head)
    try:
        return None if record is None else control_type(record)
    except KafkaError:
        raise CorruptFile(path, head.position, "a control record has no key") from None


def end_marker(path: str, head: Head) -> EndMarker | None:
    """Return the transaction marker in a control batch; None if it is not one. Raises CorruptFile."""
    record = _control_record(path, head)
    try:
        return None if record is None or control_type(record) not in _ENDS_OF_TRANSACTIONS else read_end_marker(record)
    except KafkaError as error:
        raise _unreadable_control_batch(path, head, error) from None


def _control_record(path: str, head: Head) -> Record | None:
    with open(path, "rb", buffering=0) as file:
        file.seek(head.position)
        batch = Batch(file.read(head.size))
    try:
        return next(iter(batch.records()), None)
    except KafkaError as error:
        raise _unreadable_control_batch(path, head, error) from None


def _unreadable_control_batch(path: str, head: Head, error: KafkaError) -> CorruptFile:
    return CorruptFile(path, head.position, f"cannot read control batch: {error}")
