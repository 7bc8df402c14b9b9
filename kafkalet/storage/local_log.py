"""The segments of a log as one sequence of entries: append, read, roll, truncate, flush (Kafka's LocalLog).

A local log has two offsets. The log end offset is the next offset to assign; its position is always known. The recovery
point is the offset below which everything has been flushed to disk: after a crash, only records above it are checked.
log.py decides which offsets are visible to readers.

    recovery_point <= end.offset

Segments are deleted in two steps: they are immediately removed from the log, and their files, renamed to *.deleted, are
removed after `file.delete.delay.ms`. If the process ends before that, they are removed when the directory is opened.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kafkalet.formats import CLEANED, DELETED, LEADER_EPOCHS, PARTITION_METADATA, SWAP
from kafkalet.protocol.errors import Code, KafkaError

from .config import LogConfig
from .environment import LogEnvironment
from .failures import Failures
from .files import Buffer, Descriptor
from .segment import SUFFIXES, Segment, file_name
from .segments import Segments
from .values import AbortedTransaction, LogOffsetMetadata, ReadResult

if TYPE_CHECKING:  # imported only with tiered storage
    from .remote import Tier

_LOG = logging.getLogger(__name__)

DELETED_PER_MS = 20
"""How many segments of a log are deleted per millisecond. More would delay the requests of clients."""


class LocalLog:
    """The segments in `directory`. There is always at least one."""

    __slots__ = (
        *("_is_listed", "_submitted", "_truncations", "closed", "config", "directory", "end", "environment"),
        *("failures", "flushed_ms", "recovery_point", "segments", "tier"),
    )

    def __init__(
        self,
        directory: str,
        config: LogConfig,
        segments: Segments,
        recovery_point: int,
        end_offset: int,
        environment: LogEnvironment,
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.recovery_point = recovery_point
        self.environment = environment
        self.failures = Failures(os.path.basename(directory), environment.clock.now_ms, environment.files.on_failure)
        self.flushed_ms = environment.clock.now_ms()
        """The time at which the recovery point last changed."""
        self._submitted = 0
        """The offset up to which flushes have been submitted to the flusher."""
        self._truncations = 0
        """The number of truncations so far."""
        self.closed: set[int] = set()
        """The base offsets of segments that were closed and not flushed since. Closing adds an entry to the time index,
        which recovery would not restore if the records are below the recovery point."""
        self._is_listed = False
        """Whether the name of `directory` is known to be on disk."""
        self.end = LogOffsetMetadata(end_offset, segments.active.base_offset, segments.active.size_bytes)
        self.tier: Tier | None = None
        """The remote segments, which are read where the log has no segments of its own (anymore)."""

    @contextmanager
    def offline_on_error(self) -> Iterator[None]:
        """Take the log offline if the block raises OSError, because the state of the files is then unknown."""
        try:
            yield
        except OSError as error:
            self.failures.take_offline(error)
            raise

    def update_end(self, offset: int) -> None:
        """Set the log end offset to `offset`; its position is the end of the active segment."""
        active = self.segments.active
        self.end = LogOffsetMetadata(offset, active.base_offset, active.size_bytes)
        self.recovery_point = min(self.recovery_point, offset)

    # Append and roll

    def append(self, data: Buffer, last_offset: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Append entries to the active segment, which must have room for them."""
        active = self.segments.active
        active.append(data, last_offset, max_timestamp, offset_of_max_timestamp)
        self.end = LogOffsetMetadata(last_offset + 1, active.base_offset, active.size_bytes)

    def roll(self, expected_next_offset: int = 0) -> Segment:
        """Roll to a new segment at the log end, or at `expected_next_offset` if that is larger.

        On failure, the active segment continues to take appends.
        """
        base_offset = max(expected_next_offset, self.end.offset)
        active = self.segments.active
        if base_offset == active.base_offset and active.size_bytes == 0:
            # An index without room for a single entry counts as full, so even an empty segment is rolled (KAFKA-6388).
            segment = self._replace_active(base_offset)
        elif base_offset <= active.base_offset:
            raise AssertionError(f"{self.directory}: cannot roll to {base_offset}, the last segment is {active}")
        else:
            self._delete_strays(base_offset)
            active.end_appends()
            self.closed.add(active.base_offset)
            try:
                segment = self._new_segment(base_offset)
            except OSError:
                active.begin_appends(self.config)
                raise
            self.segments.add(segment)
        self.update_end(self.end.offset)
        return segment

    def _new_segment(self, base_offset: int) -> Segment:
        """Create an empty segment that is not part of the log yet."""
        return segment_of(self.environment, self.directory, base_offset, self.config, new=True)

    def _replace_active(self, base_offset: int) -> Segment:
        """Replace the last segment by a new one; the log always has a segment."""
        old = self.segments.active
        with self.offline_on_error():
            old.rename(DELETED)  # first: the new segment may begin within the old one
            segment = self._new_segment(base_offset)
            self.segments.add(segment)
            if base_offset != old.base_offset:
                self.segments.remove(old)
        self.delete_later([old])
        return segment

    def _delete_strays(self, base_offset: int) -> None:
        for suffix in SUFFIXES:
            path = os.path.join(self.directory, file_name(base_offset, suffix))
            if self.environment.files.system.exists(path):
                _LOG.warning("deleting %s, which already exists where a new segment begins", path)
                self.environment.files.system.unlink(path)

    # Read

    def read(
        self, offset: int, max_bytes: int, at_least_one: bool, limit: LogOffsetMetadata, with_aborted: bool
    ) -> ReadResult:
        """Read from the entry that contains `offset`, up to `limit` and the end of its segment.

        See `Segment.read`. Raises KafkaError(OFFSET_OUT_OF_RANGE) for an offset past the log end or before the first
        segment.
        """
        segment = self.segments.floor(offset)
        if segment is None and self.tier is not None:
            segment = self.tier.segments.floor(offset)
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
            # The rest of the segment has no entries: compaction removed them, or a follower's log has a gap.
            segment = self._higher(segment)
        return ReadResult(self.end, b"", aborted=nothing)

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Look up the position of an offset. Raises the same errors as `read`."""
        return self.read(offset, 1, False, self.end, False).position

    def entry_metadata(self, place: LogOffsetMetadata) -> LogOffsetMetadata:
        """Return the first offset of the entry at this position; if there is no such entry, return `place`."""
        segment = self.segments.get(place.segment_base_offset)
        if segment is None or place.offset_only or place.offset >= self.end.offset:
            return place
        for _, head in segment.heads(place.position):
            return place._replace(offset=head.base_offset)
        return place

    def _aborted(self, offset: int, segment: Segment, found: ReadResult) -> list[AbortedTransaction]:
        """Return the aborted transactions for a reader that gets `found`.

        The search ends at an offset above everything that was read, but not always at the lowest such offset, so a
        client may get more transactions than it needs (LocalLog.addAbortedTransactions).
        """
        upper_bound = segment.offset_index.upper_bound(found.position.position + len(found.records))
        if upper_bound is None:
            higher = self._higher(segment)
            upper_bound = higher.base_offset if higher is not None else self.end.offset
        return self.aborted_transactions(offset, upper_bound, segment)

    def _higher(self, segment: Segment) -> Segment | None:
        """Return the next segment, which may be a remote one."""
        if self.tier is not None and segment.base_offset < self.segments.first.base_offset:
            higher = self.tier.segments.higher(segment.base_offset)
            if higher is not None and higher.base_offset < self.segments.first.base_offset:
                return higher
        return self.segments.higher(segment.base_offset)

    def aborted_transactions(self, offset: int, upper_bound: int, first: Segment) -> list[AbortedTransaction]:
        """Return the transactions that overlap `offset` to `upper_bound`, searching from segment `first` onwards."""
        search = first.txn_index.collect(offset, upper_bound)
        aborted = search.aborted
        if not search.complete:
            segment: Segment | None = first
            while segment is not None and (segment := self._higher(segment)) is not None:
                search = segment.txn_index.collect(offset, upper_bound)
                aborted += search.aborted
                if search.complete:
                    break
        return aborted

    # Truncate and delete

    def truncate_to(self, offset: int) -> list[Segment]:
        """Remove everything from `offset` onwards. Return the segments that were removed completely."""
        self._truncations += 1
        self._submitted = 0
        gone = [segment for segment in self.segments if segment.base_offset > offset]
        with self.offline_on_error():
            # Last first: if the process ends in between, the segments that are left have no gap.
            self.delete_segments(reversed(gone), "the log was truncated")
            self.segments.active.truncate_to(offset)
            self.segments.active.begin_appends(self.config)
            self.segments.active.sync_truncation()
        self.update_end(offset)
        return gone

    def truncate_fully_and_start_at(self, offset: int) -> list[Segment]:
        """Remove all segments and continue at `offset`. Return the removed segments."""
        self._truncations += 1
        self._submitted = 0
        gone = list(self.segments)
        self.delete_segments(gone[:-1], "the log was truncated")
        self._replace_active(offset)
        self.update_end(offset)
        return gone

    def delete_segments(self, segments: Iterable[Segment], reason: str) -> None:
        """Remove segments from the log, which must keep at least one, and delete their files later.

        They are not back after the loss of power: nothing recovers them if the recovery point is above them.
        """
        segments = list(segments)
        if not segments:
            return
        _LOG.info("%s: deleting %s because %s", self.directory, segments, reason)
        with self.offline_on_error():
            for segment in segments:
                self.segments.remove(segment)
                segment.rename(DELETED)
            self.environment.files.sync_directory(self.directory)
        self.delete_later(segments)

    def replace_segments(self, new: Segment, old: list[Segment]) -> Replacement:
        """Replace adjacent segments by `new`, which has the base offset of the first one. Its files end with .cleaned.

        Readers see the new segment at once. The caller has to rename the old files with the result, and to sync the
        directory. If the process ends before the last rename, the replacement is completed when the log is opened
        (LocalLog.replaceSegments).
        """
        system = self.environment.files.system
        if any(system.exists(segment.path + DELETED) for segment in old):
            # Segments at these offsets were replaced before. Delete them first: readers can then still use them.
            self.environment.deletions.hurry(self.directory)
        with self.offline_on_error():
            new.change_suffix(CLEANED, SWAP)
        self.segments.replace(old, new)
        return Replacement(self, new, old)

    def delete_later(self, segments: list[Segment]) -> None:
        """Close segments that are not part of the log anymore, and delete their files later."""
        for segment in segments:
            segment.release()
        delay_ms = self.config.file_delete_delay_ms
        for number, segment in enumerate(segments):
            self.environment.deletions.later(self.directory, delay_ms + number // DELETED_PER_MS, segment.remove)

    # Files

    def flush(self, offset: int) -> None:
        """Flush the segments with records between the recovery point and `offset` (exclusive)."""
        to_flush = self._descriptors_to_flush(min(self.recovery_point, *self.closed, offset), offset)
        with ExitStack() as stack, self.offline_on_error():
            for descriptor in to_flush:
                stack.callback(descriptor.close)
            for descriptor in to_flush:
                descriptor.force()
        self._is_listed |= bool(to_flush)
        self.closed.clear()

    def flush_in_background(self, offset: int, more: Iterable[str] = ()) -> None:
        """Flush in another thread, with the files `more`; the recovery point moves to `offset` afterwards."""
        start, truncations, closed = max(self.recovery_point, self._submitted), self._truncations, set(self.closed)
        descriptors = self._descriptors_to_flush(min(start, *closed, offset), offset, more)
        if not descriptors:
            self.mark_flushed(offset)
            self.closed.clear()
            return

        def done(error: OSError | None) -> None:
            if error is not None:
                self.failures.take_offline(error)
            # This requires that the log has not been truncated since, and that everything before `start` is flushed.
            elif self._truncations == truncations and self.recovery_point >= start:
                self.mark_flushed(offset)
            if error is None:
                self._is_listed = True
                self.closed -= closed

        self._submitted = offset
        self.environment.flusher.submit(self.directory, descriptors, done)

    def _descriptors_to_flush(self, start: int, end: int, more: Iterable[str] = ()) -> list[Descriptor]:
        """Write the segments with records from `start` to `end` (exclusive) to their files.

        Return descriptors of their files, of the checkpoints beside them, and of the directory. The first time, also
        return one of its parent directory.
        """
        unflushed = self.segments.between(start, end)
        for segment in unflushed:
            segment.write()
        if not self.environment.files.durable or not unflushed:
            return []
        paths = [path for segment in unflushed for path in segment.paths]
        paths += [os.path.join(self.directory, name) for name in (LEADER_EPOCHS, PARTITION_METADATA)]
        paths += [*more, self.directory]
        if not self._is_listed:
            paths.append(os.path.dirname(self.directory))
        return self.environment.files.descriptors(paths)

    def mark_flushed(self, offset: int) -> None:
        """Raise the recovery point: everything below `offset` is on disk."""
        if offset > self.recovery_point:
            self.recovery_point = offset
            self.flushed_ms = self.environment.clock.now_ms()

    def moved(self, directory: str) -> None:
        """Update the paths after the directory was renamed."""
        self.directory = directory
        for segment in self.segments:
            segment.moved(directory)

    def close(self) -> None:
        for segment in self.segments:
            segment.close()

    def release(self) -> None:
        """Close the descriptors without writing anything."""
        for segment in self.segments:
            segment.release()


def segment_of(
    environment: LogEnvironment, directory: str, base_offset: int, config: LogConfig, *, new: bool, suffix: str = ""
) -> Segment:
    """Create or open a segment with the files, the clock and the index memory of its data directory."""
    return Segment(
        directory,
        base_offset,
        config,
        environment.files,
        environment.index_pool,
        environment.clock,
        new=new,
        suffix=suffix,
    )


class Replacement:
    """Segments that have been replaced in memory, and whose files must be renamed.

    The directory should be synced before the first `set_aside`, before `finish` and after it: otherwise, if the machine
    crashes, a later rename may be on disk without an earlier one.
    """

    def __init__(self, log: LocalLog, new: Segment, old: list[Segment]) -> None:
        self._log = log
        self._new = new
        self._old = old
        self._set_aside = 0
        self._is_finished = False

    def set_aside(self) -> bool:
        """Rename the files of the next old segment to .deleted. Return False if there is none."""
        if self._set_aside == len(self._old):
            return False
        with self._log.offline_on_error():
            self._old[self._set_aside].rename(DELETED)
        self._set_aside += 1
        return True

    def finish(self) -> None:
        """Give the new segment its final names, and delete the old files later."""
        if not self._is_finished:
            with self._log.offline_on_error():
                self._new.change_suffix(SWAP, "")
            self._is_finished = True
            self._log.delete_later(self._old)

    def complete(self) -> None:
        """Do the remaining steps, because the log is about to change."""
        if not self._is_finished:
            files, directory = self._log.environment.files, self._log.directory
            while self.set_aside():
                pass
            with self._log.offline_on_error():
                if files.durable:
                    files.sync_directory(directory)
            self.finish()


def _readable_bytes(segment: Segment, limit: LogOffsetMetadata) -> int | None:
    """Return where a segment ends for readers with this limit; None if they see nothing, or if this is unknown."""
    if segment.base_offset < limit.segment_base_offset:
        return segment.size_bytes
    if segment.base_offset == limit.segment_base_offset and not limit.offset_only:
        return limit.position
    return None
