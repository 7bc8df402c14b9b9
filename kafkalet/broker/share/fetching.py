"""Fetching for a member of a share group: reading logs, acquiring records, and waiting until there are enough.

A request first opens its share partitions. It is answered when at least `min_bytes` can be read where records can be
acquired, when a log cannot be read, or after `max_wait_ms`. Then all partitions are read and acquired from in one go;
those where nothing can be acquired, because too many records are in flight, are not part of the answer.

Source: kafka.server.share.DelayedShareFetch, ShareFetchUtils, ReplicaManagerLogReader and
SharePartitionManager.processShareFetch; PartitionMaxBytesStrategy and PartitionRotateStrategy in
org.apache.kafka.server.share.fetch.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kafkalet.broker.cluster.partition import Read
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, Batch, batches
from kafkalet.storage.files import FileRange
from kafkalet.storage.values import AbortedTransaction, Isolation
from kafkalet.tasks.delayed import Delayed, completed

from .acquisition import Acquired, LogBatch, Wanted, acquire, without
from .open_partition import OpenSharePartition
from .sessions import Place
from .share_partition import SharePartition
from .share_partitions import SharePartitions, waiting_key
from .state import RecordState, SharePartitionKey

_CHUNK_BYTES = 1 << 16
_ABORT = b"\0\0\0\0"
"""The key of an abort marker: version 0, type 0 (ControlRecordType.ABORT)."""


class Fetched(NamedTuple):
    """What a member gets from a partition."""

    records: FileRange | bytes = b""
    acquired: Sequence[Acquired] = ()
    error: KafkaError | None = None


class ShareFetchLimits(NamedTuple):
    """The parameters of a request that apply to all of its partitions."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    mode: int
    isolation: Isolation


Answer = dict[Place, Fetched]


def rotated(partitions: list[tuple[Place, str]], epoch: int) -> list[tuple[Place, str]]:
    """Return the partitions, beginning with another one for each request of a session."""
    at = epoch % len(partitions) if len(partitions) > 1 and epoch >= 1 else 0
    return partitions[at:] + partitions[:at]


