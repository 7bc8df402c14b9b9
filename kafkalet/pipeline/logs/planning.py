"""The splits of many logs at once: no larger than a task may be, and no fewer than are asked for.

As Spark's KafkaOffsetRangeCalculator does it, but by bytes where that counts records:

    max_bytes     no split has more, unless entries of the index are further apart
    max_records   no split has more offsets (`maxRecordsPerPartition`)
    min_splits    where that leaves fewer splits, all are made smaller, so that the largest ranges are cut most
                  (`minPartitions`); in the end single entries are shared between splits, each of which reads it whole
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .directory import PartitionLog
from .splits import Split, SplitCutter


class OffsetRange(NamedTuple):
    """Offsets of a log, from `start_offset` to before `end_offset`."""

    log: PartitionLog
    start_offset: int
    end_offset: int


def plan(
    ranges: Iterable[OffsetRange | tuple[PartitionLog, int, int]],
    *,
    max_bytes: int,
    max_records: int | None = None,
    min_splits: int | None = None,
    not_before_ms: int | None = None,
    lenient: bool = False,
) -> list[Split]:
    """The splits of all ranges, in the order of the ranges. Raises as `split`; ValueError for a number below 1."""
    if any(number is not None and number < 1 for number in (max_records, min_splits)):
        raise ValueError(f"splits of {max_records} records, at least {min_splits}")
    asked = [OffsetRange(*each) for each in ranges]
    if max_records is not None:
        asked = [part for each in asked for part in _divided(each, -(-_offsets(each) // max_records))]

    def cut(to_bytes: int) -> list[Split]:
        cut_up: list[Split] = []
        for log, parts in itertools.groupby(asked, key=lambda each: each.log):
            cutter = SplitCutter(log, lenient=lenient)
            for _, start, end in parts:
                cut_up += cutter.split(start, end, to_bytes, not_before_ms)
        return cut_up

    splits = cut(max_bytes)
    if min_splits is None or len(splits) >= min_splits or not splits:
        return splits
    total = sum(each.size_bytes for each in splits)
    bound = min(max_bytes, -(-total // min_splits))
    splits = cut(bound)
    # What has more bytes than the bound can not be cut any further.
    while len(splits) < min_splits and bound > 1 and any(each.size_bytes <= bound for each in splits):
        bound //= 2
        splits = cut(bound)
    return _shared(splits, min_splits)


def _offsets(each: OffsetRange) -> int:
    return max(each.end_offset - each.start_offset, 0)


def _divided(each: OffsetRange, parts: int) -> list[OffsetRange]:
    """The range in so many parts, whose numbers of offsets differ by one at most."""
    start, count = each.start_offset, _offsets(each)
    edges = [start + count * part // parts for part in range(parts + 1)] if parts else []
    return [OffsetRange(each.log, begin, end) for begin, end in itertools.pairwise(edges)]


def _shared(splits: Sequence[Split], min_splits: int) -> list[Split]:
    """Splits of the same bytes with fewer offsets, until there are enough, or each has one offset."""
    counts = [each.end_offset - each.start_offset for each in splits]
    shares = [1] * len(splits)
    widest: list[tuple[float, int]] = [(-count, at) for at, count in enumerate(counts)]
    heapq.heapify(widest)
    for _ in range(min_splits - len(splits)):
        _, at = widest[0]
        if counts[at] <= shares[at]:
            break
        shares[at] += 1
        heapq.heapreplace(widest, (-counts[at] / shares[at], at))
    shared = []
    for each, count, parts in zip(splits, counts, shares, strict=True):
        edges = [each.start_offset + count * part // parts for part in range(parts + 1)]
        for start, end in itertools.pairwise(edges):
            shared.append(each._replace(start_offset=start, end_offset=end))
    return shared
