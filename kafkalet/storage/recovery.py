"""Opens the log in a directory (Kafka's LogLoader).

First, files of interrupted deletions and compactions are cleaned up, by suffix:

    .deleted    being deleted: delete it
    .tmp        was to replace a checkpoint or a snapshot: delete it
    .cleaned    an unfinished compaction: delete it, and the .swap files at or above its offset
    .swap       a finished compaction: it replaces the segments it covers

Then the segments are opened. After a clean shutdown, nothing else is needed. After a crash, every segment from the
recovery point onwards is read: its indexes are rebuilt, and everything after its last complete and valid entry is
truncated; if anything was truncated, the later segments are deleted. A segment without an index file, or with an
invalid transaction index, is always recovered in this way. Finally the leader epochs are truncated to the log, and the
producer states are rebuilt up to the log end.

If the leader epoch file is invalid, the epochs are read from the entries. Files whose names do not belong to a log are
ignored, and so is everything that is not a regular file.

All damage is logged with the file name and position.
"""

import contextlib
import errno
import logging
import os
from collections.abc import Callable, Iterator, Sequence

from kafkalet.formats import CLEANED, DELETED, SWAP
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch

from .checkpoints import CorruptCheckpoint, read_topic_id
from .config import LogConfig
from .environment import LogEnvironment
from .epochs import EpochEntry, LeaderEpochs
from .file_system import FileSystem
from .index import OutOfOrder
from .local_log import LocalLog, segment_of
from .log import Log
from .producers import ProducerStates
from .replay import rebuild_producers
from .segment import SUFFIXES, Segment
from .segments import Segments
from .txn_index import CorruptTransactionIndex

_LOG = logging.getLogger(__name__)

TEMPORARY = ".tmp"
NAME_DIGITS = 20
MAX_OFFSET = (1 << 63) - 1
BYTES_BETWEEN_LOOKS = 1 << 20
"""How many bytes are recovered before the next check whether the broker is stopping."""

_OpenSegment = Callable[[int, str], Segment]


class LogDamaged(Exception):
    """The log cannot be opened. The message names the file, and the position if known."""


class OffsetOverflow(LogDamaged):
    """An offset is too far above the base offset of its segment.

    Compaction could produce such segments before Kafka 2.0 (KAFKA-6264).
    """


def create_log(
    directory: str, topic: str, partition: int, topic_id: bytes | None, config: LogConfig, environment: LogEnvironment
) -> Log:
    """Create an empty log and its directory. Without durability, the directory is created with the first write.

    On OSError, nothing is left behind.
    """
    if environment.files.durable:
        environment.files.system.make_directory(directory)
    try:
        segments = Segments()
        local = _local_log(directory, config, segments, environment, 0)
        epochs = LeaderEpochs(environment.files, directory, supported=config.record_version == 2, new=True)
        producers = ProducerStates(directory, environment.files)
        log = Log(topic, partition, topic_id, local, epochs, producers, 0, topic_id_is_written=False)
        if environment.files.durable:
            log.write_topic_id()
    except OSError:
        environment.files.system.remove_tree(directory)
        raise
    return log


def open_log(
    directory: str,
    topic: str,
    partition: int,
    topic_id: bytes | None,
    config: LogConfig,
    environment: LogEnvironment,
    *,
    clean: bool,
    log_start_offset: int = 0,
    recovery_point: int = 0,
) -> Log:
    """Open the log in `directory`.

    `clean` means that all logs were closed when the broker last stopped. The two offsets come from the checkpoints.
    Raises LogDamaged and OSError, leaving no descriptors open.
    """
    opening = _LogLoader(directory, config, environment, clean, log_start_offset, recovery_point)
    try:
        return opening.open(topic, partition, topic_id)
    except (KafkaError, OutOfOrder, CorruptTransactionIndex) as error:
        opening.release()
        raise LogDamaged(error.message if isinstance(error, KafkaError) else str(error)) from error
    except BaseException:
        opening.release()
        raise


def _local_log(
    directory: str, config: LogConfig, segments: Segments, environment: LogEnvironment, base_offset: int
) -> LocalLog:
    """Return a log with these segments, or a new one if there are none. Its log end offset is not set yet."""
    if not len(segments):
        segments.add(segment_of(environment, directory, base_offset, config, new=True))
    return LocalLog(directory, config, segments, 0, segments.active.base_offset, environment)


