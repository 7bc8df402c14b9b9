"""A partition as one broker holds it: leadership over a log.

The log knows offsets; this class knows who may ask. It fences by leader epoch, lets only the leader append and answer
clients, and moves the high watermark as far as the in-sync replicas have come:

    high watermark = the smallest log end offset over the in-sync replicas (never back)

A new leader may hold a high watermark below the offset at which its epoch starts. Until it has caught up, clients that
ask for the latest offset get OFFSET_NOT_AVAILABLE (KIP-207), for an older leader may have told them more.

Source: kafka.cluster.Partition.
"""

from collections.abc import Callable, Container
from contextlib import suppress
from typing import NamedTuple

from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.acceptance import Accepted
from kafkalet.storage.epochs import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.log import Log
from kafkalet.storage.lookup import EARLIEST, EARLIEST_LOCAL, LATEST, Known, find, find_time, legacy_offsets_before
from kafkalet.storage.values import (
    UNKNOWN_OFFSET,
    Appended,
    Isolation,
    LogOffsetMetadata,
    Origin,
    ReadResult,
    TimestampOffset,
)
from kafkalet.storage.verification import Guard

from .metadata import PartitionState, TopicState


class EpochEnd(NamedTuple):
    """The largest known leader epoch up to one that was asked for, and the offset where it ended; -1 for unknown."""

    leader_epoch: int
    end_offset: int


