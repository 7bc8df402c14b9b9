"""A replica of a partition. It controls the access to its log, depending on who leads the partition.

The log handles offsets; this class decides which requests may access it. It fences by leader epoch, lets only the
leader append records and serve clients, and advances the high watermark:

    high watermark = the smallest log end offset of the in-sync replicas (it never decreases)

The high watermark of a new leader can be below the start offset of its epoch. Until it reaches this offset, clients
that request the latest offset get OFFSET_NOT_AVAILABLE (KIP-207), because the previous leader may already have returned
a higher offset.

Source: kafka.cluster.Partition.
"""

from collections.abc import Callable, Container
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.acceptance import ValidatedBatches
from kafkalet.storage.epochs import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.log import Log
from kafkalet.storage.lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    earliest,
    find,
    find_time,
    legacy_offsets_before,
)
from kafkalet.storage.values import (
    UNKNOWN_OFFSET,
    AppendResult,
    Isolation,
    LogOffsetMetadata,
    Origin,
    ReadResult,
    TimestampOffset,
)
from kafkalet.storage.verification import Guard

from .metadata import PartitionState, TopicState

_new_tuple = tuple.__new__  # takes a third of the time of TimestampOffset(...)


class EpochEnd(NamedTuple):
    """The largest known leader epoch not above the requested epoch, and its end offset. Both are -1 if unknown."""

    leader_epoch: int
    end_offset: int