class _LogLoader:
    """The state of a log while it is being opened."""

    def __init__(
        self,
        directory: str,
        config: LogConfig,
        environment: LogEnvironment,
        clean: bool,
        log_start_offset: int,
        recovery_point: int,
    ) -> None:
        self.directory = directory
        self.config = config
        self.environment = environment
        self.clean = clean
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point
        self.segments = Segments()
        try:
            self.epochs = LeaderEpochs(environment.files, directory, supported=config.record_version == 2)
            self._epochs_are_lost = False
        except CorruptCheckpoint as error:
            _LOG.error("%s; reading the leader epochs from the log", error)
            self.epochs = LeaderEpochs(environment.files, directory, supported=config.record_version == 2, new=True)
            self._epochs_are_lost = True
        self.producers = ProducerStates(directory, environment.files)

    def release(self) -> None:
        """Close the descriptors."""
        for segment in self.segments:
            segment.release()

    def open(self, topic: str, partition: int, topic_id: bytes | None) -> Log:
        tidy(self.directory, self._segment, self.environment.files.system)
        self._open_segments()
        if self._epochs_are_lost:
            self._read_epochs()
        if not self.clean:
            self._recover_from_recovery_point()
        end_offset = self._end_offset()
        local = _local_log(self.directory, self.config, self.segments, self.environment, self.log_start_offset)
        self.segments.active.begin_appends(self.config)
        local.update_end(end_offset)
        local.recovery_point = end_offset if self.clean else min(self.recovery_point, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)
        start = max(self.log_start_offset, self.segments.first.base_offset)
        if not self.clean:
            self._restore_epochs(start, end_offset)
        self.producers.snapshots.remove_stray(self.segments.base_offsets)
        self._rebuild(self.producers, start, end_offset, after_clean_shutdown=self.clean)
        with contextlib.suppress(OSError):  # the epochs stay in memory and are written before the recovery point moves
            if self.clean:
                self.epochs.write_records(end_offset)
            else:
                self.epochs.write()
        written_id = self._written_topic_id()
        return Log(
            topic,
            partition,
            topic_id or written_id,
            local,
            self.epochs,
            self.producers,
            self.log_start_offset,
            topic_id_is_written=written_id is not None,
        )

    def _segment(self, base_offset: int, suffix: str = "") -> Segment:
        return segment_of(self.environment, self.directory, base_offset, self.config, new=False, suffix=suffix)

    def _written_topic_id(self) -> bytes | None:
        try:
            return read_topic_id(self.environment.files, self.directory)
        except CorruptCheckpoint as error:
            _LOG.warning("%s; it will be rewritten", error)
            return None

    def _open_segments(self) -> None:
        """Open all segments, and rebuild missing or invalid indexes."""
        system = self.environment.files.system
        names = set(system.names(self.directory))
        without_index = []
        for name in sorted(names):
            stem, suffix = os.path.splitext(name)
            path = os.path.join(self.directory, name)
            if suffix not in SUFFIXES:
                continue
            if not _is_offset(stem):
                _LOG.warning("ignoring %s, which is not a file of this log", path)
                continue
            self.environment.check_interrupted()
            if suffix == ".log":
                if system.is_directory(path):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
                segment = self._segment(int(stem))
                self.segments.add(segment)
                if stem + ".index" not in names or (stem + ".txnindex" in names and _has_bad_transactions(segment)):
                    without_index.append(segment)
            elif stem + ".log" not in names and system.is_file(path):
                _LOG.warning("deleting %s, which has no .log file", path)
                system.unlink(path)
        to_be_recovered = set() if self.clean else set(self._unflushed())
        for segment in without_index:
            if segment not in to_be_recovered:
                _LOG.error("%s has no valid index, rebuilding it", segment.path)
                self._recover(segment)

    def _read_epochs(self) -> None:
        """Read the leader epochs from the entries."""
        for segment in self.segments:
            self.environment.check_interrupted()
            with contextlib.suppress(KafkaError):  # corruption is handled by the recovery of the segment
                for _, head in segment.heads():
                    _add_epoch(self.epochs, head)

    def _restore_epochs(self, start: int, end_offset: int) -> None:
        """Read the epochs of the first records again if they are missing. They are if the log start offset had moved
        beyond these records, and had not been saved before the crash."""
        earliest = self.epochs.earliest
        end = end_offset if earliest is None else min(earliest.start_offset, end_offset)
        found: list[EpochEntry] = []
        for segment in self.segments.between(start, end) if start < end else ():
            with contextlib.suppress(KafkaError):  # corruption below the recovery point
                for _, head in segment.heads():
                    if head.base_offset >= end:
                        break
                    epoch = head.leader_epoch if head.magic >= 2 and head.last_offset >= start else -1
                    if epoch > (found[-1].epoch if found else -1):
                        found.append(EpochEntry(epoch, max(head.base_offset, start)))
        self.epochs.restore(found)

    def _unflushed(self) -> list[Segment]:
        """Return the segments with records at or above the recovery point."""
        first = self.segments.floor(self.recovery_point)
        return ([first] if first is not None else []) + list(self.segments.higher_ones(self.recovery_point))

    def _recover_from_recovery_point(self) -> None:
        unflushed = self._unflushed()
        if unflushed and unflushed[0].base_offset == self.recovery_point > self.segments.first.base_offset:
            # The last entry of its time index was written after the flush that the recovery point stands for.
            with contextlib.suppress(KafkaError):  # the log is corrupt below the recovery point
                self.segments.between(self.recovery_point - 1, self.recovery_point)[0].check_time_index()
        for at, segment in enumerate(unflushed):
            _LOG.info("recovering %s", segment.path)
            if self._recover(segment, unflushed[at + 1 :]):
                segment.sync_truncation()
                break

    def _recover(self, segment: Segment, later: Sequence[Segment] = ()) -> int:
        """Rebuild the indexes of a segment. Return the number of bytes truncated after the last valid entry.

        If the segment is truncated, the `later` ones are deleted first, from the last one on. If the recovery is
        interrupted, the next one thus finds the same end of the log.
        """
        producers = ProducerStates(self.directory, self.environment.files)
        # Snapshots below the first segment are left over. The markers of the transactions in them may have been
        # deleted.
        start = max(self.log_start_offset, self.segments.first.base_offset - 1)
        self._rebuild(producers, start, segment.base_offset)
        try:
            dropped = _recover_segment(
                segment,
                producers,
                self.epochs,
                self.environment.recovered,
                lambda: self._delete(later[::-1], f"{segment.path} is corrupt"),
            )
        except OutOfOrder as error:
            _LOG.warning("cannot recover %s, truncating it to zero: %s", segment.path, error)
            self._delete(later[::-1], f"{segment.path} is corrupt")
            return segment.truncate_to(segment.base_offset)
        producers.try_to_take_snapshot()
        return dropped

    def _rebuild(
        self, producers: ProducerStates, start: int, end_offset: int, *, after_clean_shutdown: bool = False
    ) -> None:
        rebuild_producers(
            producers,
            self.segments,
            start,
            end_offset,
            self.config,
            self.environment.clock.now_ms(),
            after_clean_shutdown=after_clean_shutdown,
        )

    def _end_offset(self) -> int:
        """Return the log end offset. If it is below the log start offset, delete all segments."""
        if len(self.segments):
            end_offset = self.segments.active.next_offset()
            if end_offset >= self.log_start_offset:
                return end_offset
            self._delete(
                list(self.segments),
                f"files are missing: the log ends at {end_offset}, below its start offset {self.log_start_offset}",
            )
            self.epochs.clear()
            self.producers.truncate_fully_and_start_at(self.log_start_offset)
        return self.log_start_offset

    def _delete(self, segments: Sequence[Segment], reason: str) -> None:
        if not segments:
            return
        _LOG.warning("%s: deleting %s because %s", self.directory, segments, reason)
        for segment in segments:
            self.segments.remove(segment)
            self.producers.snapshots.remove(segment.base_offset)
            segment.release()
            segment.remove()
        self.environment.files.sync_directory(self.directory)  # before anything is appended in their place


