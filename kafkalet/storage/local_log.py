"""The segments of a log as one sequence of entries: append, read, roll, truncate, flush (Kafka's LocalLog).

Two offsets belong here. The log end offset is the next one to be given out; it is known with its place. The recovery
point is the offset below which everything has been forced to the disk: after a crash, only what lies above it is
checked. Who may see which offsets is decided in log.py.

    recovery_point <= end.offset

Segments leave in two steps: at once for readers, and from the disk after `file.delete.delay.ms`; in between their
files are called *.deleted. Should the process end before, opening the directory deletes them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from kafkalet.protocol.errors import Code, KafkaError

from .checkpoints import LEADER_EPOCHS, PARTITION_METADATA
from .config import LogConfig
from .failures import Failures
from .files import Buffer, Descriptor, descriptors
from .ground import Ground
from .segment import DELETED, SUFFIXES, Segment, file_name
from .segments import Segments
from .values import AbortedTransaction, LogOffsetMetadata, ReadResult

_log = logging.getLogger(__name__)


class LocalLog:
    """The segments in `directory`. At least one is there at any time."""

    __slots__ = (
        "_submitted",
        "_truncations",
        "config",
        "directory",
        "end",
        "failures",
        "flushed_ms",
        "ground",
        "recovery_point",
        "segments",
    )

    def __init__(
        self,
        directory: str,
        config: LogConfig,
        segments: Segments,
        recovery_point: int,
        end_offset: int,
        ground: Ground,
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.recovery_point = recovery_point
        self.ground = ground
        self.failures = Failures(os.path.basename(directory), ground.clock.now_ms)
        self.flushed_ms = ground.clock.now_ms()
        """When the recovery point was last moved."""
        self._submitted = 0
        """Up to here the flusher has been told to force everything."""
        self._truncations = 0
        """How often something was cut off at the end."""
        self.end = LogOffsetMetadata(end_offset, segments.active.base_offset, segments.active.size_bytes)

    @contextmanager
    def all_or_offline(self) -> Iterator[None]:
        """An OSError in here leaves the files as nobody knows them: the log goes offline."""
        try:
            yield
        except OSError as error:
            self.failures.take_offline(error)
            raise

    def update_end(self, offset: int) -> None:
        """The next offset is `offset`, and the active segment ends there."""
        active = self.segments.active
        self.end = LogOffsetMetadata(offset, active.base_offset, active.size_bytes)
        self.recovery_point = min(self.recovery_point, offset)

    # -- append and roll

    def append(self, data: Buffer, last_offset: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Write entries at the end of the active segment, which must be able to hold them."""
        active = self.segments.active
        active.append(data, last_offset, max_timestamp, offset_of_max_timestamp)
        self.end = LogOffsetMetadata(last_offset + 1, active.base_offset, active.size_bytes)

    def roll(self, expected_next_offset: int = 0) -> Segment:
        """Begin a new segment at the log end, or at `expected_next_offset` where that is larger.

        If that fails the active segment goes on taking appends.
        """
        base_offset = max(expected_next_offset, self.end.offset)
        active = self.segments.active
        if base_offset == active.base_offset and active.size_bytes == 0:
            # An index without room for a single entry counts as full, so even an empty segment is rolled (KAFKA-6388).
            segment = self._replace_active(base_offset)
        elif base_offset <= active.base_offset:
            raise AssertionError(f"{self.directory}: a new segment at {base_offset}, but the last begins at {active}")
        else:
            self._delete_strays(base_offset)
            active.end_appends()
            try:
                segment = self._new_segment(base_offset)
            except OSError:
                active.begin_appends(self.config)
                raise
            self.segments.add(segment)
        self.update_end(self.end.offset)
        return segment

    def _new_segment(self, base_offset: int) -> Segment:
        """A new and empty segment, which is not part of the log yet."""
        ground = self.ground
        return Segment(
            self.directory, base_offset, self.config, ground.files, ground.index_pool, ground.clock, new=True
        )

    def _replace_active(self, base_offset: int) -> Segment:
        """Delete the last segment and begin a new one in its stead; the log is never without a segment."""
        old = self.segments.active
        with self.all_or_offline():
            if base_offset == old.base_offset:
                old.rename(DELETED)
            segment = self._new_segment(base_offset)
            self.segments.add(segment)
            if base_offset != old.base_offset:
                self.segments.remove(old)
                old.rename(DELETED)
        self._delete_later([old])
        return segment

    def _delete_strays(self, base_offset: int) -> None:
        for suffix in SUFFIXES:
            path = os.path.join(self.directory, file_name(base_offset, suffix))
            if os.path.exists(path):
                _log.warning("%s exists although a new segment begins there; it is deleted", path)
                os.unlink(path)

    # -- read

    def read(
        self, offset: int, max_bytes: int, at_least_one: bool, limit: LogOffsetMetadata, with_aborted: bool
    ) -> ReadResult:
        """What lies from the entry on that holds `offset`, up to `limit` and the end of its segment.

        See `Segment.read`. Raises KafkaError(OFFSET_OUT_OF_RANGE) for an offset behind the log end or before the first
        segment.
        """
        segment = self.segments.floor(offset)
        if offset > self.end.offset or segment is None:
            raise KafkaError(
                Code.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {os.path.basename(self.directory)}, "
                f"but we only have log segments up to {self.end.offset}.",
            )
        nothing: list[AbortedTransaction] | None = [] if with_aborted else None
        if offset == limit.offset:
            return ReadResult(limit, b"", aborted=nothing)
        if offset > limit.offset:
            return ReadResult(self.offset_metadata(offset), b"", aborted=nothing)
        while segment is not None:
            found = segment.read(offset, max_bytes, _readable_bytes(segment, limit), at_least_one)
            if found is not None:
                return found._replace(aborted=self._aborted(offset, segment, found)) if with_aborted else found
            # a hole at the end of the segment: compaction or a follower's gap
            segment = self.segments.higher(segment.base_offset)
        return ReadResult(self.end, b"", aborted=nothing)

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """The place of an offset, found in the log. Raises as `read`."""
        return self.read(offset, 1, False, self.end, False).position

    def entry_metadata(self, place: LogOffsetMetadata) -> LogOffsetMetadata:
        """The first offset of the entry at that place, if there is one, with the place."""
        segment = self.segments.get(place.segment_base_offset)
        if segment is None or place.offset_only or place.offset >= self.end.offset:
            return place
        for _, head in segment.heads(place.position):
            return place._replace(offset=head.base_offset)
        return place

    def _aborted(self, offset: int, segment: Segment, found: ReadResult) -> list[AbortedTransaction]:
        """The aborted transactions that a reader of `found` has to know.

        They are searched up to an offset that is surely behind what was read, not to its last: a client may get more
        than it needs (LocalLog.addAbortedTransactions).
        """
        upper_bound = segment.offset_index.upper_bound(found.position.position + len(found.records))
        if upper_bound is None:
            higher = self.segments.higher(segment.base_offset)
            upper_bound = higher.base_offset if higher is not None else self.end.offset
        return self.aborted_transactions(offset, upper_bound, segment)

    def aborted_transactions(self, offset: int, upper_bound: int, first: Segment) -> list[AbortedTransaction]:
        """The transactions that reach into `offset` to `upper_bound`, from the indexes of `first` and its followers."""
        search = first.txn_index.collect(offset, upper_bound)
        aborted = search.aborted
        if not search.complete:
            for segment in self.segments.higher_ones(first.base_offset):
                search = segment.txn_index.collect(offset, upper_bound)
                aborted += search.aborted
                if search.complete:
                    break
        return aborted

    # -- truncate and delete

    def truncate_to(self, offset: int) -> list[Segment]:
        """Drop everything from `offset` on. Returns the segments that are gone as a whole."""
        self._truncations += 1
        self._submitted = 0
        gone = [segment for segment in self.segments if segment.base_offset > offset]
        with self.all_or_offline():
            self.delete_segments(gone, "the log was truncated")
            self.segments.active.truncate_to(offset)
            self.segments.active.begin_appends(self.config)
        self.update_end(offset)
        return gone

    def truncate_fully_and_start_at(self, offset: int) -> list[Segment]:
        """Drop everything and go on at `offset`. Returns the segments that are gone."""
        self._truncations += 1
        self._submitted = 0
        gone = list(self.segments)
        self.delete_segments(gone[:-1], "the log was truncated")
        self._replace_active(offset)
        self.update_end(offset)
        return gone

    def delete_segments(self, segments: Iterable[Segment], reason: str) -> None:
        """Take segments out of the log, which must keep one, and delete their files later."""
        segments = list(segments)
        if not segments:
            return
        _log.info("%s: deleting %s because %s", self.directory, segments, reason)
        with self.all_or_offline():
            for segment in segments:
                self.segments.remove(segment)
                segment.rename(DELETED)
        self._delete_later(segments)

    def _delete_later(self, segments: list[Segment]) -> None:
        def delete() -> None:
            for segment in segments:
                segment.remove()

        for segment in segments:
            segment.release()
        self.ground.deletions.later(self.directory, self.config.file_delete_delay_ms, delete)

    # -- files

    def flush(self, offset: int) -> None:
        """Force the segments that hold anything from the recovery point up to `offset` (exclusive) to the disk."""
        to_be_forced = self._to_be_forced(self.recovery_point, offset)
        with ExitStack() as stack, self.all_or_offline():
            for descriptor in to_be_forced:
                stack.callback(descriptor.close)
            for descriptor in to_be_forced:
                descriptor.force()

    def flush_soon(self, offset: int) -> None:
        """The same beside the event loop; the recovery point moves to `offset` when that is done."""
        start, truncations = max(self.recovery_point, self._submitted), self._truncations
        descriptors = self._to_be_forced(start, offset)
        if not descriptors:
            self.mark_flushed(offset)
            return

        def done(error: OSError | None) -> None:
            if error is not None:
                self.failures.take_offline(error)
            # Not if something was cut off since, nor if what lies before could not be forced.
            elif self._truncations == truncations and self.recovery_point >= start:
                self.mark_flushed(offset)

        self._submitted = offset
        self.ground.flusher.submit(self.directory, descriptors, done)

    def _to_be_forced(self, start: int, end: int) -> list[Descriptor]:
        """Bring to their files the segments that hold anything from `start` up to `end` (exclusive).

        Returns descriptors of all their files, of those beside them, and of the directory.
        """
        unflushed = self.segments.between(start, end)
        for segment in unflushed:
            segment.write()
        if not self.ground.files.durable or not unflushed:
            return []
        paths = [path for segment in unflushed for path in segment.paths]
        paths += [os.path.join(self.directory, name) for name in (LEADER_EPOCHS, PARTITION_METADATA)]
        return descriptors([*paths, self.directory])

    def mark_flushed(self, offset: int) -> None:
        """Everything below `offset` is on the disk."""
        if offset > self.recovery_point:
            self.recovery_point = offset
            self.flushed_ms = self.ground.clock.now_ms()

    def moved(self, directory: str) -> None:
        """The directory has another name now."""
        self.directory = directory
        for segment in self.segments:
            segment.moved(directory)

    def close(self) -> None:
        for segment in self.segments:
            segment.close()

    def release(self) -> None:
        """Give the descriptors back without writing anything."""
        for segment in self.segments:
            segment.release()


def _readable_bytes(segment: Segment, limit: LogOffsetMetadata) -> int | None:
    """Up to which position `limit` lets a reader see a segment; None: it must see nothing, or we cannot say."""
    if segment.base_offset < limit.segment_base_offset:
        return segment.size_bytes
    if segment.base_offset == limit.segment_base_offset and not limit.offset_only:
        return limit.position
    return None
