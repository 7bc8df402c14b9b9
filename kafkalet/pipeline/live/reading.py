"""A stretch of a live partition, as buffers with their batches: what chunks are to a file.

    LiveSplit(topic, partition, start_offset, end_offset)     small, to be sent to a task
    for fetched in read_live(split, bootstrap_servers, properties): ...

What is kept:

* Every entry that holds an offset of the split is in exactly one `Fetched`; they come in the order of the log. A fetch
  from the middle of a batch is answered with the whole batch, and the last one may go on behind the end: **the records
  of `fetched.batches` outside of [start_offset, end_offset) are for the caller to drop.** Control batches are among
  them, and under read_committed what was aborted, with what it takes to tell (`aborted`).
* The end of the split is reached when no later offset of it can come: offsets may be missing, also the last ones, where
  a log was compacted.
* A batch with a wrong CRC is a problem and not among the batches; after an entry with an impossible size, nothing is.
* Where the log ends too early, it is waited for, `default.api.timeout.ms` long; then OffsetOutOfRange says what it has.

The next request is on its way before an answer is handed out, so that the broker and the network work while the caller
decodes. Each answer has a buffer of its own, which may be kept, and views of it too. Two of them, of about
`max.partition.fetch.bytes` (or one batch, if that is larger), are what this needs of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafkalet.clock import Clock
from kafkalet.pipeline.decoding.aborted import AbortedTransactions
from kafkalet.pipeline.decoding.batches import Batches, scan
from kafkalet.pipeline.decoding.chunks import Problem, with_right_checksums
from kafkalet.pipeline.decoding.exactly import Unreadable

from .aborted_transactions import aborted_in
from .broker import LiveBroker
from .fetching import FetchAnswer, PartitionFetcher


class LiveSplit(NamedTuple):
    """Offsets of a partition from `start_offset` to before `end_offset`."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int


class Fetched(NamedTuple):
    """A part of a split: entries in `buffer`, one row of `batches` for each."""

    buffer: bytearray
    batches: Batches
    aborted: AbortedTransactions | None
    """Which transactions not to show; None under read_uncommitted."""
    problems: tuple[Problem, ...]
    """What could not be read; its `path` names topic, partition and broker, its `position` is one of `buffer`."""
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
    """Read a split; the properties are those of `LiveBroker`, `isolation.level` among them.

    Raises OffsetOutOfRange where the log does not have it, and what LiveBroker raises.
    """
    if split.start_offset < split.end_offset:
        with (
            LiveBroker(bootstrap_servers, properties, clock=clock) as broker,
            closing(PartitionFetcher(broker, split.topic, split.partition)) as fetcher,
        ):
            yield from _Reader(split, broker, fetcher, f"{split.topic}-{split.partition} of {bootstrap_servers}").read()


class _Reader:
    """Where the reading of a split is: everything before `offset` was handed out."""

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
        """What of an answer is new and belongs to the split; `offset` moves behind it."""
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
                reason = f"it has nothing at offset {self._offset} or behind it"
                raise Unreadable(answer.start, answer.end - answer.start, reason)
            elif not self._patience.pause():
                raise self._fetcher.out_of_range()
        return Fetched(answer.buffer, taken, aborted, tuple(problems), *answer[-3:])


def _begins_before(end_offset: int, batches: Batches) -> npt.NDArray[np.bool_]:
    """Which entries may hold an offset before the end.

    Format 2 says where it begins; a wrapper of the older formats begins at the earliest behind the entry before it.
    """
    behind = np.append(end_offset - 1, batches.last_offset[:-1] + 1)  # the first of an answer may begin anywhere
    return np.where(batches.magic > 1, batches.base_offset, behind) < end_offset
