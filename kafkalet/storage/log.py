"""A log: the records of one partition (Kafka's UnifiedLog).

A log has segments (local_log.py), four offsets that determine what readers see, producer states and leader epochs.
Other modules validate records (validation.py), select segments to delete (retention.py), find offsets by timestamp
(lookup.py) and recover a log after a crash (recovery.py).

Each offset changes only through its own methods:

    0 <= log_start_offset <= high_watermark <= log_end_offset        last_stable_offset <= high_watermark

log_start_offset    the first offset that can be read. Raised by DeleteRecords, by retention and by the leader; lowered
                    only by truncation to an offset below it
log_end_offset      the next offset to assign. Raised by appends, lowered only by truncation; a roll changes its
                    position, not its value
high_watermark      the end of the records that all in-sync replicas have and consumers may read. On a leader it never
                    decreases and never passes the log end; a follower takes the leader's value, limited to its own log
last_stable_offset  the limit for read_committed: the first offset of the oldest transaction that is open, or whose
                    marker is not below the high watermark; the high watermark if there is no such transaction

After DeleteRecords has removed part of an open transaction, the last stable offset is the first offset of the entry
that contains the log start offset, so it may be below the log start offset. This is the rule since Kafka 4; in Kafka 3
it is the log start offset itself (`lifts_unstable_to_log_start`).

An append is checked completely before anything is written, in Kafka's order: the records, the leader epoch, the segment
(producer states contain the position of a transaction's first batch), the producers. A new segment may therefore be
rolled for an append that is then refused for its sequence, or that turns out to be a duplicate. As in Kafka, the new
segment stays.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import NO_TIMESTAMP, Batch
from kafkalet.protocol.records.effort import TakesLong, may_be_quick
from kafkalet.tasks.task import in_thread

from . import retention
from .acceptance import ValidatedBatches, check_segment_size, check_size
from .checkpoints import write_topic_id
from .config import LogConfig
from .epochs import EpochEntry, LeaderEpochs
from .failures import Failures, storing
from .files import Buffer
from .index import MAX_RELATIVE_OFFSET
from .local_log import LocalLog, Replacement
from .producer_append import NO_CHANGE, ProducerChange
from .producer_entry import ProducerEntry
from .producers import ProducerStates
from .refusals import AppendRefused
from .replay import rebuild_producers
from .replicated import accept_replicated
from .segment import Segment
from .segments import Segments
from .validation import relocate, validate
from .values import UNKNOWN_OFFSET, AppendResult, Isolation, LogOffsetMetadata, Origin, ReadResult
from .verification import Guard

_LOG = logging.getLogger(__name__)


class Log:
    """The log of one partition. Created or opened by `LogDirectory.get_or_create`."""

    __slots__ = (
        *("_damage", "_first_unstable", "_high_watermark", "_log_start_offset", "_topic_id_is_written", "epochs"),
        *("failures", "local", "partition", "producers", "topic", "topic_id"),
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        topic_id: bytes | None,
        local: LocalLog,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        log_start_offset: int,
        *,
        topic_id_is_written: bool,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self._topic_id_is_written = topic_id_is_written or topic_id is None
        self.local = local
        self.failures: Failures = local.failures
        """The I/O failures of this log."""
        self.epochs = epochs
        self.producers = producers
        self._log_start_offset = log_start_offset
        self._use_tier()
        if self.local.tier is None:
            self._log_start_offset = self.local_log_start_offset
        self._high_watermark = LogOffsetMetadata(self.log_start_offset)
        self._first_unstable: LogOffsetMetadata | None = None
        self._damage = ""  # the last one that was reported
        local.mark_flushed(self.log_start_offset)
        self._update_first_unstable()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name} start {self.log_start_offset} stable {self.last_stable_offset}"
            f" high watermark {self.high_watermark} end {self.log_end_offset}>"
        )

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def config(self) -> LogConfig:
        return self.local.config

    @property
    def segments(self) -> Segments:
        return self.local.segments

    @property
    def directory(self) -> str:
        return self.local.directory

    @property
    def size_bytes(self) -> int:
        """The total size of all segments, including records below the log start offset."""
        return self.local.segments.size_bytes

    @property
    def recovery_point(self) -> int:
        """The offset below which everything has been flushed to disk, including indexes."""
        return min(self.local.recovery_point, *self.local.closed, self.log_end_offset)

    # Offsets

    @property
    def log_start_offset(self) -> int:
        return self._log_start_offset

    @property
    def local_log_start_offset(self) -> int:
        """The first offset that can be read from the local disk."""
        return max(self._log_start_offset, self.local.segments.first.base_offset)

    def is_remote(self, offset: int) -> bool:
        """Return whether the record at this offset is only in remote storage."""
        return self._log_start_offset <= offset < self.local_log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.local.end.offset

    @property
    def high_watermark(self) -> int:
        return self._high_watermark.offset

    @property
    def last_stable_offset(self) -> int:
        first = self._first_unstable
        high_watermark = self._high_watermark.offset
        return first.offset if first is not None and first.offset < high_watermark else high_watermark

    def log_end_metadata(self) -> LogOffsetMetadata:
        """Return the log end offset with its position."""
        return self.local.end

    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """Return the high watermark with its position, which is looked up if it is unknown."""
        if self._high_watermark.offset_only:
            self._high_watermark = self.offset_metadata(self._high_watermark.offset)
        return self._high_watermark

    def last_stable_metadata(self) -> LogOffsetMetadata:
        """Return the last stable offset with its position."""
        first = self._first_unstable
        if first is None or first.offset >= self._high_watermark.offset:
            return self.high_watermark_metadata()
        return first

    def limit(self, isolation: Isolation) -> LogOffsetMetadata:
        """Return the first offset that is not visible, with its position.

        It is the same object until the offset changes.
        """
        if isolation is Isolation.HIGH_WATERMARK:
            return self.high_watermark_metadata()
        if isolation is Isolation.LAST_STABLE:
            return self.last_stable_metadata()
        return self.local.end

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return an offset with its position, or without a position if it is outside the segments."""
        try:
            return self.local.offset_metadata(offset)
        except KafkaError as error:
            if error.code is not Code.OFFSET_OUT_OF_RANGE:
                raise
            return LogOffsetMetadata(offset)

    def update_high_watermark(self, to: int) -> int:
        """Set a follower's high watermark to the leader's, but within log start and log end. Return the result."""
        end = self.local.end
        if to >= end.offset:
            self._set_high_watermark(end)
        else:
            self._set_high_watermark(LogOffsetMetadata(max(to, self.log_start_offset)))
        return self._high_watermark.offset

    def maybe_increment_high_watermark(self, to: int | LogOffsetMetadata) -> bool:
        """Raise a leader's high watermark to `to`; it never decreases.

        Return whether its offset or its segment changed. Raises ValueError for an offset past the log end.
        """
        end, old = self.local.end, self._high_watermark
        if to is end and end.offset > old.offset:  # the usual append: there are no followers
            self._set_high_watermark(end)
            return True
        new = to if isinstance(to, LogOffsetMetadata) else LogOffsetMetadata(to)
        if new.offset > end.offset:
            raise ValueError(f"high watermark {new.offset} is past the log end offset {end.offset} of {self.name}")
        if new.offset < old.offset:
            return False
        if new.offset == end.offset:
            new = end
        if new.offset == old.offset and not self.high_watermark_metadata().on_older_segment(new):
            return False
        self._set_high_watermark(new)
        return True

    def _set_high_watermark(self, to: LogOffsetMetadata) -> None:
        if to.offset < self._high_watermark.offset:
            _LOG.warning("%s: high watermark lowered from %d to %d", self.name, self._high_watermark.offset, to.offset)
        self._high_watermark = to
        self.producers.on_high_watermark_updated(to.offset)
        self._update_first_unstable()

    def _limit_high_watermark(self) -> None:
        """Update the high watermark after the log end has moved back or to another segment."""
        if self._high_watermark.offset >= self.local.end.offset:
            self._set_high_watermark(self.local.end)

    def _update_first_unstable(self) -> None:
        """Update the first unstable offset after transactions, log start offset or high watermark have changed."""
        first = self.producers.first_unstable
        if first is not None and (first.offset_only or first.offset < self.log_start_offset):
            first = self.offset_metadata(max(first.offset, self.log_start_offset))
            if not self.config.lifts_unstable_to_log_start:
                first = self.local.entry_metadata(first)
        self._first_unstable = first

    @storing
    def maybe_increment_log_start_offset(self, to: int) -> bool:
        """Raise the log start offset to `to`. Return whether it changed.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) for an offset above the high watermark.
        """
        if to > self.high_watermark:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {to} of partition {self.name} "
                f"since it is larger than the high watermark {self.high_watermark}",
            )
        if to <= self.log_start_offset:
            return False
        self._log_start_offset = to
        self.local.mark_flushed(to)  # deleted records need no recovery
        self.epochs.truncate_from_start(to)
        self.epochs.write_at_once()
        self.producers.on_log_start_offset_incremented(to)
        self._update_first_unstable()
        return True

    # Append

    @storing
    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        origin: Origin = Origin.CLIENT,
        *,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append entries, assigning offsets and `leader_epoch`. If AppendRefused is raised, nothing was appended.

        A writable `records` is patched in place. `transaction_version` applies to transaction markers.
        """
        self.write_topic_id()
        accepted = self.validation(records, leader_epoch, origin)()
        return self._append(accepted, origin, transaction_version)

    def validation(
        self, records: Buffer, leader_epoch: int, origin: Origin = Origin.CLIENT, *, at_once: bool = False
    ) -> Callable[[], ValidatedBatches]:
        """Return a callable that does the validation of `append_as_leader`; pass its result to `append_validated`.

        The callable does not use the log, so another thread may run it. It raises AppendRefused; with `at_once`, it
        raises TakesLong (see `validate`).
        """
        local = self.local
        return partial(
            validate,
            records,
            local.config,
            next_offset=local.end.offset,
            leader_epoch=leader_epoch,
            origin=origin,
            now_ms=local.environment.clock.now_ms(),
            partition=self.name,
            at_once=at_once,
        )

    async def validate(self, records: Buffer, leader_epoch: int, *, droppable: bool = False) -> ValidatedBatches:
        """Do the validation of `append_as_leader`, in a thread if it takes long; the log may grow in the meantime.

        A thread costs as much as the validation of 10,000 short records that need not be decoded.
        """
        if may_be_quick(records):
            with suppress(TakesLong):
                return self.validation(records, leader_epoch, at_once=True)()
        return await in_thread(self.validation(records, leader_epoch), droppable=droppable)

    def append_validated(
        self, accepted: ValidatedBatches, leader_epoch: int, origin: Origin = Origin.CLIENT
    ) -> AppendResult | None:
        """Append entries accepted by `validation`, even if the log has grown since.

        Return None and append nothing if they would have to be validated again (see `relocate`). Raises AppendRefused.
        """
        placed = relocate(accepted, self.log_end_offset, leader_epoch)
        if placed is None:
            return None
        self.write_topic_id()
        return self._append(placed, origin)

    @storing
    def append_built(self, records: bytes, transaction_version: int = 0) -> int:
        """Append one batch that a coordinator of this broker has built for the log end, in the topic's format.

        Only the size is checked; header and checksum are trusted. Return the offset of the last record. Raises
        AppendRefused.
        """
        batch = Batch(records)
        config, size, last_offset = self.local.config, len(records), batch.last_offset
        if (
            size > config.max_message_bytes
            or not self._topic_id_is_written
            or not self._only_writes(batch, size, batch.max_timestamp, last_offset)
        ):
            self.write_topic_id()
            check_size(size, config)
            check_segment_size(size, config)
            accepted = ValidatedBatches(
                records, (batch,), batch.base_offset, last_offset, batch.max_timestamp, last_offset, NO_TIMESTAMP
            )
            return self._append(accepted, Origin.COORDINATOR, transaction_version).last_offset
        self._write(records, last_offset, batch.max_timestamp, last_offset)
        return last_offset

    def _only_writes(self, batch: Batch, size: int, max_timestamp: int, last_offset: int) -> bool:
        """Return whether the append of a batch changes neither producer states nor leader epochs nor segments."""
        epochs, local = self.epochs, self.local
        return (
            batch.producer_id < 0
            and batch.leader_epoch == epochs.latest_epoch
            and not epochs.is_unwritten
            and not local.segments.active.should_roll(local.config, size, max_timestamp, last_offset)
        )

    @storing
    def append_as_follower(self, records: Buffer) -> AppendResult:
        """Append the leader's entries with their offsets and epochs. Gaps between offsets are allowed.

        Raises UnexpectedOffset for offsets that are below the log end or do not increase, and
        KafkaError(CORRUPT_MESSAGE) for corrupt entries.
        """
        self.write_topic_id()
        return self._append(accept_replicated(records, self.log_end_offset, self.name), Origin.REPLICATION)

    @storing
    def append_as_given(self, records: Buffer, leader_epoch: int) -> None:
        """Append entries whose offsets, epochs and checksums stay as they are, even if they are wrong.

        `leader_epoch` is the current epoch of the partition. Entries of earlier epochs are allowed as long as nothing
        has been written in the current one, which then starts after them. If ValueError is raised, nothing was
        appended; see as_given.py.
        """
        from .as_given import accept_as_given  # only tests append in this way

        end, epochs = self.log_end_offset, self.epochs
        earliest_epoch = next((entry.epoch for entry in reversed(epochs.entries) if entry.start_offset < end), 0)
        accepted = accept_as_given(
            records, next_offset=end, earliest_epoch=earliest_epoch, leader_epoch=leader_epoch, name=self.name
        )
        given = [batch for each in accepted for batch in each.batches]
        try:
            self.producers.prepare(given, Origin.REPLICATION)
        except KafkaError as error:
            reason = error.reason if isinstance(error, AppendRefused) else error.message or error.code.name
            raise ValueError(f"{self.name} cannot have these entries: {reason}") from error
        self.write_topic_id()
        if any(batch.magic < 2 or 0 <= batch.leader_epoch < leader_epoch for batch in given):
            epochs.truncate_from_end(end)
        for each in accepted:
            self._append(each, Origin.REPLICATION)
        if given[-1].magic >= 2:
            epochs.assign(leader_epoch, self.log_end_offset)

    def _append(self, accepted: ValidatedBatches, origin: Origin, transaction_version: int = 0) -> AppendResult:
        batches = accepted.batches
        if not batches:
            return AppendResult(-1, -1, -1, -1, self.log_start_offset)
        batch, size = batches[-1], len(accepted.records)
        if len(batches) == 1 and self._only_writes(batch, size, accepted.max_timestamp, accepted.last_offset):
            self._write(
                accepted.records, accepted.last_offset, accepted.max_timestamp, accepted.offset_of_max_timestamp
            )
            return self._result(accepted, batch.leader_epoch)
        self._assign_epochs(batches)
        segment = self._maybe_roll(accepted)
        change = self.producers.prepare(
            batches,
            origin,
            segment_base_offset=segment.base_offset,
            position=segment.size_bytes,
            transaction_version=transaction_version,
        )
        if (old := change.duplicate) is not None:
            return AppendResult(
                old.first_offset,
                old.last_offset,
                old.timestamp,
                old.timestamp,
                self.log_start_offset,
                batch.leader_epoch,
                duplicate=True,
            )
        self._write(
            accepted.records, accepted.last_offset, accepted.max_timestamp, accepted.offset_of_max_timestamp, change
        )
        return self._result(accepted, batch.leader_epoch)

    def _result(self, accepted: ValidatedBatches, leader_epoch: int) -> AppendResult:
        return AppendResult(
            accepted.first_offset,
            accepted.last_offset,
            accepted.max_timestamp,
            accepted.log_append_time_ms,
            self._log_start_offset,
            leader_epoch,
            False,
            len(accepted.records),
        )

    def _assign_epochs(self, batches: Sequence[Batch]) -> None:
        epochs = self.epochs
        for batch in batches:
            if batch.magic >= 2:
                if batch.leader_epoch >= 0:
                    epochs.assign(batch.leader_epoch, batch.base_offset)
            elif self.epochs.latest_epoch is not None:
                # Without epochs, truncation depends on the high watermark alone.
                _LOG.warning("%s: entries of format %d appended, leader epochs cleared", self.name, batch.magic)
                self.epochs.clear()

    def _maybe_roll(self, accepted: ValidatedBatches) -> Segment:
        """Return the segment for these entries: the active segment, or a new one that begins at their first offset."""
        active, last_offset = self.local.segments.active, accepted.last_offset
        if not active.should_roll(self.config, len(accepted.records), accepted.max_timestamp, last_offset):
            return active
        # If the first offset is unknown, use a lower bound: no entry spans more than MAX_RELATIVE_OFFSET.
        unknown = accepted.first_offset == UNKNOWN_OFFSET
        return self.roll(last_offset - MAX_RELATIVE_OFFSET if unknown else accepted.first_offset)

    def _write(
        self,
        records: Buffer,
        last_offset: int,
        max_timestamp: int,
        offset_of_max_timestamp: int,
        change: ProducerChange = NO_CHANGE,
    ) -> None:
        """Write validated entries and raise the log end offset. From here on only I/O errors are possible."""
        local = self.local
        local.append(records, last_offset, max_timestamp, offset_of_max_timestamp)
        if change.appends:
            try:
                for aborted in self.producers.commit(change):
                    local.segments.active.txn_index.append(aborted)
                self._update_first_unstable()
            except OSError as error:  # the records have been written, but not the transaction index
                local.failures.take_offline(error)
                raise
        self.producers.end_offset = last_offset + 1
        if last_offset + 1 - local.recovery_point >= local.config.flush_messages:
            self.flush()

    def write_topic_id(self) -> None:
        """Write partition.metadata if it does not exist yet. It must exist before the first record is written."""
        if not self._topic_id_is_written and self.topic_id is not None:
            write_topic_id(self.local.environment.files, self.directory, self.topic_id)
            self._topic_id_is_written = True

    # Producers

    def producer(self, producer_id: int) -> ProducerEntry | None:
        """Return the state of a producer, or None. The entry may be removed by the next append."""
        return self.producers.entry(producer_id)

    def active_producers(self) -> Iterator[ProducerEntry]:
        """Return the producers that have not expired."""
        return self.producers.active()

    def has_open_transaction(self, producer_id: int, producer_epoch: int | None = None) -> bool:
        """Return whether a transaction of the producer is open here (in this epoch, if one is given)."""
        return self.producers.has_open_transaction(producer_id, producer_epoch)

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool = False
    ) -> Guard:
        """Start the verification of a transaction whose first batch has this sequence and epoch; return its guard."""
        now_ms = self.local.environment.clock.now_ms()
        verifications = self.producers.verifications
        return verifications.start(producer_id, sequence, epoch, now_ms, supports_epoch_bump=supports_epoch_bump)

    def is_verified(self, producer_id: int, guard: Guard) -> bool:
        """Return whether the producer's transaction is open or `guard` belongs to its pending verification."""
        producers = self.producers
        return producers.has_open_transaction(producer_id) or producers.verifications.is_proven(producer_id, guard)

    def remove_expired_producers(self, expiration_ms: int) -> None:
        """Remove producers that have been inactive for `expiration_ms`, now and when snapshots are loaded later."""
        self.producers.expiration_ms = expiration_ms
        self.producers.remove_expired(self.local.environment.clock.now_ms())

    def retention_quiet_ms(self) -> float:
        """Return the milliseconds until a record may expire, provided that the configuration does not change."""
        return retention.quiet_ms(self.segments, self.retention_config, self.local.environment.clock.now_ms())

    def producers_quiet_ms(self) -> float:
        """Return the milliseconds until a producer may expire, provided that the configuration does not change."""
        return self.producers.quiet_ms(self.local.environment.clock.now_ms())

    # Read

    def read(self, offset: int, max_bytes: int, isolation: Isolation, at_least_one: bool) -> ReadResult:
        """Read entries from one segment, starting with the entry that contains `offset`.

        The result ends at the limit of `isolation` and after `max_bytes`, which may cut an entry; with `at_least_one`
        the first entry is complete. It is empty for offsets between that limit and the log end. Raises
        KafkaError: OFFSET_OUT_OF_RANGE below the log start or past the log end, UNKNOWN_SERVER_ERROR for a negative
        `max_bytes`.
        """
        if offset < self._log_start_offset:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.name}, "
                f"but we only have log segments starting from offset: {self.log_start_offset}.",
            )
        try:
            limit = self.limit(isolation)
            return self.local.read(offset, max_bytes, at_least_one, limit, isolation is Isolation.LAST_STABLE)
        except OSError as error:
            raise self.failures.answer(error) from error
        except KafkaError as error:
            if error.code is Code.CORRUPT_MESSAGE:
                self.report_damage(f"cannot read offset {offset}", error)
            raise

    def report_damage(self, problem: str, error: KafkaError) -> None:
        """Log that entries cannot be read, once for each error."""
        reason = error.message or error.code.name
        if reason != self._damage:
            self._damage = reason
            _LOG.error("%s: %s: %s", self.directory, problem, reason)

    # Leader epochs

    @property
    def latest_epoch(self) -> int | None:
        """The latest leader epoch; None if none is known."""
        return self.epochs.latest_epoch

    @storing
    def assign_epoch_start_offset(self, leader_epoch: int, offset: int) -> None:
        """Start a leader epoch at the log end offset `offset`."""
        self.epochs.start(leader_epoch, offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEntry:
        """Return the largest known epoch up to `leader_epoch` and the offset where it ended; (-1, -1) if unknown."""
        return self.epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # Roll, truncate, delete

    @storing
    def roll(self, expected_next_offset: int = 0) -> Segment:
        """Roll to a new segment at the log end, or at `expected_next_offset` if that is larger."""
        segment = self.local.roll(expected_next_offset)
        # The snapshot must match the segment, which may begin above the log end offset (a gap on a follower).
        self.producers.end_offset = segment.base_offset
        is_flushed = segment.base_offset <= self.recovery_point
        taken = self.producers.try_to_take_snapshot(force=is_flushed)  # else it is flushed with the old segment
        self._limit_high_watermark()
        if not is_flushed:
            if self.local.environment.files.durable:
                self.epochs.write()
            more = [] if taken is None else [self.producers.snapshots.path(taken)]
            self.local.flush_in_background(segment.base_offset, more)
        return segment

    @storing
    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to `offset`, and lower the other offsets as needed. Return whether records were removed.

        Raises ValueError for a negative offset.
        """
        if offset < 0:
            raise ValueError(f"cannot truncate {self.name} to the negative offset {offset}")
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)  # an epoch that this replica led without appending
            return False
        if self.segments.first.base_offset > offset:
            self.truncate_fully_and_start_at(offset)
            return True
        _LOG.info("%s: truncating to %d", self.name, offset)
        if offset < self.segments.active.base_offset:
            self.abort_cleaning()
        with self.local.offline_on_error():
            self._drop_snapshots(self.local.truncate_to(offset))
            self.epochs.truncate_from_end(offset)
            self._log_start_offset = min(offset, self.log_start_offset)
            self._rebuild_producers(offset)
            self.producers.on_high_watermark_updated(self.high_watermark)  # transactions below it are complete
            self._limit_high_watermark()
            self._update_first_unstable()
        self._truncated()
        return True

    @storing
    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Delete all segments and continue at `offset`.

        The new log start offset is `log_start_offset`, or `offset` if that is None.
        """
        _LOG.info("%s: truncating fully, continuing at %d", self.name, offset)
        self.abort_cleaning()
        with self.local.offline_on_error():
            self.local.truncate_fully_and_start_at(offset)
            self.epochs.clear()
            self.producers.truncate_fully_and_start_at(offset)
            self._log_start_offset = offset if log_start_offset is None else log_start_offset
            self._rebuild_producers(offset)
            self._set_high_watermark(self.local.end)
        self._truncated()

    def start_like(self, leader: "Log") -> None:
        """Delete all segments and continue where the leader's local log starts. What has to be known about earlier
        records is in remote storage (TierStateMachine)."""
        start, tier = leader.local_log_start_offset, leader.local.tier
        self.truncate_fully_and_start_at(start, leader.log_start_offset)
        if tier is not None and leader.log_start_offset < start:
            epochs, producers = tier.state_at(start)
            for entry in epochs:
                self.epochs.note(*entry)
            self.epochs.truncate_from_start(leader.log_start_offset)
            self.producers.restore(start, producers)
            self._update_first_unstable()

    def _truncated(self) -> None:
        """Flush the deletion of segments and snapshots, and correct the checkpoints, which may contain offsets that no
        longer exist.
        """
        environment = self.local.environment
        with self.local.offline_on_error():
            environment.files.sync_directory(self.directory)
        if self.config.is_compacted:
            environment.cleaning.truncated((self.topic, self.partition), self.segments.active.base_offset)
        environment.truncated()

    # Compaction

    def abort_cleaning(self) -> None:
        """Abort the cleaning of this log, if it is in progress, and wait until its thread uses no files anymore."""
        self.local.environment.cleaning.abort((self.topic, self.partition))

    @storing
    def replace_segments(self, cleaned: Segment, old: list[Segment]) -> tuple[Replacement, list[str]]:
        """Replace adjacent segments by `cleaned`, which begins where they begin and whose files end with .cleaned.

        All of them are below the last stable offset and before the active segment. Return the replacement, whose files
        must be renamed, and the paths of producer snapshots that must be deleted.
        """
        bases = {segment.base_offset for segment in old}
        replacement = self.local.replace_segments(cleaned, old)
        snapshots = self.producers.snapshots.detach(bases - {cleaned.base_offset})
        # An offset between two segments may have its position at the end of a segment that was replaced.
        if self._high_watermark.segment_base_offset in bases:
            self._high_watermark = LogOffsetMetadata(self._high_watermark.offset)
        first = self._first_unstable
        if first is not None and first.segment_base_offset in bases:
            self._first_unstable = self.offset_metadata(first.offset)
        return replacement, snapshots

    def _rebuild_producers(self, end_offset: int) -> None:
        now_ms = self.local.environment.clock.now_ms()
        rebuild_producers(self.producers, self.segments, self.log_start_offset, end_offset, self.config, now_ms)

    @storing
    def apply_retention(self) -> int:
        """Delete segments that exceed the retention time or size, or are below the log start. Return their number.

        The log start offset rises to the first remaining segment. If all segments expire, a new one is rolled first.
        """
        deleted = 0
        config = self.retention_config
        for reason in retention.reasons(config):
            expired = retention.deletable(
                self.segments,
                config,
                reason,
                log_start_offset=self.log_start_offset,
                high_watermark=self.high_watermark,
                log_end_offset=self.log_end_offset,
                now_ms=self.local.environment.clock.now_ms(),
            )
            if expired and self.local.tier is not None:
                expired = self._copied(expired)
            if expired:
                deleted += len(expired)
                self._delete_oldest(expired, reason)
        return deleted

    @property
    def copies_segments(self) -> bool:
        """Whether segments are copied to remote storage. Until then, retention does not delete them."""
        return self.local.tier is not None and not self.config.remote_log_copy_disable

    @property
    def retention_config(self) -> LogConfig:
        """The configuration by which retention deletes local segments."""
        return self.config.of_local_tier() if self.copies_segments else self.config

    def _copied(self, expired: list[Segment]) -> list[Segment]:
        """Return the first expired segments that retention may delete: those in remote storage, and those below the log
        start offset. An expired active segment is rolled, so that it can be copied (UnifiedLog.deletableSegments)."""
        if expired[-1] is self.segments.active:
            self.roll()
        if not self.copies_segments:
            return expired
        assert self.local.tier is not None
        bound = max(self.local.tier.end_offset, self.log_start_offset)
        ends = [following.base_offset for each in expired if (following := self.segments.higher(each.base_offset))]
        return [each for each, end in zip(expired, ends, strict=True) if end <= bound]

    def _use_tier(self) -> None:
        """Read from remote storage, or not any longer, depending on the configuration."""
        tier_of = self.local.environment.tier_of
        if tier_of is None or not self.config.is_tiered:
            self.local.tier = None
        elif self.local.tier is None:
            self.local.tier = tier_of(self)

    def _delete_oldest(self, expired: list[Segment], reason: retention.Reason) -> None:
        self.abort_cleaning()
        if len(expired) == len(self.segments):
            self.roll()
        first_left = self.segments.higher(expired[-1].base_offset)
        assert first_left is not None, f"{self.name} would have no segment left"
        if not self.copies_segments:
            self.maybe_increment_log_start_offset(first_left.base_offset)
        self.local.delete_segments(expired, reason.value)
        self._drop_snapshots(expired)

    def _drop_snapshots(self, segments: list[Segment]) -> None:
        self.producers.snapshots.remove_all(segment.base_offset for segment in segments)

    # Configuration and files

    def reconfigure(self, config: LogConfig) -> None:
        """Replace the configuration. The active segment keeps its jitter and the maximum size of its indexes."""
        if self.config.is_compacted and not config.is_compacted:
            self.abort_cleaning()
        self.local.config = config
        self._use_tier()
        if self.local.tier is None and self._log_start_offset < self.segments.first.base_offset:
            self.maybe_increment_log_start_offset(self.segments.first.base_offset)
        self.epochs.reconfigure(supported=config.record_version == 2)
        self._update_first_unstable()

    @storing
    def flush(self, *, also_empty: bool = False) -> None:
        """Flush everything to disk.

        With `also_empty`, which is used before `close`, this includes an empty active segment, the entry that `close`
        would add to the time index, and recovered segments.

        A log that never had records is not flushed: if the power fails, it is empty in any case.
        """
        local, end = self.local, self.log_end_offset
        local.environment.flusher.collect()
        offset = end + 1 if also_empty and end and self.segments.active.is_modified else end
        if offset > self.recovery_point:
            self.epochs.write_records(end)
            if also_empty:
                self.segments.active.complete_time_index()
            local.flush(offset)
            local.mark_flushed(end)

    def flush_in_background(self) -> None:
        """Flush everything to disk in another thread; the recovery point moves afterwards. Raises StorageFailed."""
        self.failures.check()
        try:
            self.epochs.write_records(self.log_end_offset)
            self.local.flush_in_background(self.log_end_offset)
        except OSError as error:
            raise self.failures.answer(error) from error

    def flush_if_due(self) -> None:
        """Flush everything to disk if the last flush was at least `flush.ms` ago."""
        if self.local.environment.clock.now_ms() - self.local.flushed_ms >= self.config.flush_ms:
            self.flush()

    def moved(self, directory: str) -> None:
        """Update the paths after the directory was renamed."""
        self.local.moved(directory)
        self.epochs.moved(directory)
        self.producers.snapshots.directory = directory

    @storing
    def close(self) -> None:
        """Write everything to the files and close them, so that the log opens without recovery."""
        self.write_topic_id()
        self.epochs.write_records(self.log_end_offset)
        self.producers.take_snapshot()
        self.local.close()

    def release(self) -> None:
        """Close the descriptors without writing anything."""
        self.local.release()
