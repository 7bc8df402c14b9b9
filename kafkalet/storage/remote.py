"""Remote storage: a folder with copies of segments, laid out as by Kafka's LocalTieredStorage (KIP-405).

    kafka-tiered-storage/
        topic-0-ECAoTBj6Q1aJJWVYEs4PzA/                               topic, partition, topic id
            00000000000000000042-M0PTlNXTQiSvBnRZ1LPhzw.log           start offset, id of the remote segment
            ... .index .timeindex .txnindex .snapshot .leader_epoch_checkpoint

The files of a segment are those of a log, so a remote segment is read as a `Segment`. There is no .txnindex without
aborted transactions. The snapshot has the producers at the end of the segment; the checkpoint has all leader epochs
before that.

A `RemoteSegment` is what the metadata says about a segment; a `Tier` has the remote segments of one log.

Source: org.apache.kafka.server.log.remote.storage.RemoteLogSegmentFileset and RemoteLogManager.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from enum import IntEnum
from typing import NamedTuple, Protocol

from kafkalet.clock import Clock
from kafkalet.formats import SNAPSHOT_SUFFIX, epochs_bytes, uuid_text

from .checkpoints import read_epochs
from .config import LogConfig
from .epochs import EpochEntry, LeaderEpochs
from .files import Files, make_directories
from .index import IndexPool
from .producer_entry import ProducerEntry
from .producer_snapshot import decode as decode_snapshot
from .producers import ProducerStates
from .segment import SUFFIXES, Segment, file_name
from .segments import Segments

FOLDER = "kafka-tiered-storage"
EPOCHS_SUFFIX = ".leader_epoch_checkpoint"
OPTIONAL = ".txnindex"
"""The suffix of the file that a segment may lack."""


class State(IntEnum):
    """The states of a remote segment (RemoteLogSegmentState)."""

    COPY_SEGMENT_STARTED = 0
    COPY_SEGMENT_FINISHED = 1
    DELETE_SEGMENT_STARTED = 2
    DELETE_SEGMENT_FINISHED = 3


class TieredLog(Protocol):
    """What remote storage has to know of a log."""

    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> bytes | None: ...

    @property
    def partition(self) -> int: ...

    @property
    def config(self) -> LogConfig: ...

    @property
    def epochs(self) -> LeaderEpochs: ...

    @property
    def producers(self) -> ProducerStates: ...

    @property
    def log_end_offset(self) -> int: ...


class RemoteSegment(NamedTuple):
    """The metadata of a remote segment (RemoteLogSegmentMetadata)."""

    id: bytes
    start_offset: int
    end_offset: int
    """The offset of the last record; segments may end with a gap, which belongs to them."""
    max_timestamp_ms: int
    size_bytes: int
    epochs: Mapping[int, int]
    """The leader epochs of its records, with the offsets at which they start in the segment."""
    state: State = State.COPY_SEGMENT_STARTED

    def is_in_lineage_of(self, log: TieredLog) -> bool:
        """Return whether these are records of the log, and not of a replica that was truncated afterwards
        (RemoteLogManager.isRemoteSegmentWithinLeaderEpochs)."""
        known, own = with_records(log.epochs.entries), with_records(sorted(self.epochs.items()))
        if self.end_offset >= log.log_end_offset or not known or not own:
            return False
        first, last = min(known), max(known)
        own = {epoch: offset for epoch, offset in own.items() if epoch >= first}
        if not own or max(own) > last:
            return False
        ends = dict(zip(known, [*list(known.values())[1:], log.log_end_offset], strict=True))
        bounds = [*list(own.values())[1:], self.end_offset + 1]
        for number, ((epoch, offset), end) in enumerate(zip(own.items(), bounds, strict=True)):
            if epoch not in known or end > ends[epoch] or (epoch > first and offset < known[epoch]):
                return False
            if number < len(own) - 1 and end != ends[epoch]:
                return False
        return True


def with_records(entries: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the start offsets of leader epochs, without the epochs that have no records."""
    ordered = list(entries)
    following = [*ordered[1:], (0, -1)]
    return {epoch: start for (epoch, start), (_, end) in zip(ordered, following, strict=False) if start != end}


