"""Ranges of offsets, cut into pieces of about the same length.

As in Spark's Kafka source (KafkaOffsetRangeCalculator): none of more than `maxRecordsPerPartition` offsets, and where
`minPartitions` asks for more pieces than there are, long ranges give more of them than short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .options import ReadOptions
from .origin import Range


def divided(ranges: Sequence[Range], options: ReadOptions) -> list[Range]:
    """The ranges, cut into as many as the options ask for; none is empty."""
    most, least = options.max_records_per_partition, options.min_partitions
    if most is not None:
        ranges = [piece for each in ranges for piece in cut(each, -(-(each.end - each.start) // most))]
    if least is None or least <= len(ranges):
        return list(ranges)
    total = sum(each.end - each.start for each in ranges)
    share = [max(1, round((each.end - each.start) / total * least)) for each in ranges]
    return [piece for each, count in zip(ranges, share, strict=True) for piece in cut(each, count)]


def cut(whole: Range, count: int) -> list[Range]:
    """`count` ranges of the same length, as far as there are offsets for them."""
    length = whole.end - whole.start
    ends = [whole.start + length * number // count for number in range(count + 1)]
    pieces = [Range(whole.topic, whole.partition, *each) for each in pairwise(ends)]
    return [piece for piece in pieces if piece.start < piece.end]