def _recover_segment(
    segment: Segment,
    producers: ProducerStates,
    epochs: LeaderEpochs,
    recovered: Callable[[int], None] = lambda count: None,
    before_truncation: Callable[[], None] = lambda: None,
) -> int:
    """Read a whole segment, rebuild its indexes and truncate it after the last valid entry (LogSegment.recover).

    Updates `epochs`, and `producers`, which must have the state at the segment's base offset. Return the number of
    bytes removed. Raises OffsetOverflow; OutOfOrder if offsets do not increase.
    """
    segment.clear_indexes()
    good_bytes = 0
    try:
        for position, batch in _counted(segment.entries(), recovered):
            batch.check_crc()
            _index(segment, position, batch)
            good_bytes = position + batch.size
            if batch.magic >= 2:
                _replay(batch, segment, producers, epochs)
    except KafkaError as error:
        _LOG.warning("%s is corrupt at position %d: %s", segment.path, good_bytes, error.message)
    dropped = segment.size_bytes - good_bytes
    if dropped:
        _LOG.warning("%s: removing the last %d bytes, from position %d on", segment.path, dropped, good_bytes)
        before_truncation()
        segment.cut(good_bytes)
    segment.complete_indexes()
    return dropped


def _counted(entries: Iterator[tuple[int, Batch]], recovered: Callable[[int], None]) -> Iterator[tuple[int, Batch]]:
    """Pass entries on, and call `recovered` with the number of bytes from time to time and at the end."""
    counted_bytes = end = 0
    for position, batch in entries:
        if position - counted_bytes >= BYTES_BETWEEN_LOOKS:
            recovered(position - counted_bytes)
            counted_bytes = position
        yield position, batch
        end = position + batch.size
    recovered(end - counted_bytes)