class RemoteStore:
    """The folder with the remote segments of all topics, in the directory `path`."""

    def __init__(self, path: str, clock: Clock, *, durable: bool) -> None:
        self.path = os.path.join(path, FOLDER)
        self._clock = clock
        self._files = Files(durable=durable)
        self._index_pool = IndexPool()

    def _stem(self, log: TieredLog, segment: RemoteSegment) -> str:
        """Return the path of the files of a segment, without their suffixes."""
        assert log.topic_id is not None, f"{log.name} has no topic id"
        folder = os.path.join(self.path, f"{log.name}-{uuid_text(log.topic_id)}")
        return os.path.join(folder, file_name(segment.start_offset, f"-{uuid_text(segment.id)}"))

    def copy(self, log: TieredLog, local: Segment, remote: RemoteSegment) -> None:
        """Copy a segment that takes no appends anymore. If that fails, no file is left. Raises OSError."""
        stem = self._stem(log, remote)
        following = remote.end_offset + 1
        epochs = [entry for entry in log.epochs.entries if entry.start_offset < following]
        sources = [*local.paths, log.producers.snapshots.path(following)]
        local.write()
        make_directories(os.path.dirname(stem), self._files.system)
        try:
            for path, suffix in zip(sources, (*SUFFIXES, SNAPSHOT_SUFFIX), strict=True):
                with suppress(FileNotFoundError) if suffix == OPTIONAL else nullcontext():
                    self._files.copy(path, stem + suffix)
            self._files.replace(stem + EPOCHS_SUFFIX, epochs_bytes(epochs))
            self._files.sync_directory(os.path.dirname(stem))
        except OSError:
            self.delete(log, remote)
            raise

    def delete(self, log: TieredLog, remote: RemoteSegment) -> None:
        """Delete the files of a segment; it does not matter if some are missing. Raises OSError."""
        stem = self._stem(log, remote)
        for suffix in (*SUFFIXES, SNAPSHOT_SUFFIX, EPOCHS_SUFFIX):
            with suppress(FileNotFoundError):
                self._files.system.unlink(stem + suffix)

    def open(self, log: TieredLog, remote: RemoteSegment) -> Segment:
        """Open a segment for reading. Raises OSError."""
        directory, stem = os.path.split(self._stem(log, remote))
        start, files = remote.start_offset, self._files
        segment = Segment(directory, start, log.config, files, self._index_pool, self._clock, new=False, stem=stem)
        segment.modified_ms = remote.max_timestamp_ms  # for segments without timestamps
        return segment

    def epochs(self, log: TieredLog, remote: RemoteSegment) -> list[EpochEntry]:
        """Return the leader epochs up to the end of a segment. Raises CorruptCheckpoint."""
        return [EpochEntry(*entry) for entry in read_epochs(self._files, self._stem(log, remote) + EPOCHS_SUFFIX)]

    def producers(self, log: TieredLog, remote: RemoteSegment) -> list[ProducerEntry]:
        """Return the producers at the end of a segment. Raises OSError, CorruptSnapshot."""
        return decode_snapshot(self._files.read_all(self._stem(log, remote) + SNAPSHOT_SUFFIX))


class Tier:
    """The remote segments of one log. The log reads from them what is below its first local segment."""

    __slots__ = ("_end_offset", "_known", "_opened", "_segments", "_valid", "_valid_for", "log", "store")

    def __init__(self, log: TieredLog, store: RemoteStore, known: Callable[[], Mapping[bytes, RemoteSegment]]) -> None:
        """`known` returns the metadata of all remote segments of the partition, as another object after a change."""
        self.log = log
        self.store = store
        self._known = known
        self._end_offset = 0
        self._valid_for: tuple[object, ...] = ()
        self._valid: list[RemoteSegment] = []
        self._segments: Segments | None = None
        self._opened: dict[bytes, Segment] = {}

    @property
    def known(self) -> list[RemoteSegment]:
        """The metadata of all segments, whatever their state, in the order of their offsets."""
        return sorted(self._known().values(), key=_start_offset)

    @property
    def valid(self) -> list[RemoteSegment]:
        """The segments that have been copied and belong to the log, in the order of their offsets."""
        known, epochs = self._known(), self.log.epochs.entries
        if not self._valid_for or self._valid_for[0] is not known or self._valid_for[1] != epochs:
            copied = [each for each in self.known if each.state is State.COPY_SEGMENT_FINISHED]
            self._valid = [each for each in copied if each.is_in_lineage_of(self.log)]
            self._segments, self._valid_for = None, (known, epochs)
        return self._valid

    @property
    def end_offset(self) -> int:
        """The offset after the last one that has been in remote storage, or 0 (highestOffsetInRemoteStorage)."""
        self._end_offset = max([self._end_offset, *(each.end_offset + 1 for each in self.valid)])
        return self._end_offset

    @property
    def segments(self) -> Segments:
        """The segments that can be read."""
        valid = self.valid
        if self._segments is None:
            opened = self._opened
            self._opened = {each.id: opened.get(each.id) or self.store.open(self.log, each) for each in valid}
            self._segments = Segments()
            for segment in self._opened.values():
                self._segments.add(segment)
        return self._segments

    def state_at(self, offset: int) -> tuple[Sequence[EpochEntry], Sequence[ProducerEntry]]:
        """Return the leader epochs and the producers of the records before `offset`, where a remote segment ends."""
        for each in self.valid:
            if each.end_offset + 1 == offset:
                return self.store.epochs(self.log, each), self.store.producers(self.log, each)
        return (), ()


def _start_offset(segment: RemoteSegment) -> int:
    return segment.start_offset
