"""Read a range of a live partition as buffers with their batches, as `read_chunks` does for a file.

    LiveSplit(topic, partition, start_offset, end_offset)     is small and is sent to a task
    for fetched in read_live(split, bootstrap_servers, properties): ...

Guarantees:

* Every entry that holds an offset of the split is in exactly one `Fetched`, in log order. A fetch from the middle of a
  batch returns the whole batch, and the last batch may extend past the end of the split: **the caller must drop the
  records of `fetched.batches` outside of [start_offset, end_offset).** Control batches are included and, with
  read_committed, so are aborted transactions, together with the data to identify them (`aborted`).
* The split is complete as soon as no more of its offsets can be returned. If the log was compacted, offsets may be
  missing, even the last ones.
* A batch with a bad checksum is returned as a problem instead of a batch. After an entry with an impossible size,
  nothing more is returned.
* If the log ends before the split does, the reader waits for `default.api.timeout.ms`, then raises OffsetOutOfRange
  with the log's current offsets.

The next request is sent before a response is yielded, so that the broker and the network are busy while the caller
decodes. Each response has its own buffer; the caller may keep the buffer and views of it. Two of these buffers are held
in memory, each of about `max.partition.fetch.bytes`, or one batch if that is larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafkalet.clock import Clock
from kafkalet_spark.decoding.aborted import AbortedTransactions
from kafkalet_spark.decoding.batches import Batches, scan
from kafkalet_spark.decoding.chunks import Problem, with_right_checksums
from kafkalet_spark.decoding.exactly import Unreadable

from .aborted_transactions import aborted_in
from .broker import LiveBroker
from .fetching import FetchAnswer, PartitionFetcher


class LiveSplit(NamedTuple):
    """The offsets of a partition from `start_offset` up to but not including `end_offset`."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int


class Fetched(NamedTuple):
    """A part of a split: the entries in `buffer`, with one row in `batches` for each."""

    buffer: bytearray
    batches: Batches
    aborted: AbortedTransactions | None
    """The aborted transactions, whose records are to be skipped; None with read_uncommitted."""
    problems: tuple[Problem, ...]
    """The data that could not be read. In each problem, `path` names the topic, partition and broker, and `position` is
    relative to `buffer`."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


def read_live(
    split: LiveSplit,
    bootstrap_servers: str,
    properties: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
) -> Iterator[Fetched]:
    """Read a split. The properties, including `isolation.level`, are passed to `LiveBroker`.

    Raises OffsetOutOfRange if the log does not have the offsets, and the same exceptions as LiveBroker.
    """
    if split.start_offset < split.end_offset:
        with (
            LiveBroker(bootstrap_servers, properties, clock=clock) as broker,
            closing(PartitionFetcher(broker, split.topic, split.partition)) as fetcher,
        ):
            yield from _Reader(split, broker, fetcher, f"{split.topic}-{split.partition} of {bootstrap_servers}").read()


class _Reader:
    """Reads a split, and keeps track of the next offset to read."""

    def __init__(self, split: LiveSplit, broker: LiveBroker, fetcher: PartitionFetcher, path: str) -> None:
        self._fetcher = fetcher
        self._path = path
        self._settings = broker.settings
        self._patience = broker.patience()
        self._offset = split.start_offset
        self._end_offset = split.end_offset

    def read(self) -> Iterator[Fetched]:
        self._fetcher.ask(self._offset)
        while self._offset < self._end_offset:
            answer = self._fetcher.answer()
            fetched = self._take(answer)
            if self._offset < self._end_offset:
                self._fetcher.ask(self._offset)
            if fetched.batches.position.size or fetched.problems:
                yield fetched

    def _take(self, answer: FetchAnswer) -> Fetched:
        """Return the part of a response that is new and belongs to the split, and advance the next offset past it."""
        batches, _, unreadable = scan(answer.buffer, answer.start, answer.end)
        aborted = None
        if self._settings.isolation_level == "read_committed":
            aborted = aborted_in(answer.buffer, batches, answer.aborted)
        new = batches.take(batches.last_offset >= self._offset)
        problems: list[Problem] = []
        if new.position.size:
            taken = new.take(_begins_before(self._end_offset, new))
            if self._settings.check_crcs:
                taken, wrong = with_right_checksums(self._path, 0, answer.buffer, taken)
                problems += wrong
            self._offset = int(new.last_offset[-1]) + 1
            self._patience.begin_again()
        else:
            taken = new
            if unreadable is not None:
                at = unreadable.position
                base_offset = int.from_bytes(answer.buffer[at : at + 8], "big", signed=True)
                problems.append(Problem(self._path, at, unreadable.size, unreadable.reason, base_offset))
                self._offset = self._end_offset
            elif answer.end > answer.start:
                reason = f"it has no record at or after offset {self._offset}"
                raise Unreadable(answer.start, answer.end - answer.start, reason)
            elif not self._patience.pause():
                raise self._fetcher.out_of_range()
        return Fetched(answer.buffer, taken, aborted, tuple(problems), *answer[-3:])


def _begins_before(end_offset: int, batches: Batches) -> npt.NDArray[np.bool_]:
    """Mark the entries that may hold an offset below the end.

    The header of a format 2 batch gives its first offset. The header of a compressed message of an older format does
    not: its first offset may be as low as the offset after the previous entry.
    """
    behind = np.append(end_offset - 1, batches.last_offset[:-1] + 1)  # the first entry may begin anywhere
    return np.where(batches.magic > 1, batches.base_offset, behind) < end_offset
