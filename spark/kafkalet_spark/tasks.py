"""The Spark tasks that read `kafkalog`, for both batch and streaming queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from .filters import Pushed
from .options import ReadOptions
from .origin import AnySplit
from .reader import Want, chunks_of, record_batches

if TYPE_CHECKING:
    import pyarrow as pa


class ReadTask(InputPartition):
    """The split that one task reads, and the rows to produce from it."""

    def __init__(self, split: AnySplit, want: Want) -> None:
        self.split = split
        self.want = want

    def __repr__(self) -> str:
        return f"Task({self.want.topic}-{self.want.partition}, {self.want.start} to {self.want.end})"


def tasks(splits: Iterable[AnySplit], names: tuple[str, ...], pushed: Pushed) -> list[InputPartition]:
    """Return a task for each split."""
    times = pushed.not_before_ms, pushed.not_after_ms
    return [
        ReadTask(split, Want(split.topic, split.partition, split.start_offset, split.end_offset, names, *times))
        for split in splits
    ]


def read_task(partition: InputPartition, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task. There are none if Spark created an empty partition because there was no split."""
    if isinstance(partition, ReadTask):
        yield from record_batches(chunks_of(partition.split, options), partition.want, options)
