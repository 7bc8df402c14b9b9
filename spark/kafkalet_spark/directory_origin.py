"""Log directories as the origin of records. No broker needs to be running, and a running one is not disturbed.

Splits begin at the start of a segment or at an offset index entry, and are at most `maxBytesPerTask` long. Bytes after
the last complete batch of a log become a separate split, so that a batch query reports them as unreadable. If the file
has grown since it was listed, a broker is writing to it and the bytes are ignored; streams always ignore such bytes.

A missing or corrupt index is an error in FAILFAST mode. In the other modes, the log itself is scanned instead.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

import numpy as np

from .decoding.aborted import AbortedTransactions, abort_markers
from .decoding.chunks import Chunk, read_chunks
from .filters import Pushed
from .logs.directory import PartitionLog, find, open_partition
from .logs.ends import log_end, log_end_offset
from .logs.planning import plan
from .logs.splits import Piece, Split, renewed
from .logs.timestamps import EARLIEST, LATEST, TimestampSearch
from .logs.transactions import aborted_transactions, last_stable_offset
from .option_types import BadOption
from .options import ReadOptions, TopicPartition
from .origin import PartitionRange
from .positions import DataLoss

_LOG = logging.getLogger(__name__)

EARLIEST_LOCAL = -4
"""Special timestamp for the first offset in local storage (KIP-405). In a directory, that is the log start offset."""
LATEST_TIERED = -5
"""Special timestamp for the last offset in tiered storage (KIP-1005). A directory has no tiered storage."""

CHUNK_BYTES = 8 << 20
"""How many bytes of a file a task holds in memory; more if a single batch is larger."""


class DirectoryOrigin:
    """Reads log directories in the state that they are in when the object is created."""

    def __init__(self, options: ReadOptions, *, streaming: bool = False) -> None:
        self._options = options
        self._streaming = streaming
        self._lenient = options.mode != "FAILFAST"
        self._topics: set[str] = set()
        """All topics in the directories, including those that are not read."""

        def wanted(topic: str, partition: int) -> bool:
            self._topics.add(topic)
            return options.topics.contain(topic, partition)

        logs = find(options.paths, lenient=self._lenient, wanted=wanted)
        self.logs = {(log.topic, log.partition): log for log in logs}

    def partitions(self) -> list[TopicPartition]:
        topics = self._options.topics
        named = set(topics.names or ()) | {topic for topic, _ in topics.assigned or ()}
        if absent := named - self._topics:
            raise BadOption(f"{', '.join(self._options.paths)} has no topic {', '.join(sorted(absent))}")
        return sorted(self.logs)

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: self.logs[key].log_start_offset for key in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: self._end(self.logs[key]) for key in partitions}

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        ends = self.latest(list(timestamps_ms))
        found: dict[TopicPartition, int | None] = {}
        for key, at in timestamps_ms.items():
            if at == LATEST:
                found[key] = ends[key]
            elif at in (EARLIEST, EARLIEST_LOCAL):
                found[key] = self.logs[key].log_start_offset
            elif at == LATEST_TIERED:
                found[key] = None
            else:
                found[key] = self._search(key, at, ends[key])
        return found

    def _search(self, key: TopicPartition, timestamp_ms: int, end: int) -> int | None:
        try:
            answer = TimestampSearch(self.logs[key], lenient=self._lenient).offset_for(timestamp_ms)
        except ValueError as error:
            raise BadOption(f"{key[0]}-{key[1]}: {error}") from None
        return answer[0] if answer is not None and answer[0] < end else None

    def splits(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> list[Split]:
        wanted = [each for each in ranges if pushed.admits((each.topic, each.partition))]
        asked = []
        for each in wanted:
            start, end = pushed.within(each.start, each.end)
            if start < end:
                asked.append((self.logs[each.topic, each.partition], start, end))
        found = plan(
            asked,
            max_bytes=self._options.max_bytes_per_task,
            max_records=self._options.max_records_per_partition,
            min_splits=self._options.min_partitions,
            not_before_ms=pushed.not_before_ms,
            lenient=self._lenient,
        )
        return found if self._streaming else [*found, *self._tails(wanted, pushed)]

    def _tails(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> Iterator[Split]:
        """Yield a split for the bytes after the last complete batch of each log that is read to its end."""
        for each in ranges:
            log = self.logs[each.topic, each.partition]
            end = log_end(log, lenient=self._lenient)
            if end.fault is None or each.end < end.offset or pushed.within(each.start, end.offset)[1] < end.offset:
                continue
            size = log.segments[-1].size
            if os.stat(end.path).st_size == size:
                tail = Piece(end.path, end.position, size, True)
                yield Split(log.topic, log.partition, end.offset, end.offset, (tail,), size - end.position)

    def _end(self, log: PartitionLog) -> int:
        end = (last_stable_offset if self._options.committed else log_end_offset)(log, lenient=self._lenient)
        if self._options.up_to == "highWatermark":
            end = min(end, max(log.high_watermark or 0, log.log_start_offset))
        return end


def file_chunks(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """Read the chunks of a split from its files.

    Raises CorruptFile for a corrupt transaction index in FAILFAST mode, and DataLoss if segments were deleted since the
    split was planned, unless failOnDataLoss=false.
    """
    with _Loss(split, options):
        split = renewed(split, lenient=options.mode != "FAILFAST")
    hiding = None
    if options.committed and split.pieces and split.start_offset < split.end_offset:
        with _Loss(split, options):
            hiding = Hiding(split, options)
        if hiding is None:  # The whole log was deleted.
            return
    for piece in split.pieces:
        with _Loss(split, options):
            for chunk in read_chunks(piece.path, piece.start, piece.end, chunk_bytes=CHUNK_BYTES):
                if hiding is not None:
                    hiding.check(chunk)
                yield chunk if hiding is None else chunk._replace(aborted=hiding.aborted)


class _Loss:
    """A context manager that turns FileNotFoundError into DataLoss, or into a warning if failOnDataLoss=false."""

    def __init__(self, split: Split, options: ReadOptions) -> None:
        self._offsets = f"offsets between {split.start_offset} and {split.end_offset}"
        self._fails = options.fail_on_data_loss

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, FileNotFoundError):
            return False
        loss = f"{error.filename} was deleted before {self._offsets} could be read"
        if self._fails:
            raise DataLoss(f"{loss}; set failOnDataLoss=false to read the remaining records") from error
        _LOG.warning("%s", loss)
        return True


class Hiding:
    """The aborted transactions of a split according to the transaction indexes. They are hidden under read_committed.

    A missing index cannot be detected directly, because a segment without aborted transactions has none. In FAILFAST
    mode, `check` verifies every ABORT marker that is not in the index; in the other modes, the markers are verified
    before the split is read.
    """

    def __init__(self, split: Split, options: ReadOptions) -> None:
        self._lenient = options.mode != "FAILFAST"
        self._log = open_partition(os.path.dirname(split.pieces[0].path), lenient=self._lenient)
        self.aborted = self._between(split.start_offset, split.end_offset, verify=self._lenient)

    def check(self, chunk: Chunk) -> None:
        """Raise CorruptFile if the transaction of an ABORT marker is missing from its index."""
        if self._lenient:
            return
        batches = chunk.batches.take(abort_markers(chunk.buffer, chunk.batches))
        unknown = batches.base_offset[~np.isin(batches.base_offset, self.aborted.last_offset)]
        if unknown.size:
            self._between(int(unknown[0]), int(unknown[-1]) + 1, verify=True)

    def _between(self, start: int, end: int, *, verify: bool) -> AbortedTransactions:
        return aborted_transactions(self._log, start, end, lenient=self._lenient, verify=verify)
