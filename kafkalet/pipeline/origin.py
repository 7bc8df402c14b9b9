"""Where records are read from: log directories, or a live broker. Both answer the same questions.

An `Origin` is asked on the driver, and only there: which partitions there are, where they begin and end, where a
timestamp lies, and how a range is cut into splits. What a task gets is a split, which is small and can be pickled,
and `parts` reads it: pieces of a log, as bytes and as the columns of their batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .decoding.batches import Batches
from .decoding.chunks import Problem, read_chunks
from .live.broker import LiveBroker
from .live.reading import LiveSplit, read_live
from .logs.directory import PartitionLog, find
from .logs.ends import aborted_transactions, last_stable_offset, log_end_offset
from .logs.splits import Split
from .logs.timestamps import offset_for
from .options import EARLIEST, LATEST, ReadOptions, TopicPartition

if TYPE_CHECKING:
    from .filters import Pushed

AnySplit = Split | LiveSplit


class Range(NamedTuple):
    """Offsets of a partition, from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


class Aborted(NamedTuple):
    """Transactions that were aborted, in columns: whose, and from which offset to which."""

    producer_id: NDArray[np.int64]
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]


class Part(NamedTuple):
    """A piece of a log: `buffer` with its batches; `aborted` if they are to be hidden; what could not be read."""

    where: str
    """The file, or the broker and the partition."""
    position: int
    """Where `buffer` begins in the file."""
    buffer: bytes | bytearray | memoryview
    batches: Batches
    aborted: Aborted | None
    problems: Sequence[Problem]


class Origin(Protocol):
    """What the driver asks."""

    def partitions(self) -> list[TopicPartition]: ...
    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]: ...
    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]: ...
    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]: ...
    def splits(self, ranges: Sequence[Range], pushed: Pushed) -> Sequence[AnySplit]: ...


def origin_of(options: ReadOptions) -> Origin:
    """The directories, or the broker, that the options name."""
    return BrokerOrigin(options) if options.live else DirectoryOrigin(options)


def parts(split: AnySplit, options: ReadOptions) -> Iterator[Part]:
    """The pieces of a split, in the order of the log."""
    return _parts_of_broker(split, options) if isinstance(split, LiveSplit) else _parts_of_files(split, options)
