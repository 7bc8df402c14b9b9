"""Plan the splits of many logs: each within the size limits, and at least as many as requested.

This works like Spark's KafkaOffsetRangeCalculator, but it counts bytes instead of records:

    max_bytes     the maximum size of a split, unless index entries are further apart
    max_records   the maximum number of offsets in a split (`maxRecordsPerPartition`)
    min_splits    the minimum number of splits (`minPartitions`). To reach it, the size limit is lowered, so that the
                  largest ranges are cut into the most splits. As a last resort, several splits share an entry, and
                  each of them reads all of it
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .directory import PartitionLog
from .splits import Split, SplitCutter


class OffsetRange(NamedTuple):
    """The offsets of a log from `start_offset` up to but not including `end_offset`."""

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
    """Return the splits of all ranges, in the same order as the ranges. Raises the same exceptions as `split`, and
    ValueError if `max_records` or `min_splits` is below 1."""
    if any(number is not None and number < 1 for number in (max_records, min_splits)):
        raise ValueError(f"max_records and min_splits must be at least 1, not {max_records} and {min_splits}")
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
    # Splits larger than the bound cannot be cut any further.
    while len(splits) < min_splits and bound > 1 and any(each.size_bytes <= bound for each in splits):
        bound //= 2
        splits = cut(bound)
    return _shared(splits, min_splits)


def _offsets(each: OffsetRange) -> int:
    return max(each.end_offset - each.start_offset, 0)


def _divided(each: OffsetRange, parts: int) -> list[OffsetRange]:
    """Divide a range into `parts` ranges that have the same number of offsets, give or take one."""
    start, count = each.start_offset, _offsets(each)
    edges = [start + count * part // parts for part in range(parts + 1)] if parts else []
    return [OffsetRange(each.log, begin, end) for begin, end in itertools.pairwise(edges)]


def _shared(splits: Sequence[Split], min_splits: int) -> list[Split]:
    """Divide the offsets of splits, but not their bytes, until there are `min_splits` or each has a single offset."""
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
