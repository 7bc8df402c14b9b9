"""Where records are read from: log directories, or a live broker. Both answer the same questions.

An `Origin` is asked on the driver, and only there: which partitions there are, where they begin and end, where a
timestamp lies, and how ranges are cut into splits. What a task gets is a split, which is small and can be pickled;
read, it is a sequence of chunks (decoding/chunks.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from .filters import Pushed
from .live.reading import LiveSplit
from .logs.splits import Split
from .options import TopicPartition


class PartitionRange(NamedTuple):
    """Offsets of a partition, from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


AnySplit = LiveSplit | Split
"""Offsets of a partition that one task reads, from `start_offset` to before `end_offset`."""


class Origin(Protocol):
    """What the driver asks."""

    def partitions(self) -> list[TopicPartition]:
        """Return those that the options choose and that exist, in order. Raises for topics that do not exist."""
        ...

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The log start offsets."""
        ...

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Where reading ends: the last stable offset if only what is committed is read, else the end."""
        ...

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the offset that ListOffsets answers: of the first record at or after the timestamp, if there is one.

        Negative timestamps have the meaning that they have there: -1 is latest, -2 earliest.
        """
        ...

    def splits(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> Sequence[AnySplit]:
        """The ranges, cut for tasks, without what cannot fulfil the conditions of the query."""
        ...