class Read(NamedTuple):
    """What a fetch found in one partition, with the four offsets as they were before the read."""

    result: ReadResult | None
    """None when the reader's log has diverged and nothing was read."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    log_end_offset: int
    diverging: EpochEnd | None = None


class Follower:
    """How far another replica has come, as its leader knows it."""

    __slots__ = ("caught_up_ms", "log_end_offset", "log_start_offset")

    def __init__(self, now_ms: int) -> None:
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.caught_up_ms = now_ms
        """When it last had all that the leader had."""


class Partition:
    """One replica of a partition, on the broker `node_id`."""

    def __init__(
        self,
        node_id: int,
        topic: TopicState,
        state: PartitionState,
        log: Log,
        release: Release,
        changed: Callable[["Partition"], None],
        alive: Container[int],
    ) -> None:
        self.node_id = node_id
        self.topic = topic.name
        self.topic_id = topic.topic_id
        self.state = state
        self.log = log
        self.release = release
        self.changed = changed
        """Called after each change that followers have to copy or a waiting request may be waiting for."""
        self.alive = alive
        """The brokers that run, as the metadata knows them at any time."""
        self.followers: dict[int, Follower] = {}
        self.epoch_start_offset: int | None = None
        """The log end offset when this broker became leader; None while it follows."""

    def __repr__(self) -> str:
        return f"{self.topic}-{self.state.index} on broker {self.node_id}"

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
        """Start to lead in the epoch that the metadata says (Partition.makeLeader)."""
        self.epoch_start_offset = self.log.log_end_offset
        with suppress(StorageFailed):  # it was logged, and the first append of this epoch tries again
            self.log.assign_epoch_start_offset(self.leader_epoch, self.log.log_end_offset)
        self.followers = {node: Follower(now_ms) for node in self.state.replicas if node != self.node_id}
        self.advance_high_watermark()

    def add_followers(self, now_ms: int) -> None:
        """Take note of replicas that are new, as the leader."""
        for node in self.state.adding:
            if node != self.node_id:
                self.followers.setdefault(node, Follower(now_ms))

    def follow(self) -> None:
        """Stop leading."""
        self.epoch_start_offset = None
        self.followers = {}

    def fence(self, current_leader_epoch: int | None) -> None:
        """Refuse a client whose epoch is older than the leader's, or newer than what this broker has heard of."""
        if current_leader_epoch is None or current_leader_epoch == self.leader_epoch:
            return
        known = f"the current leader epoch is {self.leader_epoch}, the request has {current_leader_epoch}"
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(Code.FENCED_LEADER_EPOCH, known)
        raise KafkaError(Code.UNKNOWN_LEADER_EPOCH, known)

    def log_for(self, current_leader_epoch: int | None, only_leader: bool = True) -> Log:
        """The log, once the epoch has been checked and, for all but debugging readers, that this broker leads.

        The epoch comes first: a newer one tells the client more than "not the leader" (Partition.getLocalLog). Raises
        KAFKA_STORAGE_ERROR if the log is offline (HostedPartition.Offline).
        """
        failures = self.log.failures
        if failures.offline is not None:
            failures.check()
        self.fence(current_leader_epoch)
        if only_leader and not self.is_leader:
            raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER, f"{self!r} is led by broker {self.state.leader}")
        return self.log

    # Writing

    def append(
        self,
        records: bytearray | memoryview | bytes,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
    ) -> Appended:
        """Append as the leader, and move the high watermark where no other replica has to come first.

        `transaction_version` is that of a marker: how strictly its epoch is checked.
        """
        log = self.log_for(None)
        appended = log.append_as_leader(records, self.leader_epoch, origin, transaction_version=transaction_version)
        self._note(appended)
        return appended

    def _note(self, appended: Appended) -> None:
        if not appended.duplicate:
            self.advance_high_watermark()
            self.changed(self)

    def append_built(self, records: bytes, transaction_version: int = 0) -> int:
        """Append a batch as the leader that a coordinator here has built as it is to lie in the log, once it is known
        that enough replicas are in sync. Return the offset of its last record."""
        log = self.log_for(None)
        last_offset = log.append_built(records, transaction_version)
        if self.followers:
            self.advance_high_watermark()
        else:
            log.maybe_increment_high_watermark(log.log_end_metadata())
        self.changed(self)
        return last_offset

    @property
    def has_enough_replicas(self) -> bool:
        """Whether as many replicas are in sync as `min.insync.replicas` wants."""
        wanted = self.log.config.min_insync_replicas
        if self.release.caps_min_isr_at_replicas:
            wanted = min(wanted, len(self.state.replicas))
        return len(self.state.isr) >= wanted

    def check_replicas(self) -> None:
        """NOT_ENOUGH_REPLICAS, unless enough are in sync."""
        if not self.has_enough_replicas:
            raise KafkaError(Code.NOT_ENOUGH_REPLICAS, f"{self!r} has too few replicas in sync")

    def advance_high_watermark(self) -> bool:
        """Let consumers see what all in-sync replicas have; say whether that moved (maybeIncrementLeaderHW)."""
        log = self.log
        if self.release.holds_high_watermark_below_min_isr and not self.has_enough_replicas:
            return False
        to = log.log_end_offset
        for node, follower in self.followers.items():
            if node in self.state.isr:
                to = min(to, follower.log_end_offset)
        return to >= 0 and log.maybe_increment_high_watermark(min(to, log.log_end_offset))

    def follower_has(self, node: int, log_end_offset: int, log_start_offset: int, now_ms: int) -> bool:
        """Note how far a follower has come; say whether the high watermark moved."""
        follower = self.followers[node]
        follower.log_end_offset = max(log_end_offset, UNKNOWN_OFFSET)
        follower.log_start_offset = log_start_offset
        if log_end_offset >= self.log.log_end_offset:
            follower.caught_up_ms = now_ms
        return self.advance_high_watermark()

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset over the replicas that are alive: what is gone everywhere, -1 while one of
        them has not said (what DeleteRecords answers)."""
        return min(
            [self.log.log_start_offset]
            + [follower.log_start_offset for node, follower in self.followers.items() if node in self.alive]
        )

    def delete_records(self, before_offset: int) -> int:
        """Raise the log start offset to `before_offset` (-1: to the high watermark); return the offset that is meant.

        POLICY_VIOLATION where the topic is only compacted, OFFSET_OUT_OF_RANGE below -1 and past the high watermark.
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
        self.changed(self)
        return offset

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, raises_epoch: bool
    ) -> Guard | None:
        """The coordinator is about to be asked about a transaction of which nothing is in the log yet; None where it
        need not be (Partition.maybeStartTransactionVerification). `sequence` is that of its first batch.

        INVALID_PRODUCER_EPOCH where the log has seen a later epoch of the producer, since 4.1: nobody is asked then.
        """
        log = self.log_for(None)
        known = log.producer(producer_id)
        if self.release.checks_epochs_before_asking and known is not None and producer_epoch < known.producer_epoch:
            raise KafkaError(Code.INVALID_PRODUCER_EPOCH)
        asked_epoch = producer_epoch if self.release.refuses_epochs_never_given else None
        if log.has_open_transaction(producer_id, asked_epoch):
            return None
        return log.start_verification(producer_id, sequence, producer_epoch, supports_epoch_bump=raises_epoch)

    def produce(self, records: bytearray | memoryview | bytes, guard: Guard | None = None) -> Appended:
        """Append what a producer sent.

        `guard` is that of `start_verification`, if the coordinator was asked: INVALID_TXN_STATE where its word is no
        longer good, because a marker has come in between.
        """
        if guard is not None:
            self.check_verified(next(batches(records)).producer_id, guard)
        return self.append(records, Origin.CLIENT)

    def validation(self, records: bytearray | memoryview | bytes, guard: Guard | None = None) -> Callable[[], Accepted]:
        """Return the part of `produce` that may take long: a call for another thread, whose result goes to
        `produce_validated`."""
        if guard is not None:
            self.check_verified(next(batches(records)).producer_id, guard)
        return self.log_for(None).validation(records, self.leader_epoch)

    def produce_validated(self, accepted: Accepted, guard: Guard | None = None) -> Appended | None:
        """Append what a producer sent and `validation` accepted. None if the records have to be produced anew."""
        log = self.log_for(None)
        if guard is not None and accepted.batches:
            self.check_verified(accepted.batches[0].producer_id, guard)
        appended = log.append_validated(accepted, self.leader_epoch)
        if appended is not None:
            self._note(appended)
        return appended

    def check_verified(self, producer_id: int, guard: Guard) -> None:
        """Raise INVALID_TXN_STATE where the question that `guard` stands for is no longer open, and nothing of the
        transaction is in the log."""
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
        """Read for a Fetch request (Partition.fetchRecords).

        With `last_fetched_epoch` the reader says in which epoch its last record was written: if that epoch ended here
        before `fetch_offset`, the reader's log has diverged and is told where (KIP-595).
        """
        log = self.log_for(current_leader_epoch, only_leader)
        before = (log.high_watermark, log.last_stable_offset, log.log_start_offset, log.log_end_offset)
        if last_fetched_epoch is not None:
            diverging = self._divergence(fetch_offset, last_fetched_epoch)
            if diverging is not None:
                return Read(None, *before, diverging)
        return Read(log.read(fetch_offset, max_bytes, isolation, at_least_one), *before)

    def has_diverged(self, fetch_offset: int, last_fetched_epoch: int) -> bool:
        """Whether a reader that has come to `fetch_offset` in that epoch must be answered at once.

        Raises OFFSET_OUT_OF_RANGE where nothing is known of the epoch, which has to be answered too.
        """
        return self._divergence(fetch_offset, last_fetched_epoch) is not None

    def _divergence(self, fetch_offset: int, last_fetched_epoch: int) -> EpochEnd | None:
        """Where the reader's log parted from this one, None where it did not."""
        end = self.end_of_epoch(last_fetched_epoch)
        if end.leader_epoch == UNDEFINED_EPOCH or end.end_offset == UNDEFINED_EPOCH_OFFSET:
            raise KafkaError(Code.OFFSET_OUT_OF_RANGE, f"no end offset is known for epoch {last_fetched_epoch}")
        if fetch_offset < self.log.log_start_offset:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"offset {fetch_offset} is below the log start offset {self.log.log_start_offset}",
            )
        if end.leader_epoch < last_fetched_epoch or end.end_offset < fetch_offset:
            return end
        return None

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """The largest epoch at or below `leader_epoch` and its end offset (UnifiedLog.endOffsetForEpoch)."""
        return EpochEnd(*self.log.end_offset_for_epoch(leader_epoch))

    def end_metadata(
        self, isolation: Isolation, current_leader_epoch: int | None, only_leader: bool
    ) -> LogOffsetMetadata:
        """How far such a reader may read, with the place in the log (Partition.fetchOffsetSnapshot)."""
        log = self.log_for(current_leader_epoch, only_leader)
        if isolation is Isolation.HIGH_WATERMARK:
            return log.high_watermark_metadata()
        if isolation is Isolation.LAST_STABLE:
            return log.last_stable_metadata()
        return log.log_end_metadata()

    def offset_for(
        self,
        timestamp: int,
        isolation: Isolation | None,
        current_leader_epoch: int | None,
        only_leader: bool,
        known: Known | None = None,
    ) -> TimestampOffset | None:
        """An offset by time or by one of the special times; None: nothing found (Partition.fetchOffsetForTimestamp).

        `isolation` is None for everybody but consumers: they see the whole log. What is found at or past the end of
        what the asker may read counts as not found; the search does not go on. Raises LongSearch if `known` is given
        (see lookup.py).
        """
        log = self.log_for(current_leader_epoch, only_leader)
        by_time = timestamp < EARLIEST and self.release.searches_unknown_timestamps
        if timestamp in (EARLIEST, EARLIEST_LOCAL) and not by_time:
            return find(log, timestamp)
        last_fetchable = (isolation or Isolation.LOG_END).bound(log)
        lagging = (
            isolation is not None
            and self.epoch_start_offset is not None
            and log.high_watermark < self.epoch_start_offset
        )
        if timestamp == LATEST:
            found: TimestampOffset | None = TimestampOffset(-1, last_fetchable, self.leader_epoch)
        else:
            try:
                found = find_time(log, timestamp, known) if by_time else find(log, timestamp, known)
            except OSError as error:
                raise log.failures.answer(error) from error
            lagging = lagging and (found is None or found.offset >= last_fetchable)
            if found is not None and found.offset >= last_fetchable:
                found = None
        if lagging:
            raise KafkaError(
                Code.OFFSET_NOT_AVAILABLE,
                f"the high watermark {log.high_watermark} of {self!r} is below the start {self.epoch_start_offset} "
                f"of its leader epoch",
            )
        return found

    def legacy_offsets(
        self, timestamp: int, max_num_offsets: int, from_consumer: bool, only_leader: bool, now_ms: int
    ) -> list[int]:
        """The answer of ListOffsets v0: offsets at which segments start, capped at the high watermark for consumers.

        UNKNOWN_SERVER_ERROR if a negative number of offsets is asked for.
        """
        log = self.log_for(None, only_leader)
        if max_num_offsets < 0:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"{max_num_offsets} offsets were asked for")
        offsets = legacy_offsets_before(log, timestamp, max_num_offsets, now_ms)
        high_watermark = log.high_watermark
        if from_consumer and any(offset > high_watermark for offset in offsets):
            return [high_watermark] + [offset for offset in offsets if offset <= high_watermark]
        return offsets
