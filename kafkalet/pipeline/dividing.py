"""Cut ranges of offsets into pieces of about the same length, as Spark's KafkaOffsetRangeCalculator does.

No piece has more than `maxRecordsPerPartition` offsets. Where `minPartitions` asks for more pieces than there are, long
ranges are cut in proportion to their length; ranges too short to be cut are set aside before the shares are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .options import ReadOptions
from .origin import PartitionRange


def divided(ranges: Sequence[PartitionRange], options: ReadOptions) -> list[PartitionRange]:
    """Return the ranges, cut into about as many pieces as the options ask for; none is empty."""
    most, least = options.max_records_per_partition, options.min_partitions
    kept = [each for each in ranges if each.end > each.start]
    if most is not None:
        kept = [piece for each in kept for piece in cut(each, -(-(each.end - each.start) // most))]
    if least is None or least <= len(kept):
        return kept
    lengths = [each.end - each.start for each in kept]
    whole = [_pieces(length, sum(lengths), least) == 1 for length in lengths]
    total = sum(length for length, uncut in zip(lengths, whole, strict=True) if not uncut)
    least = max(least - sum(whole), 1)
    counts = [1 if uncut else _pieces(length, total, least) for length, uncut in zip(lengths, whole, strict=True)]
    return [piece for each, count in zip(kept, counts, strict=True) for piece in cut(each, count)]


def _pieces(length: int, total: int, least: int) -> int:
    """The share of a range in so many pieces, rounded as Java's Math.round does, and at least one."""
    return max(math.floor(length / total * least + 0.5), 1)


def cut(whole: PartitionRange, count: int) -> list[PartitionRange]:
    """Return `count` ranges of about the same length, or as many as there are offsets."""
    length = whole.end - whole.start
    count = min(count, length)
    ends = [whole.start + length * number // count for number in range(count + 1)] if count else []
    return [PartitionRange(whole.topic, whole.partition, *each) for each in pairwise(ends)]