class ShareFetch:
    """A fetch of one member. `partitions` have the names of their topics."""

    def __init__(
        self,
        shares: SharePartitions,
        group_id: str,
        member_id: str,
        limits: ShareFetchLimits,
        partitions: list[tuple[Place, str]],
    ) -> None:
        self._shares = shares
        self._member_id = member_id
        self._limits = limits
        self._keys = [(place, SharePartitionKey(group_id, *place), topic) for place, topic in partitions]
        self._opened: list[tuple[Place, OpenSharePartition]] = []
        self._failed: Answer = {}

    def start(self) -> Delayed[Answer]:
        """Return the answer, which may have to wait."""
        limits = self._limits
        if not self._keys or limits.max_records == 0 or limits.max_bytes == 0:
            return completed({})
        for place, key, topic in self._keys:
            try:
                self._opened.append((place, self._shares.open(key, topic)))
            except KafkaError as error:
                self._failed[place] = Fetched(error=error)
        if not self._opened:
            return completed(self._failed)
        answer = self._try()
        if answer is not None:
            return completed(answer)
        return self._shares.node.purgatory.park(
            [
                key
                for _, opened in self._opened
                for key in (waiting_key(opened.key), (opened.partition.topic, opened.partition.index))
            ],
            limits.max_wait_ms,
            self._try,
            self._take,
            may_hurry=not self._shares.node.config.kafkalet_closing_fetch_wait,
        )

    def _acquirable(self) -> list[tuple[Place, OpenSharePartition, SharePartition]]:
        """Return the share partitions from which records may be acquired, and note those that could not be loaded."""
        found = []
        for place, opened in self._opened:
            if opened.failure is not None:
                self._failed[place] = Fetched(error=opened.failure)
            elif opened.state is not None and opened.is_current and opened.state.can_acquire():
                found.append((place, opened, opened.state))
        return found

    def _max_bytes(self, count: int) -> int:
        """Return the share of a partition in the size of the response. Kafka gives what is left over to one of them."""
        return max(1, self._limits.max_bytes // count)

    # Waiting

    def _try(self) -> Answer | None:
        """Return the answer if the request need not wait any longer (DelayedShareFetch.tryComplete)."""
        limits, found = self._limits, self._acquirable()
        if not found:
            return None
        if limits.max_bytes < 0:
            return self._take()
        readable_bytes = 0
        located: set[Place] = set()
        is_due = False
        for place, opened, state in found:
            try:
                if opened.locate(state.next_fetch_offset(), limits.isolation):
                    located.add(place)
                readable = self._readable_bytes(opened, self._max_bytes(len(found)))
            except KafkaError:
                readable = None
            is_due = is_due or readable is None
            readable_bytes += readable or 0
        return self._take(located) if is_due or readable_bytes >= limits.min_bytes else None

    def _readable_bytes(self, opened: OpenSharePartition, max_bytes: int) -> int | None:
        """Return how many bytes a partition can return; None if the response must not wait for more."""
        end = opened.partition.end_metadata(self._limits.isolation, None, True)
        position = opened.position
        if position.offset > end.offset or (position.offset < end.offset and position.on_older_segment(end)):
            return None
        if position.offset == end.offset or not position.on_same_segment(end):
            return 0
        return min(end.bytes_since(position), max_bytes)

    # Reading and acquiring

    def _take(self, located: AbstractSet[Place] = frozenset()) -> Answer:
        """Acquire what there is (DelayedShareFetch.onComplete).

        Kafka has read the partitions in `located` when it looked for their fetch offsets. The others are read now, and
        come first.
        """
        found = self._acquirable()
        if self._limits.max_bytes < 0:
            return {place: Fetched(error=KafkaError(Code.UNKNOWN_SERVER_ERROR)) for place, _, _ in found} | self._failed
        answer: Answer = {}
        max_bytes = self._max_bytes(len(found)) if found else 0
        for together in (
            [one for one in found if one[0] not in located],
            [one for one in found if one[0] in located],
        ):
            left_bytes, at_least_one = self._limits.max_bytes, True
            for place, opened, state in together:
                answer[place], size = self._take_one(opened, state, min(max_bytes, left_bytes), at_least_one, answer)
                at_least_one = at_least_one and size == 0
                left_bytes = max(0, left_bytes - size)
        return answer | self._failed

    def _take_one(
        self, opened: OpenSharePartition, state: SharePartition, max_bytes: int, at_least_one: bool, before: Answer
    ) -> tuple[Fetched, int]:
        """Acquire records of a partition. Return them, and how many bytes were read."""
        taken = sum(one.last - one.first + 1 for fetched in before.values() for one in fetched.acquired)
        offset = state.next_fetch_offset()
        try:
            read = opened.partition.read(offset, max_bytes, self._limits.isolation, at_least_one, None, None)
            fetched = self._acquire(opened, state, offset, read, self._limits.max_records - taken)
        except KafkaError as error:
            return self._read_failed(opened, state, error), 0
        except OSError as error:
            return Fetched(error=opened.partition.log.failures.answer(error)), 0
        return fetched, 0 if read.result is None else len(read.result.records)

    def _read_failed(self, opened: OpenSharePartition, state: SharePartition, error: KafkaError) -> Fetched:
        """Return an error, unless the log has lost the records: then the share partition continues where it begins."""
        if error.code is not Code.OFFSET_OUT_OF_RANGE:
            return Fetched(error=error)
        try:
            state.move_start(opened.partition.log_for(None).log_start_offset)
        except KafkaError as again:
            self._shares.drop(opened)
            return Fetched(error=again)
        return Fetched()

    def _acquire(
        self, opened: OpenSharePartition, state: SharePartition, offset: int, read: Read, max_records: int
    ) -> Fetched:
        if read.result is None or read.result.first_entry_incomplete or max_records <= 0:
            return Fetched()
        # No record after this offset can be acquired.
        last = max(offset, state.end_offset) + max_records
        found = list(_batches(read.result.records, last))
        limits = self._limits
        wanted = Wanted(self._member_id, limits.mode, max_records, limits.batch_size)
        places = [LogBatch(batch.base_offset, batch.last_offset) for batch in found]
        acquired = acquire(state, wanted, offset, places, opened.now_ms)
        if limits.isolation is Isolation.LAST_STABLE and read.result.aborted and acquired:
            aborted = _aborted(found, read.result.aborted)
            for batch in aborted:
                state.archive(batch.first, batch.last, RecordState.ACQUIRED)
            acquired = without(acquired, aborted)
        opened.acquired()
        if not acquired:
            return Fetched()
        return Fetched(_sliced(read.result.records, found, acquired[0].first, acquired[-1].last), acquired)


def _batches(records: FileRange | bytes, last: int) -> Iterator[Batch]:
    """Iterate over the complete record batches up to the one that contains `last`.

    Of a batch that is larger than a chunk, only the beginning is read.
    """
    end = 0
    while end < len(records):
        begin, data = end, _part(records, end, _CHUNK_BYTES)
        for batch in batches(data):
            yield batch
            if batch.last_offset >= last:
                return
            end += batch.size
        if end == begin:
            if len(data) < HEADER_SIZE or end + (batch := Batch(data)).size > len(records):
                return
            yield batch
            if batch.last_offset >= last:
                return
            end += batch.size


def _part(records: FileRange | bytes, start: int, length: int) -> bytes:
    return records[start : start + length] if isinstance(records, bytes) else records.slice(start, length).read()


def _sliced(records: FileRange | bytes, found: list[Batch], first: int, last: int) -> FileRange | bytes:
    """Return the record batches from the one that contains `first` to the one that contains `last`.

    If there is only one, what was read of the next batch follows it, as in Kafka.
    """
    begin = end = position = 0
    for batch in found:
        if batch.base_offset <= first:
            begin = position
        position += batch.size
        if batch.base_offset <= last:
            end = position
    if len(found) == 1:
        following = _part(records, end, LOG_OVERHEAD)
        if end + LOG_OVERHEAD + int.from_bytes(following[LENGTH_AT:], "big") > len(records):
            return records
    if isinstance(records, bytes):
        return records[begin:end]
    start = found[0].buffer
    return bytes(start[begin:end]) if end <= len(start) else records.slice(begin, end - begin)


def _aborted(found: list[Batch], transactions: Sequence[AbortedTransaction]) -> list[LogBatch]:
    """Return the batches of aborted transactions, as a consumer that reads them would find out."""
    waiting = sorted(transactions, key=lambda one: one.first_offset)
    producers: set[int] = set()
    aborted: list[LogBatch] = []
    for batch in found:
        if not batch.has_producer_id:
            continue
        while waiting and waiting[0].first_offset <= batch.last_offset:
            producers.add(waiting.pop(0).producer_id)
        if batch.is_control and (batch.records()[0].key or b"")[:4] == _ABORT:
            producers.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in producers:
            aborted.append(LogBatch(batch.base_offset, batch.last_offset))
    return aborted
