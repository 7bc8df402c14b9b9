"""The interface of the two origins of records: log directories and a live broker.

An `Origin` is used only on the driver. It lists partitions, looks up their first and last offsets and the offsets for
timestamps, and divides ranges into splits. A task receives one split, which is small and can be pickled, and reads it
as a sequence of chunks (decoding/chunks.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from .filters import Pushed
from .live.reading import LiveSplit
from .logs.splits import Split
from .options import TopicPartition


class PartitionRange(NamedTuple):
    """The offsets of a partition from `start` to `end` (exclusive)."""

    topic: str
    partition: int
    start: int
    end: int


AnySplit = LiveSplit | Split
"""The offsets of a partition that one task reads, from `start_offset` to `end_offset` (exclusive)."""


class Origin(Protocol):
    """A source of partitions, offsets and splits."""

    def partitions(self) -> list[TopicPartition]:
        """Return the existing partitions that the options select, sorted. Raises if a topic does not exist."""
        ...

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offsets."""
        ...

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets at which reading ends: the last stable offset under read_committed, otherwise the end."""
        ...

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return, for each timestamp, the offset of the first record at or after it, or None, as in ListOffsets.

        Negative timestamps have the same meaning as in ListOffsets: -1 is latest, -2 earliest.
        """
        ...

    def splits(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> Sequence[AnySplit]:
        """Divide the ranges into splits, leaving out offsets that cannot match the filters of the query."""
        ...
