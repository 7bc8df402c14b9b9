"""Acquiring records of a share partition for one of its members.

The records come from a read of the log that begins at `next_fetch_offset`. Those that are in flight and available are
acquired again; those after the end of the records in flight are new. There are two modes:

    by batches   whole record batches, until there are at least `max_records`; new records are divided into batches of
                 at least `batch_size` records, which can later be acknowledged as one
    by records   exactly up to `max_records` (KIP-1206)

Records that have been delivered often may be why their members fail. Once a batch in flight has been delivered half of
the allowed times, fewer and fewer of its records are acquired at a time, and nothing else. The last delivery of a
record is one for it alone, so that other records do not fail with it.

Source: kafka.server.share.SharePartition.acquire, ShareFetchUtils.accumulateAcquiredRecords.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .in_flight import InFlightBatch, Run
from .share_partition import Limits, SharePartition
from .state import RecordState

BY_BATCHES, BY_RECORDS = 0, 1
_NEVER_THROTTLED_BELOW = 2


class LogBatch(NamedTuple):
    """The offsets of a record batch in the log."""

    first: int
    last: int


class Acquired(NamedTuple):
    """Records that a member has acquired, with the same number of deliveries."""

    first: int
    last: int
    deliveries: int


class Wanted(NamedTuple):
    """Which records a member may acquire."""

    member: str
    mode: int
    max_records: int
    batch_size: int


def acquire(
    partition: SharePartition, wanted: Wanted, fetch_offset: int, batches: Sequence[LogBatch], now_ms: int
) -> list[Acquired]:
    """Acquire records among `batches`, which have been read at `fetch_offset`. Return what has been acquired."""
    if wanted.max_records <= 0 or not batches or batches[-1].last < partition.start_offset:
        return []
    return _Acquisition(partition, wanted, fetch_offset, batches, now_ms).acquire()


class _Acquisition:
    """An acquisition in progress. `left` is how many records may still be acquired."""

    def __init__(
        self,
        partition: SharePartition,
        wanted: Wanted,
        fetch_offset: int,
        batches: Sequence[LogBatch],
        now_ms: int,
    ) -> None:
        self.partition = partition
        self.wanted = wanted
        self.by_records = wanted.mode == BY_RECORDS
        self.fetch_offset = fetch_offset
        self.batches = batches
        self.now_ms = now_ms
        self.limits: Limits = partition.limits()
        self.first = batches[0].first
        self.last = batches[-1].last
        self.left = min(wanted.max_records, self.limits.max_locks - partition.in_flight_count)
        if self.left <= 0 and fetch_offset <= partition.end_offset:
            # No new records may be acquired, but there are available ones in flight.
            self.left = min(wanted.max_records, partition.end_offset - fetch_offset + 1)
            self.last = min(self.last, partition.end_offset)
        self.acquired: list[Acquired] = []

    def acquire(self) -> list[Acquired]:
        if self.left <= 0:
            return []
        partition, first = self.partition, self.first
        if self.fetch_offset < first:  # compaction has removed records that were available
            partition.archive(self.fetch_offset, first - 1, RecordState.AVAILABLE)
        floor = partition.in_flight.floor(first)
        if floor is None:
            first = max(first, partition.start_offset)
        elif floor.last >= first:
            first = floor.first
        known = partition.in_flight.beginning_within(min(self.first, first), self.last)
        if not known:
            self._acquire_new(first, self.last)
            return self.acquired
        if self._acquire_known(known, first) and self.left > 0 and known[-1].last < self.last:
            self._acquire_new(known[-1].last + 1, self.last)
        if self.acquired:
            partition.close_gaps(self.acquired[-1].last + 1)
        return self.acquired

    # Records in flight

    def _acquire_known(self, known: Iterable[InFlightBatch], first: int) -> bool:
        """Acquire records in flight, and those in gaps. Return False if no more records may follow."""
        gap = first
        for batch in known:
            if self.left <= 0:
                return False
            if self.partition.gaps is not None:
                if gap < batch.first:
                    self._acquire_new(gap, batch.first - 1)
                gap = batch.last + 1
                if self.left <= 0:
                    return False
            is_throttled = self._is_throttled(batch)
            if is_throttled and self.acquired:
                return False
            if self._acquire_batch(batch, is_throttled) and is_throttled:
                return False
        return True

    def _is_throttled(self, batch: InFlightBatch) -> bool:
        available = [run.deliveries for run in batch.runs_within(self.first, self.last) if run.is_acquirable]
        return max(available, default=0) >= self._throttled_from

    @property
    def _throttled_from(self) -> int:
        """The number of deliveries from which on fewer records are delivered at a time: half of the limit."""
        return max(_NEVER_THROTTLED_BELOW, -(-self.limits.max_deliveries // 2))

    def _acquire_batch(self, batch: InFlightBatch, is_throttled: bool) -> int:
        """Acquire records of a batch in flight, and return how many."""
        too_many = self.by_records and batch.count > self.left
        if not batch.is_split:
            if not batch.runs[0].is_acquirable:
                return 0
            if batch.is_within(self.first, self.last) and not too_many and not is_throttled:
                self._lock(batch.runs[0])
                self._add([batch.runs[0]])
                return batch.count
            batch.split()
        runs = self._acquirable(batch)
        for run in runs:
            self._lock(run)
        self._add(runs)
        return len(runs)

    def _acquirable(self, batch: InFlightBatch) -> list[Run]:
        """Select the records of a batch that is split."""
        limit, throttled_from = self.limits.max_deliveries, self._throttled_from
        chosen: list[Run] = []
        stops_at = {self.left} if self.by_records else set[int]()
        is_throttled = False
        for run in batch.runs_within(self.first, self.last):
            if not run.is_acquirable:
                continue
            is_last_delivery = run.deliveries == limit - 1 and limit > _NEVER_THROTTLED_BELOW
            if is_last_delivery and chosen:
                break
            if run.deliveries >= throttled_from and not is_throttled:
                is_throttled = True
                stops_at.add(max(1, batch.count >> (run.deliveries - throttled_from + 1)))
            chosen.append(run)
            if is_last_delivery or len(chosen) in stops_at:  # it may have passed the number of a throttled record
                break
        return chosen

    def _lock(self, run: Run) -> None:
        self.partition.lock(run, self.wanted.member, self.now_ms, self.limits.lock_ms)

    def _add(self, runs: list[Run]) -> None:
        """Add runs of a batch to the result. Adjacent ones with the same number of deliveries become one."""
        result: list[Acquired] = []
        for run in runs:
            last = result[-1] if result else None
            if last is not None and (last.last, last.deliveries) == (run.first - 1, run.deliveries):
                result[-1] = last._replace(last=run.last)
            else:
                result.append(Acquired(run.first, run.last, run.deliveries))
            self.left -= run.count
        self.acquired += result

    # New records

    def _acquire_new(self, first: int, last: int) -> None:
        """Take records into flight, as whole record batches, and acquire them."""
        partition = self.partition
        if not partition.in_flight:
            first = max(first, partition.end_offset)
        if self.left < last - first + 1:
            end = self._end_of_log_batch(first + self.left - 1)
            last = min(end, last) if partition.gaps is not None else end
        acquired_last = last
        if not self.by_records:
            for piece in self._pieces(first, last):
                self.acquired.append(Acquired(*piece, 1))
                if piece[0] <= piece[1]:  # with a batch size of 0, the first one has no records, as in Kafka
                    run = Run(*piece, RecordState.AVAILABLE, 0)
                    self._lock(run)
                    partition.in_flight.add(InFlightBatch(run))
        else:
            acquired_last = min(last, first + self.left - 1)
            batch = InFlightBatch(Run(first, last, RecordState.AVAILABLE, 0))
            if acquired_last < last:
                batch.split()
                partition.may_have_available = True
            for run in batch.runs_within(first, acquired_last):
                self._lock(run)
            partition.in_flight.add(batch)
            self.acquired.append(Acquired(first, acquired_last, 1))
        if partition.in_flight.first.first == first:
            partition.start_offset = first
        partition.end_offset = max(partition.end_offset, last)
        partition.close_gaps(acquired_last + 1)
        self.left -= acquired_last - first + 1

    def _end_of_log_batch(self, offset: int) -> int:
        """Return the last offset of the record batch that contains `offset`."""
        for batch in self.batches:
            if offset <= batch.last:
                return batch.last if batch.first <= offset else offset
        return offset

    def _pieces(self, first: int, last: int) -> list[tuple[int, int]]:
        """Divide new records where a record batch begins after at least `batch_size` records."""
        pieces: list[tuple[int, int]] = []
        if last - first + 1 > self.wanted.batch_size:
            for batch in self.batches:
                if batch.first > last:
                    break
                if batch.first - first >= self.wanted.batch_size:
                    pieces.append((first, batch.first - 1))
                    first = batch.first
        pieces.append((first, last))
        return pieces


def without(acquired: Iterable[Acquired], archived: Iterable[LogBatch]) -> list[Acquired]:
    """Return the acquired records without those of aborted transactions, which are in ascending order."""
    result: list[Acquired] = []
    aborted = list(archived)
    for records in acquired:
        first = records.first
        for batch in aborted:
            if batch.last < first or batch.first > records.last:
                continue
            if first < batch.first:
                result.append(records._replace(first=first, last=batch.first - 1))
            first = batch.last + 1
        if first <= records.last:
            result.append(records._replace(first=first))
    return result