def _index(segment: Segment, position: int, batch: Batch) -> None:
    last_offset = batch.last_offset
    if not segment.offset_index.can_hold(last_offset):
        raise OffsetOverflow(f"{segment.path} holds offset {last_offset} at {position}")
    segment.note(position, batch.size, last_offset, batch.max_timestamp, last_offset)


def _replay(batch: Batch, segment: Segment, producers: ProducerStates, epochs: LeaderEpochs) -> None:
    """Restore the leader epoch, the producer state and the aborted transaction that follow from a batch."""
    _add_epoch(epochs, batch)
    if batch.has_producer_id:
        for aborted in producers.replay([batch]):
            segment.txn_index.append(aborted)
    producers.end_offset = batch.last_offset + 1


def _add_epoch(epochs: LeaderEpochs, batch: Batch) -> None:
    """Add the leader epoch of an entry if it is higher than the latest one."""
    latest = epochs.latest_epoch
    if batch.magic >= 2 and batch.leader_epoch >= 0 and (latest is None or batch.leader_epoch > latest):
        epochs.note(batch.leader_epoch, batch.base_offset)


def _has_bad_transactions(segment: Segment) -> bool:
    """Return whether the transaction index is invalid for this segment. The last marker must be in the log."""
    index = segment.txn_index
    try:
        index.check()
        if len(index):
            segment.check_marker(index.last_offset)
    except CorruptTransactionIndex as error:
        _LOG.warning("%s", error)
        return True
    except KafkaError as error:  # the log itself is corrupt, so the index cannot be checked
        _LOG.error("%s", error.message)
    return False


def tidy(directory: str, open_segment: _OpenSegment, system: FileSystem) -> None:
    """Finish or undo interrupted deletions and compactions (the passes before loading in LogLoader.load)."""
    names = [name for name in system.names(directory) if system.is_file(os.path.join(directory, name))]
    for name in [*_ending(names, DELETED), *_ending(names, TEMPORARY)]:
        _unlink(directory, name, system)
    cleaned = [name for name in _ending(names, CLEANED) if _has_offset(name, directory)]
    swaps = [name for name in _ending(names, SWAP) if _has_offset(name, directory)]
    if cleaned:
        first_cleaned = min(_offset_of(name) for name in cleaned)
        for name in [name for name in swaps if _offset_of(name) >= first_cleaned]:
            swaps.remove(name)
            _unlink(directory, name, system)
        for name in cleaned:
            _unlink(directory, name, system)
    if swaps:
        _swap_in(directory, swaps, open_segment, system)


def _swap_in(directory: str, swaps: list[str], open_segment: _OpenSegment, system: FileSystem) -> None:
    logs = [open_segment(_offset_of(name), SWAP) for name in swaps if name.endswith(".log" + SWAP)]
    if logs:
        first, end = min(log.base_offset for log in logs), max(_end_of(log) for log in logs)
        for log in logs:
            _LOG.info("%s replaces the segments it was compacted from", log.path)
            log.release()
        for name in system.names(directory):
            stem = name.split(".")[0]
            if not name.endswith(SWAP) and _is_offset(stem) and first <= int(stem) < end:
                _unlink(directory, name, system)
    for name in swaps:
        system.rename(os.path.join(directory, name), os.path.join(directory, name.removesuffix(SWAP)))


def _end_of(segment: Segment) -> int:
    """Return the offset after the last complete entry, whatever follows it."""
    end = segment.base_offset
    with contextlib.suppress(KafkaError):
        for _, head in segment.heads():
            end = head.next_offset
    return end


def _ending(names: list[str], suffix: str) -> list[str]:
    return [name for name in names if name.endswith(suffix)]


def _is_offset(stem: str) -> bool:
    """Return whether `stem` is the name of a log file: an offset in twenty digits."""
    return len(stem) == NAME_DIGITS and stem.isascii() and stem.isdecimal() and int(stem) <= MAX_OFFSET


def _has_offset(name: str, directory: str) -> bool:
    named = _is_offset(name.split(".")[0])
    if not named:
        _LOG.warning("ignoring %s, which is not a file of this log", os.path.join(directory, name))
    return named


def _offset_of(name: str) -> int:
    return int(name.split(".")[0])


def _unlink(directory: str, name: str, system: FileSystem) -> None:
    path = os.path.join(directory, name)
    _LOG.info("deleting %s, left by an interrupted deletion or compaction", path)
    system.unlink(path)
