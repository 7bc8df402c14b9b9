"""Checks one segment and its indexes in one pass over the .log file.

The checks cover what readers rely on. A compacted log may have gaps, batches without records, and transactions without
a marker or without data; these are not faults.

    .log         checksums; offsets increase, and lie between the base offset of this segment and that of the next one;
                 records can be decompressed and decoded, their number is that in the header, and no timestamp is above
                 the maximum in the header; leader epochs do not decrease and agree with leader-epoch-checkpoint
    .index       each entry has the position of a batch and the last offset of the append that begins there
    .timeindex   each entry has the largest timestamp up to the batch that contains its offset
    .txnindex    each entry has the offset of an abort marker; each aborted transaction with data has an entry
    .snapshot    producers and open transactions agree with the batches below the snapshot's offset
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

from kafkalet.formats import PRODUCER_ENTRY, TXN_INDEX_VERSION, EpochStart, snapshot_entries
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import LOG_APPEND_TIME, NO_TIMESTAMP, Batch
from kafkalet.protocol.records.control import ControlType, control_type, read_end_marker
from kafkalet.protocol.records.walk import walk_records
from kafkalet.units import counted

from .faults import Report
from .index_file import IndexEntry, IndexFile
from .kinds import Kind
from .reading import ReadOnlyFile, Unreadable, entries, read_file

MAX_RELATIVE_OFFSET = (1 << 31) - 1


class SnapshotEntry(NamedTuple):
    """A producer in a .snapshot file, with the position of its entry."""

    at: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    first_offset: int


class Snapshot(NamedTuple):
    """A producer snapshot."""

    path: str
    offset: int
    entries: list[SnapshotEntry]


def read_snapshot(path: str, offset: int) -> Snapshot:
    """Read a producer snapshot. Raises Malformed, OSError."""
    data = snapshot_entries(read_file(path))
    size = PRODUCER_ENTRY.size_bytes
    found = [
        SnapshotEntry(8 + 2 + number * size, *fields)
        for number, fields in enumerate(PRODUCER_ENTRY.struct.iter_unpack(data))
    ]
    return Snapshot(path, offset, found)


class LogState:
    """The state of a log after the batches that were read so far, beginning with its first segment."""

    def __init__(self, snapshots: Iterable[Snapshot] = (), epochs: list[EpochStart] | None = None) -> None:
        self.first_offset: int | None = None
        """The base offset of the first batch."""
        self.next_offset = -1
        """The offset after the last batch."""
        self.complete_since = 0
        """From this offset on, all offsets are present."""
        self.last_position = ""
        """The file and position of the last batch, for messages."""
        self.log_start_offset = 0
        """Consumers read no records below it, and the cleaner forgets aborted transactions that end below it."""
        self.leader_epoch = -1
        self.open_transactions: dict[int, int] = {}
        """The first offset of the ongoing transaction of each producer."""
        self.last_markers: dict[int, int] = {}
        """The offset of the last marker of each producer."""
        self.producers: dict[int, tuple[int, int]] = {}
        """The last offset and last sequence number of the last batch of each producer."""
        self.snapshots = sorted(snapshots, key=lambda each: each.offset)
        self.epochs = epochs
        """The entries of leader-epoch-checkpoint; None if the file is missing or damaged."""
        self.epoch_at = -1
        """The index of the entry of `epochs` that applies to the last batch."""

    def known_open(self, producer_id: int) -> int | None:
        """Return the first offset of the ongoing transaction of a producer.

        None if there is none, or if this is uncertain: the cleaner removes markers of committed transactions whose
        data stays, so that only a log without gaps tells where a transaction begins.
        """
        first = self.open_transactions.get(producer_id)
        return first if first is not None and self.complete_since <= first else None


class SegmentFiles(NamedTuple):
    """A segment: its base offset, the path of its .log file, and what its files have to agree with."""

    log: str
    base_offset: int
    next_base_offset: int | None = None
    """The base offset of the next segment; None if this is the last one."""
    is_closed: bool = False
    """Whether the segment was rolled or closed, so that its .timeindex is complete."""

    def path(self, kind: Kind) -> str:
        """Return the path of another file of this segment, including the suffix."""
        directory, name = os.path.split(self.log)
        return os.path.join(directory, name.replace(Kind.LOG.value, kind.value, 1))


def check_segment(segment: SegmentFiles, state: LogState, report: Report, progress: Callable[[int], object]) -> None:
    """Check a segment with its indexes, as far as they exist, and update `state`. Raises OSError.

    `progress` is called with the number of bytes read since the last call.
    """
    with ExitStack() as stack:
        _SegmentCheck(segment, state, report, stack).run(progress)


class _SegmentCheck:
    def __init__(self, segment: SegmentFiles, state: LogState, report: Report, stack: ExitStack) -> None:
        self.segment = segment
        self.state = state
        self.report = report
        self.file = stack.enter_context(ReadOnlyFile(segment.log))
        self.path = segment.log
        report.checked(self.file.size)
        self.largest_timestamp = NO_TIMESTAMP
        self.offset_index = self._index(stack, Kind.OFFSET_INDEX, _OffsetIndexCheck)
        self.time_index = self._index(stack, Kind.TIME_INDEX, _TimeIndexCheck)
        self.txn_index = self._index(stack, Kind.TXN_INDEX, _TxnIndexCheck)
        self.is_damaged = False

    def _index(self, stack: ExitStack, kind: Kind, check: type[_Check]) -> _Check | None:
        path = self.segment.path(kind)
        try:
            file = stack.enter_context(ReadOnlyFile(path))
        except FileNotFoundError:
            if kind is Kind.TXN_INDEX and os.path.exists(self.segment.path(Kind.OFFSET_INDEX)):
                return _NoTxnIndex(path, self)
            return None  # a .log file without any index may be a copy
        self.report.checked(file.size)
        index = IndexFile(file, kind)
        if index.rest_bytes:
            self.report.fault(
                path, file.size - index.rest_bytes, "size",
                f"ends with {index.rest_bytes} bytes of an entry of {index.layout.size_bytes} bytes",
            )  # fmt: skip
        if index.padding_bytes:
            self.report.note(
                path,
                "padding",
                f"{index.padding_bytes:,} bytes after the last entry are preallocated",
                index.size_bytes,
            )
        return check(path, self, index)

    def run(self, progress: Callable[[int], object]) -> None:
        checks = [check for check in (self.offset_index, self.time_index, self.txn_index) if check is not None]
        read = 0
        for entry in entries(self.file):
            if isinstance(entry, Unreadable):
                self._unreadable(entry)
                for check in checks:
                    check.gap(entry.position, entry.end)
                continue
            position, batch = entry
            self.report.batches += 1
            if position - read >= 1 << 20:
                progress(position - read)
                read = position
            computed = batch.computed_crc()
            if computed != batch.crc:
                self.is_damaged = True
                self.report.fault(
                    self.path, position, "checksum",
                    f"the batch at offset {batch.base_offset} has checksum {batch.crc:#010x}, "
                    f"its bytes {computed:#010x}",
                )  # fmt: skip
                self.state.complete_since = max(self.state.complete_since, batch.base_offset + 1)
                for check in checks:
                    check.gap(position, position + batch.size)
                continue
            self._batch(position, batch)
            for check in checks:
                check.batch(position, batch)
            self._after(batch)
        progress(self.file.size - read)
        for check in checks:
            check.end()

    # The .log file

    def _unreadable(self, found: Unreadable) -> None:
        self.is_damaged = True
        size = found.end - found.position
        after = "" if found.end == self.file.size else f"; the next intact batch begins at byte {found.end}"
        self.report.fault(
            self.path, found.position, "unreadable", f"{counted(size, 'byte')} without entries: {found.reason}{after}"
        )
        self.state.complete_since = 1 << 63

    def _batch(self, position: int, batch: Batch) -> None:
        state = self.state
        first, last = batch.base_offset, batch.last_offset
        self._offsets(position, batch, first, last)
        count = self._records(position, batch)
        is_whole = batch.magic < 2 or batch.count == batch.last_offset_delta + 1
        if state.next_offset >= 0 and (first > state.next_offset or not is_whole) and batch.magic >= 2:
            state.complete_since = max(
                state.complete_since if state.complete_since < 1 << 63 else 0, first + (not is_whole)
            )
        elif state.complete_since == 1 << 63:
            state.complete_since = first
        if state.first_offset is None:
            state.first_offset = state.complete_since = first
        self.report.records += count
        while state.snapshots and state.snapshots[0].offset <= first:
            check_snapshot(state.snapshots.pop(0), state, self.report)
        if batch.magic >= 2:
            self._epoch(position, batch)

    def _offsets(self, position: int, batch: Batch, first: int, last: int) -> None:
        state, segment = self.state, self.segment
        problem = None
        if last < first:
            problem = "range", f"a batch has base offset {first} and last offset {last}"
        elif first < segment.base_offset:
            problem = "range", f"offset {first} is below the base offset of the segment"
        elif first < state.next_offset:
            problem = "order", f"offset {first} follows offset {state.next_offset - 1} ({state.last_position})"
        elif segment.next_base_offset is not None and last >= segment.next_base_offset:
            problem = (
                "range",
                f"offset {last} is not below the next segment, which begins at {segment.next_base_offset}",
            )
        elif last - segment.base_offset > MAX_RELATIVE_OFFSET:
            problem = "range", f"offset {last} is too far above the base offset {segment.base_offset} of the segment"
        if problem is not None:
            self.is_damaged = True
            self.report.fault(self.path, position, *problem)

    def _after(self, batch: Batch) -> None:
        """Update the state after a batch."""
        state = self.state
        state.next_offset = batch.next_offset
        state.last_position = os.path.basename(self.path)
        producer = batch.producer_id
        if producer < 0:
            return
        if batch.is_control:
            state.open_transactions.pop(producer, None)
            state.last_markers[producer] = batch.last_offset
        else:
            state.producers[producer] = batch.last_offset, batch.last_sequence
            if batch.is_transactional:
                state.open_transactions.setdefault(producer, batch.base_offset)

    def _epoch(self, position: int, batch: Batch) -> None:
        state, epoch = self.state, batch.leader_epoch
        if epoch < 0:
            return
        if epoch < state.leader_epoch:
            self.report.fault(
                self.path, position, "leader-epoch",
                f"the batch at offset {batch.base_offset} has leader epoch {epoch} after {state.leader_epoch}",
            )  # fmt: skip
        state.leader_epoch = epoch
        if state.epochs is None:
            return
        while state.epoch_at + 1 < len(state.epochs) and state.epochs[state.epoch_at + 1][1] <= batch.base_offset:
            state.epoch_at += 1
        saved = state.epochs[state.epoch_at].epoch if state.epoch_at >= 0 else None
        # Epochs that end below the log start offset are removed, although their batches may still be there.
        is_before = saved is None and bool(state.epochs) and epoch <= state.epochs[0].epoch
        if saved != epoch and not is_before:
            self.report.fault(
                self.path, position, "leader-epoch",
                f"the batch at offset {batch.base_offset} has leader epoch {epoch}, "
                f"leader-epoch-checkpoint has {'none' if saved is None else saved} at this offset",
            )  # fmt: skip

    # The records of a batch

    def _records(self, position: int, batch: Batch) -> int:
        """Check the records of a batch and return their number."""
        try:
            problem = None
            if batch.magic < 2:
                count, problem = _check_legacy(batch)
            elif batch.count < 0 or batch.count > batch.last_offset_delta + 1:
                count = 0
                problem = f"{batch.count} records do not fit offsets {batch.base_offset} to {batch.last_offset}"
            else:
                count = batch.count
                problem = _check_control(batch) if batch.is_control else _check_records(batch)
        except KafkaError as error:
            count, problem = 0, error.message or error.code.name
        if problem is None and batch.is_transactional and batch.producer_id < 0:
            problem = "a transactional batch has no producer id"
        if problem is not None:
            self.report.fault(self.path, position, "records", f"the batch at offset {batch.base_offset}: {problem}")
        return count


def _check_records(batch: Batch) -> str | None:
    """Return what is wrong with the records of a batch of format 2; None if nothing is. Raises KafkaError."""
    payload = batch.payload()
    append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None
    found = walk_records(payload, 0, len(payload), batch.count, batch.base_timestamp, append_time=append_time)
    if not found.offsets_in_order or batch.count != batch.last_offset_delta + 1:
        before = batch.base_offset - 1
        for record in batch.iterate():
            if not before < record.offset <= batch.last_offset:
                return f"a record has offset {record.offset} after {before}; the last offset is {batch.last_offset}"
            before = record.offset
    if batch.count and found.max_timestamp > batch.max_timestamp:
        return f"a record has timestamp {found.max_timestamp}, above the maximum {batch.max_timestamp} in the header"
    return None


def _check_control(batch: Batch) -> str | None:
    """Return what is wrong with a control batch. Raises KafkaError."""
    records = batch.records()
    if batch.is_transactional:
        if len(records) > 1:
            return f"a transaction marker has {len(records)} records"
        for record in records:
            if control_type(record) is not ControlType.UNKNOWN:
                read_end_marker(record)
    return None


def _check_legacy(batch: Batch) -> tuple[int, str | None]:
    """Return the number of records in a message or a wrapper, and what is wrong with them. Raises KafkaError."""
    records = batch.records()
    offsets = [record.offset for record in records]
    if offsets != sorted(set(offsets)):
        return len(records), "the offsets of its messages do not increase"
    if offsets and offsets[-1] != batch.base_offset:
        return len(records), f"its last message has offset {offsets[-1]}"
    return len(records), None


# Indexes


class _Check:
    """The check of one index. Methods are called for each batch before the state of the log contains it."""

    def __init__(self, path: str, segment_check: _SegmentCheck, index: IndexFile) -> None:
        self.path = path
        self.of = segment_check
        self.base_offset = segment_check.segment.base_offset
        self.entries: Iterator[IndexEntry] = self.in_order(iter(index))
        self.next = next(self.entries, None)
        self.in_gap = False
        """Whether unreadable bytes precede the next batch: entries for them cannot be checked."""

    def in_order(self, found: Iterator[IndexEntry]) -> Iterator[IndexEntry]:
        """Yield the entries that are in order, and report the others.

        If an entry is not below the next one, the entry after both determines which of them is wrong.
        """
        before: IndexEntry | None = None
        current, following = next(found, None), next(found, None)
        while current is not None:
            third = next(found, None)
            problem = self.disorder(before, current)
            if problem is None and following is not None and third is not None:
                high = self.disorder(current, following) and self.disorder(current, third)
                if high and self.disorder(following, third) is None and self.disorder(before, following) is None:
                    problem = "it is not below the entries that follow"
            if problem is None:
                yield current
                before = current
            else:
                self.fault(current, f"{self.describe(current)}: {problem}")
            current, following = following, third

    def fault(self, entry: IndexEntry, message: str) -> None:
        self.of.report.fault(self.path, entry.at, "entry", message)

    def advance(self) -> None:
        self.next = next(self.entries, None)

    def describe(self, entry: IndexEntry) -> str:
        raise NotImplementedError

    def disorder(self, before: IndexEntry | None, entry: IndexEntry) -> str | None:
        """Return why an entry cannot follow another one, or is invalid on its own."""
        raise NotImplementedError

    def batch(self, position: int, batch: Batch) -> None:
        raise NotImplementedError

    def gap(self, start: int, end: int) -> None:
        """Record that these bytes are not a valid entry."""
        self.in_gap = True

    def end(self) -> None:
        raise NotImplementedError


class _OffsetIndexCheck(_Check):
    waiting: IndexEntry | None = None
    """The entry whose position has been reached; its offset must be the last offset of a batch that follows."""
    gap_end = 0

    def describe(self, entry: IndexEntry) -> str:
        return f"offset {self.base_offset + entry.fields[0]} at position {entry.fields[1]}"

    def disorder(self, before: IndexEntry | None, entry: IndexEntry) -> str | None:
        offset, position = entry.fields
        if offset < 0 or position < 0:
            return "a number is negative"
        if before is not None and (offset <= before.fields[0] or position <= before.fields[1]):
            return f"is not above {self.describe(before)}"
        return None

    def gap(self, start: int, end: int) -> None:
        self.in_gap = True
        self.gap_end = end

    def batch(self, position: int, batch: Batch) -> None:
        while self.next is not None and self.next.fields[1] <= position:
            entry = self.next
            self.advance()
            offset, at = entry.fields
            if at < position:
                if not (self.in_gap and at < self.gap_end):
                    self.fault(entry, f"{self.describe(entry)}: no batch begins at this position")
                continue
            self._give_up()
            if self.base_offset + offset < batch.base_offset:
                self.fault(entry, f"{self.describe(entry)}: the batch there begins at offset {batch.base_offset}")
            else:
                self.waiting = entry
                self.in_gap = False
        if self.waiting is not None:
            wanted = self.base_offset + self.waiting.fields[0]
            partial = batch.magic < 2 or batch.count != batch.last_offset_delta + 1
            if wanted == batch.last_offset or (partial and batch.base_offset <= wanted <= batch.last_offset):
                self.waiting = None

    def _give_up(self) -> None:
        if self.waiting is not None and not self.in_gap:
            self.fault(self.waiting, f"{self.describe(self.waiting)}: no batch after it ends with this offset")
        self.waiting = None

    def end(self) -> None:
        self._give_up()
        while self.next is not None:
            if not (self.in_gap and self.next.fields[1] < self.gap_end):
                self.fault(self.next, f"{self.describe(self.next)}: no batch begins at this position")
            self.advance()


class _TimeIndexCheck(_Check):
    largest = NO_TIMESTAMP
    is_doubtful = False
    """Whether a damaged batch may have had the largest timestamp."""
    last_offset = -1

    def describe(self, entry: IndexEntry) -> str:
        return f"timestamp {entry.fields[0]} at offset {self.base_offset + entry.fields[1]}"

    def disorder(self, before: IndexEntry | None, entry: IndexEntry) -> str | None:
        timestamp, offset = entry.fields
        if timestamp < 0 or offset < 0:
            return "a number is negative"
        if before is not None and (timestamp <= before.fields[0] or offset < before.fields[1]):
            return f"is not above {self.describe(before)}"
        return None

    def gap(self, start: int, end: int) -> None:
        self.in_gap = self.is_doubtful = True

    def batch(self, position: int, batch: Batch) -> None:
        self.largest = max(self.largest, batch.max_timestamp)
        while self.next is not None and self.base_offset + self.next.fields[1] <= batch.last_offset:
            entry = self.next
            timestamp, relative = entry.fields
            offset = self.base_offset + relative
            self.last = entry
            self.advance()
            if offset < batch.base_offset and batch.magic >= 2:
                if not self.in_gap:
                    self.fault(entry, f"{self.describe(entry)}: no batch contains this offset")
            elif timestamp > self.largest:
                if not self.is_doubtful:
                    self.fault(entry, f"{self.describe(entry)}: the largest timestamp up to there is {self.largest}")
            elif timestamp < self.largest:
                self.fault(entry, f"{self.describe(entry)}: a batch up to there has timestamp {self.largest}")
            elif batch.max_timestamp != timestamp and batch.magic >= 2:
                self.fault(
                    entry, f"{self.describe(entry)}: the batch there has the largest timestamp {batch.max_timestamp}"
                )
            elif batch.magic >= 2 and offset != batch.last_offset and not _has_record(batch, timestamp, offset):
                self.fault(
                    entry,
                    f"{self.describe(entry)}: neither the last offset of a batch nor that of a record with this time",
                )
        self.in_gap = False

    last: IndexEntry | None = None

    def end(self) -> None:
        while self.next is not None:
            if not self.in_gap:
                self.fault(self.next, f"{self.describe(self.next)}: the segment ends before this offset")
            self.last = self.next
            self.advance()
        last = NO_TIMESTAMP if self.last is None else self.last.fields[0]
        if self.of.segment.is_closed and not self.is_doubtful and last < self.largest:
            size = os.path.getsize(self.path)
            self.of.report.fault(
                self.path, size, "incomplete",
                f"the last entry has timestamp {last}, but the largest timestamp of the segment is {self.largest}",
            )  # fmt: skip


def _has_record(batch: Batch, timestamp: int, offset: int) -> bool:
    """Return whether the record with this offset has this timestamp. Some releases of Kafka index such an offset."""
    try:
        return any(record.offset == offset and record.timestamp == timestamp for record in batch.iterate())
    except KafkaError:
        return True  # reported with the batch


class _TxnIndexCheck(_Check):
    def describe(self, entry: IndexEntry) -> str:
        _, producer_id, first, last, _ = entry.fields
        return f"the aborted transaction of producer {producer_id} at offsets {first} to {last}"

    def disorder(self, before: IndexEntry | None, entry: IndexEntry) -> str | None:
        version, producer_id, first, last, last_stable = entry.fields
        if version != TXN_INDEX_VERSION:
            return f"the version of the entry is {version}; only {TXN_INDEX_VERSION} is known"
        if producer_id < 0 or last_stable < 0 or not 0 <= first <= last:
            return "a number is out of range"
        if last < self.base_offset:
            return "it ends below the segment"
        if before is not None and last <= before.fields[3]:
            return f"it does not follow {self.describe(before)}"
        return None

    def batch(self, position: int, batch: Batch) -> None:
        while self.next is not None and self.next.fields[3] < batch.last_offset:
            if not self.in_gap:
                self.fault(
                    self.next, f"{self.describe(self.next)}: there is no abort marker at offset {self.next.fields[3]}"
                )
            self.advance()
        self.in_gap = False
        entry = self.next if self.next is not None and self.next.fields[3] == batch.last_offset else None
        if entry is not None:
            self.advance()
        if is_abort(batch):
            if entry is None:
                self.missing(position, batch)
            else:
                self._compare(entry, batch)
        elif entry is not None:
            self.fault(entry, f"{self.describe(entry)}: there is no abort marker at offset {entry.fields[3]}")

    def missing(self, position: int, batch: Batch) -> None:
        first = self.of.state.known_open(batch.producer_id)
        if first is not None and batch.last_offset >= self.of.state.log_start_offset:
            self.of.report.fault(
                self.path, None, "entry",
                f"no entry for the aborted transaction of producer {batch.producer_id} at offsets {first} to "
                f"{batch.last_offset}, whose marker is at byte {position} of the .log",
            )  # fmt: skip

    def _compare(self, entry: IndexEntry, batch: Batch) -> None:
        state = self.of.state
        _, producer_id, first, last, last_stable = entry.fields
        if producer_id != batch.producer_id:
            self.fault(entry, f"{self.describe(entry)}: the marker is of producer {batch.producer_id}")
            return
        seen = state.known_open(producer_id)
        if seen is not None and (first > seen or state.complete_since <= first < seen):
            self.fault(entry, f"{self.describe(entry)}: the transaction begins at offset {seen}")
        elif first <= state.last_markers.get(producer_id, -1):
            self.fault(
                entry, f"{self.describe(entry)}: an earlier transaction ends at {state.last_markers[producer_id]}"
            )
        # other transactions that were open then and began in the log
        others = [offset for producer in state.open_transactions if (offset := state.known_open(producer)) is not None
                  and producer != producer_id]  # fmt: skip
        expected = min(others, default=last + 1)
        if last_stable > expected or (last_stable < expected and state.complete_since <= last_stable):
            self.fault(
                entry, f"{self.describe(entry)}: last stable offset {last_stable}; it was {expected} after the marker"
            )

    def end(self) -> None:
        while self.next is not None:
            if not self.in_gap:
                self.fault(self.next, f"{self.describe(self.next)}: the segment ends before this marker")
            self.advance()


class _NoTxnIndex(_TxnIndexCheck):
    """The check of a .txnindex that does not exist, because the segment should have no aborted transaction."""

    def __init__(self, path: str, segment_check: _SegmentCheck) -> None:
        self.path = path
        self.of = segment_check
        self.entries = iter(())
        self.next = None
        self.in_gap = False


def is_abort(batch: Batch) -> bool:
    """Return whether a batch is an abort marker."""
    if not (batch.is_control and batch.is_transactional) or not batch.count:
        return False
    try:
        return any(control_type(record) is ControlType.ABORT for record in batch.records())
    except KafkaError:
        return False


# Producer snapshots


def check_snapshot(snapshot: Snapshot, state: LogState, report: Report) -> None:
    """Compare a snapshot with the batches below its offset, which are those that `state` knows."""
    start = state.first_offset
    if start is None or state.complete_since == 1 << 63:
        return
    for entry in snapshot.entries:
        producer = entry.producer_id
        problem = None
        if entry.last_offset >= snapshot.offset or entry.first_offset >= snapshot.offset:
            problem = "has an offset at or above that of the snapshot"
        elif entry.last_offset >= max(start, state.complete_since):  # before it, compaction may have removed the batch
            seen = state.producers.get(producer)
            if entry.last_offset < state.complete_since and (seen is None or seen[0] < entry.last_offset):
                pass  # the producer has written more since then, so the cleaner did not keep this batch
            elif seen is None:
                problem = f"has its last batch at offset {entry.last_offset}; the log has none"
            elif seen != (entry.last_offset, entry.last_sequence):
                problem = (
                    f"has its last batch at offset {entry.last_offset} with sequence {entry.last_sequence}; "
                    f"in the log it is at {seen[0]} with {seen[1]}"
                )
        if problem is None and (entry.first_offset >= max(start, state.complete_since)):
            first = state.known_open(producer)
            if first != entry.first_offset:
                problem = f"has an open transaction since offset {entry.first_offset}; in the log " + (
                    "it has none" if first is None else f"it began at {first}"
                )
        if problem is not None:
            report.fault(snapshot.path, entry.at, "producer", f"producer {producer} {problem}")