class Read(NamedTuple):
    """The result of a fetch from a partition, with the log's offsets as they were before the read."""

    result: ReadResult | None
    """None if the reader's log has diverged, in which case nothing was read."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    log_end_offset: int
    diverging: EpochEnd | None = None


class Follower:
    """The progress of another replica, as known to the leader."""

    __slots__ = ("caught_up_ms", "log_end_offset", "log_start_offset")

    def __init__(self, now_ms: int) -> None:
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.caught_up_ms = now_ms
        """The last time at which the follower had all records of the leader."""


class Partition:
    """A replica of a partition, on the broker `node_id`."""

    log: Log
    """The log of this replica. An `UnopenedPartition` opens it when it is first used."""

    def __init__(
        self,
        node_id: int,
        topic: TopicState,
        state: PartitionState,
        log: Log | None,
        release: Release,
        on_change: Callable[["Partition"], None],
        alive: Container[int],
    ) -> None:
        self.node_id = node_id
        self.topic = topic.name
        self.topic_id = topic.topic_id
        self.state = state
        if log is not None:
            self.log = log
        self.release = release
        self.on_change = on_change
        """Called after each change that followers have to replicate or that can complete a waiting request.

        This is `Leadership.changed`: replication happens there, before it returns.
        """
        self.alive = alive
        """The running brokers. This is a live view of the metadata."""
        self.followers: dict[int, Follower] = {}
        self.epoch_start_offset: int | None = None
        """The log end offset when this broker became leader; None for a follower."""

    def __repr__(self) -> str:
        return f"{self.topic}-{self.state.index} on broker {self.node_id}"

    @property
    def is_open(self) -> bool:
        """Whether the log has been opened."""
        return "log" in self.__dict__

    @property
    def index(self) -> int:
        return self.state.index

    @property
    def leader_epoch(self) -> int:
        return self.state.leader_epoch

    @property
    def is_leader(self) -> bool:
        return self.state.leader == self.node_id

    # Leadership

    def lead(self, now_ms: int) -> None:
        """Become leader in the current epoch of the metadata (Partition.makeLeader).

        If the log is not open yet, the epoch starts when it is opened.
        """
        if not self.is_open:
            return
        self.epoch_start_offset = self.log.log_end_offset
        with suppress(StorageFailed):  # already logged; the first append of the epoch tries again
            self.log.assign_epoch_start_offset(self.leader_epoch, self.log.log_end_offset)
        self.followers = {node: Follower(now_ms) for node in self.state.replicas if node != self.node_id}
        self.advance_high_watermark()

    def add_followers(self, now_ms: int) -> None:
        """As the leader, track the replicas that a reassignment adds."""
        for node in self.state.adding:
            if node != self.node_id:
                self.followers.setdefault(node, Follower(now_ms))

    def follow(self) -> None:
        """Become a follower."""
        self.epoch_start_offset = None
        self.followers = {}

    def fence(self, current_leader_epoch: int | None) -> None:
        """Raise an error if the client's leader epoch is not the current one.

        The error is FENCED_LEADER_EPOCH for an older epoch and UNKNOWN_LEADER_EPOCH for a newer one.
        """
        if current_leader_epoch is None or current_leader_epoch == self.leader_epoch:
            return
        known = f"the current leader epoch is {self.leader_epoch}, the request has {current_leader_epoch}"
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(Code.FENCED_LEADER_EPOCH, known)
        raise KafkaError(Code.UNKNOWN_LEADER_EPOCH, known)

    def log_for(self, current_leader_epoch: int | None, only_leader: bool = True) -> Log:
        """Check the epoch and, with `only_leader`, that this broker is the leader. Then return the log.

        The epoch is checked first, because its errors are more specific than NOT_LEADER_OR_FOLLOWER
        (Partition.getLocalLog). Raises KAFKA_STORAGE_ERROR if the log is offline (HostedPartition.Offline).
        """
        log = self.log
        if log.failures.offline is not None:
            log.failures.check()
        if current_leader_epoch is not None:
            self.fence(current_leader_epoch)
        if only_leader and self.state.leader != self.node_id:
            raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER, f"{self!r} is led by broker {self.state.leader}")
        return log

    # Writing

    def append(
        self,
        records: bytearray | memoryview | bytes,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append records as the leader, and advance the high watermark if all in-sync replicas have them.

        `transaction_version` is only used for markers; it determines how strictly the producer epoch is checked.
        """
        log = self.log_for(None)
        epoch = self.state.leader_epoch
        appended = log.append_as_leader(records, epoch, origin, transaction_version=transaction_version)
        self._note(appended)
        return appended

    def _note(self, appended: AppendResult) -> None:
        if not appended.duplicate:
            self.advance_high_watermark()
            self.on_change(self)

    def append_built(self, records: bytes, transaction_version: int = 0) -> int:
        """Append a batch that a local coordinator has built in its final form.

        Returns the offset of its last record. The caller must have checked that enough replicas are in sync.
        """
        log = self.log_for(None)
        last_offset = log.append_built(records, transaction_version)
        if self.followers or self.state.high_watermark_limit is not None:
            self.advance_high_watermark()
        else:
            log.maybe_increment_high_watermark(log.log_end_metadata())
        self.on_change(self)
        return last_offset

    def append_as_given(self, records: bytes) -> None:
        """Append entries exactly as they are; see Log.append_as_given. `on_change` is not called. Raises ValueError."""
        log = self.log_for(None)
        is_new_epoch = self.epoch_start_offset == log.log_end_offset
        log.append_as_given(records, self.leader_epoch)
        latest = log.epochs.entries[-1] if log.epochs.entries else None
        if is_new_epoch and latest is not None and latest.epoch == self.leader_epoch:
            self.epoch_start_offset = latest.start_offset  # after entries of earlier epochs
        self.advance_high_watermark()

    @property
    def has_enough_replicas(self) -> bool:
        """Whether at least `min.insync.replicas` replicas are in sync."""
        state, wanted = self.state, self.log.local.config.min_insync_replicas
        in_sync = len(state.isr)
        return in_sync >= wanted or (in_sync >= len(state.replicas) and self.release.caps_min_isr_at_replicas)

    def check_replicas(self) -> None:
        """Raise NOT_ENOUGH_REPLICAS unless enough replicas are in sync."""
        if not self.has_enough_replicas:
            raise KafkaError(Code.NOT_ENOUGH_REPLICAS, f"{self!r} has too few in-sync replicas")

    def advance_high_watermark(self) -> bool:
        """Advance the high watermark to the smallest log end offset in the ISR (maybeIncrementLeaderHW).

        Returns whether it has changed.
        """
        log = self.log
        if self.release.holds_high_watermark_below_min_isr and not self.has_enough_replicas:
            return False
        limit = self.state.high_watermark_limit
        if not self.followers and limit is None:
            return log.maybe_increment_high_watermark(log.local.end)
        to = log.log_end_offset
        for node, follower in self.followers.items():
            if node in self.state.isr:
                to = min(to, follower.log_end_offset)
        if limit is not None:
            to = min(to, limit)
        return to >= 0 and log.maybe_increment_high_watermark(min(to, log.log_end_offset))

    def follower_has(self, node: int, log_end_offset: int, log_start_offset: int, now_ms: int) -> bool:
        """Record the progress of a follower and return whether the high watermark has changed."""
        follower = self.followers[node]
        follower.log_end_offset = max(log_end_offset, UNKNOWN_OFFSET)
        follower.log_start_offset = log_start_offset
        if log_end_offset >= self.log.log_end_offset:
            follower.caught_up_ms = now_ms
        return self.advance_high_watermark()

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all live replicas, as returned by DeleteRecords.

        The result is -1 until all of them have reported their log start offsets.
        """
        return min(
            [self.log.log_start_offset]
            + [follower.log_start_offset for node, follower in self.followers.items() if node in self.alive]
        )

    def delete_records(self, before_offset: int) -> int:
        """Advance the log start offset to `before_offset` and return the new offset.

        If `before_offset` is -1, the log start offset advances to the high watermark. Raises POLICY_VIOLATION if the
        topic's cleanup policy does not include deletion, and OFFSET_OUT_OF_RANGE if `before_offset` is below -1 or
        above the high watermark.
        """
        log = self.log_for(None)
        if "delete" not in log.config.cleanup_policy:
            raise KafkaError(
                Code.POLICY_VIOLATION,
                f"Records of partition {self.topic}-{self.index} can not be deleted due to the configured policy",
            )
        offset = log.high_watermark if before_offset == -1 else before_offset
        if offset < 0:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE, f"The offset {offset} for partition {self.topic}-{self.index} is not valid"
            )
        log.maybe_increment_log_start_offset(offset)
        self.on_change(self)
        return offset

    def advance_log_start(self, to: int) -> None:
        """Advance the log start offset to `to`, as retention does, whatever the cleanup policy.

        Raises ValueError if `to` is not between the log start offset and the high watermark.
        """
        log = self.log_for(None)
        if not log.log_start_offset <= to <= log.high_watermark:
            raise ValueError(
                f"the log start offset of {log.name} cannot advance to {to}; allowed are {log.log_start_offset} "
                f"(where it is now) to {log.high_watermark} (the high watermark)"
            )
        if log.maybe_increment_log_start_offset(to):
            self.on_change(self)

    def truncate(self, to: int) -> None:
        """Remove the entry that contains offset `to`, and all later ones. A new leader epoch has to follow.

        Raises ValueError if `to` is not between the log start offset and the log end offset.
        """
        log = self.log_for(None)
        if not log.log_start_offset <= to <= log.log_end_offset:
            raise ValueError(
                f"{log.name} cannot be truncated to {to}; allowed are {log.log_start_offset} (the log start offset) to "
                f"{log.log_end_offset} (the log end offset)"
            )
        log.truncate_to(to)

    def hold_high_watermark(self, at: int | None) -> None:
        """Keep the high watermark from advancing beyond `at` (None: beyond its current value).

        `Leadership.release_high_watermark` undoes this. Raises ValueError if it is already beyond `at`, because the
        high watermark of a leader never decreases.
        """
        log = self.log_for(None)
        if at is not None and at < log.high_watermark:
            raise ValueError(
                f"the high watermark of {log.name} cannot be held at {at}: it is {log.high_watermark} already, and it "
                "never decreases; hold it before the records are written"
            )
        self.state.high_watermark_limit = log.high_watermark if at is None else at
        self.advance_high_watermark()
        self.on_change(self)

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, raises_epoch: bool
    ) -> Guard | None:
        """Start verifying a transaction that is not open in the log yet. Returns None if it is already open.

        `sequence` is the base sequence of the transaction's first batch. Since 4.1, the log itself raises
        INVALID_PRODUCER_EPOCH, without the coordinator, if it has seen a later epoch of the producer
        (Partition.maybeStartTransactionVerification).
        """
        log = self.log_for(None)
        known = log.producer(producer_id)
        if self.release.checks_epochs_before_asking and known is not None and producer_epoch < known.producer_epoch:
            raise KafkaError(Code.INVALID_PRODUCER_EPOCH)
        asked_epoch = producer_epoch if self.release.refuses_epochs_never_given else None
        if log.has_open_transaction(producer_id, asked_epoch):
            return None
        return log.start_verification(producer_id, sequence, producer_epoch, supports_epoch_bump=raises_epoch)

    def produce(self, records: bytearray | memoryview | bytes, guard: Guard | None = None) -> AppendResult:
        """Append the records of a producer.

        `guard` is the result of `start_verification`, if the coordinator had to verify the transaction. If a marker has
        been written since then, the verification is invalid, and INVALID_TXN_STATE is raised.
        """
        if guard is not None:
            self.check_verified(next(batches(records)).producer_id, guard)
        return self.append(records, Origin.CLIENT)

    async def validate(
        self, records: bytearray | memoryview | bytes, guard: Guard | None = None, *, droppable: bool = False
    ) -> ValidatedBatches:
        """Do the slow part of `produce`, in a thread if it takes long. Pass the result to `produce_validated`."""
        if guard is not None:
            self.check_verified(next(batches(records)).producer_id, guard)
        return await self.log_for(None).validate(records, self.leader_epoch, droppable=droppable)

    def produce_validated(self, accepted: ValidatedBatches, guard: Guard | None = None) -> AppendResult | None:
        """Append records that `validate` has accepted. Returns None if they have to be validated again."""
        log = self.log_for(None)
        if guard is not None and accepted.batches:
            self.check_verified(accepted.batches[0].producer_id, guard)
        appended = log.append_validated(accepted, self.leader_epoch)
        if appended is not None:
            self._note(appended)
        return appended

    def check_verified(self, producer_id: int, guard: Guard) -> None:
        """Raise INVALID_TXN_STATE if the verification is no longer valid and the transaction is not open in the log."""
        if not self.log_for(None).is_verified(producer_id, guard):
            raise KafkaError(Code.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")

    # Reading

    def read(
        self,
        fetch_offset: int,
        max_bytes: int,
        isolation: Isolation,
        at_least_one: bool,
        current_leader_epoch: int | None,
        last_fetched_epoch: int | None,
        only_leader: bool = True,
    ) -> Read:
        """Read records for a Fetch request (Partition.fetchRecords).

        `last_fetched_epoch` is the epoch of the reader's last record. If that epoch ended before `fetch_offset` in this
        log, the reader's log has diverged. The result then contains the point of divergence (KIP-595).
        """
        log = self.log_for(current_leader_epoch, only_leader)
        before = (log.high_watermark, log.last_stable_offset, log.log_start_offset, log.log_end_offset)
        if last_fetched_epoch is not None:
            diverging = self._divergence(fetch_offset, last_fetched_epoch)
            if diverging is not None:
                return Read(None, *before, diverging)
        return Read(log.read(fetch_offset, max_bytes, isolation, at_least_one), *before)

    def has_diverged(self, fetch_offset: int, last_fetched_epoch: int) -> bool:
        """Return whether the reader's log has diverged from this one, which requires an immediate response.

        `fetch_offset` is the end of the reader's log, and `last_fetched_epoch` is the epoch of its last record. Raises
        OFFSET_OUT_OF_RANGE if the epoch is unknown; this also requires an immediate response.
        """
        return self._divergence(fetch_offset, last_fetched_epoch) is not None

    def _divergence(self, fetch_offset: int, last_fetched_epoch: int) -> EpochEnd | None:
        """Return the point at which the reader's log diverged from this one, or None if it did not diverge."""
        end = self.end_of_epoch(last_fetched_epoch)
        if end.leader_epoch == UNDEFINED_EPOCH or end.end_offset == UNDEFINED_EPOCH_OFFSET:
            raise KafkaError(Code.OFFSET_OUT_OF_RANGE, f"the end offset of epoch {last_fetched_epoch} is unknown")
        if fetch_offset < self.log.log_start_offset:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"offset {fetch_offset} is below the log start offset {self.log.log_start_offset}",
            )
        if end.leader_epoch < last_fetched_epoch or end.end_offset < fetch_offset:
            return end
        return None

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest epoch not above `leader_epoch` and its end offset (UnifiedLog.endOffsetForEpoch)."""
        return EpochEnd(*self.log.end_offset_for_epoch(leader_epoch))

    def end_metadata(
        self, isolation: Isolation, current_leader_epoch: int | None, only_leader: bool
    ) -> LogOffsetMetadata:
        """Return the offset at which a reader with this isolation has to stop (Partition.fetchOffsetSnapshot).

        The result also contains the position of this offset in the log.
        """
        return self.log_for(current_leader_epoch, only_leader).limit(isolation)

    def end_offset(
        self, timestamp: int, isolation: Isolation | None, current_leader_epoch: int | None, only_leader: bool
    ) -> TimestampOffset:
        """Return the offset for LATEST or EARLIEST, as `offset_for` does.

        These are the offsets that clients request most often, and no records are read.
        """
        log = self.log_for(current_leader_epoch, only_leader)
        if timestamp == EARLIEST:
            return earliest(log)
        if isolation is None:
            end = log.log_end_offset
        else:
            self._check_high_watermark(log)
            end = isolation.bound(log)
        return _new_tuple(TimestampOffset, (-1, end, self.state.leader_epoch))

    async def offset_for(
        self, timestamp: int, isolation: Isolation | None, current_leader_epoch: int | None, only_leader: bool
    ) -> TimestampOffset | None:
        """Return the offset for a timestamp or for one of the special timestamps, or None if none is found.

        `isolation` is None if the reader is not a consumer; such a reader sees the whole log. An offset that the reader
        may not see counts as not found. Source: Partition.fetchOffsetForTimestamp.
        """
        if timestamp in (LATEST, EARLIEST):
            return self.end_offset(timestamp, isolation, current_leader_epoch, only_leader)
        log = self.log_for(current_leader_epoch, only_leader)
        by_time = self.release.searches_unknown_timestamps and timestamp < self.release.lowest_known_timestamp
        if timestamp == EARLIEST_LOCAL and not by_time:
            return await find(log, timestamp)
        last_fetchable = (isolation or Isolation.LOG_END).bound(log)
        try:
            found = await (find_time(log, timestamp) if by_time else find(log, timestamp))
        except OSError as error:
            raise log.failures.answer(error) from error
        except KafkaError as error:
            if error.code in (Code.CORRUPT_MESSAGE, Code.INVALID_RECORD, Code.UNKNOWN_SERVER_ERROR):
                log.report_damage(f"cannot find the offset of timestamp {timestamp}", error)
            raise
        if found is not None and found.offset < last_fetchable:
            return found
        if isolation is not None:
            self._check_high_watermark(log)
        return None

    def _check_high_watermark(self, log: Log) -> None:
        """Raise OFFSET_NOT_AVAILABLE if a new leader has not reached the start of its epoch yet (KIP-207)."""
        start = self.epoch_start_offset
        if start is not None and log.high_watermark < start:
            raise KafkaError(
                Code.OFFSET_NOT_AVAILABLE,
                f"the high watermark {log.high_watermark} of {self!r} is below the start {start} of its leader epoch",
            )

    def legacy_offsets(
        self, timestamp: int, max_num_offsets: int, from_consumer: bool, only_leader: bool, now_ms: int
    ) -> list[int]:
        """Return the offsets of ListOffsets v0, which are the base offsets of segments.

        For consumers, offsets above the high watermark are replaced by the high watermark. Raises UNKNOWN_SERVER_ERROR
        if `max_num_offsets` is negative.
        """
        log = self.log_for(None, only_leader)
        if max_num_offsets < 0:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"max_num_offsets must not be negative: {max_num_offsets}")
        offsets = legacy_offsets_before(log, timestamp, max_num_offsets, now_ms)
        high_watermark = log.high_watermark
        if from_consumer and any(offset > high_watermark for offset in offsets):
            return [high_watermark] + [offset for offset in offsets if offset <= high_watermark]
        return offsets


class UnopenedPartition(Partition):
    """The only replica of its partition, not opened yet. The first use opens its log and makes it a `Partition`.

    The first use raises StorageFailed if the log cannot be opened.
    """

    opens: Callable[[Partition], Log]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Log:
            if name != "log":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self._opened()

    def _opened(self) -> Log:
        log = self.opens(self)
        self.__class__ = Partition  # type: ignore[assignment] # an instance without __getattr__ is faster
        latest = log.latest_epoch
        if self.is_leader and latest is not None and latest > self.leader_epoch:
            # Another broker wrote the log after the metadata was saved.
            self.state.note_leader_epoch(latest)
            self.state.change_leader(self.node_id)
        self.log = log
        if self.is_leader:
            self.lead(0)
        return log
