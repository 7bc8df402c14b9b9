"""The segments of a log, ordered by offset.

The last segment takes the appends. The largest timestamps of the segments are kept as running maxima, so that the first
segment at or after a timestamp can be found by binary search.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from .segment import Segment


class Segments:
    """The segments of a log. Size and largest timestamp can change only in the active segment."""

    __slots__ = ("_bases", "_peaks", "_segments")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []
        self._peaks: list[int] = []
        """Running maxima of the largest timestamps, computed for the oldest segments but never for the active one."""

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(tuple(self._segments))

    def __contains__(self, base_offset: int) -> bool:
        return self.get(base_offset) is not None

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def base_offsets(self) -> list[int]:
        return list(self._bases)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def get(self, base_offset: int) -> Segment | None:
        """Return the segment with exactly this base offset, or None."""
        at = bisect_left(self._bases, base_offset)
        return self._segments[at] if at < len(self._bases) and self._bases[at] == base_offset else None

    def floor(self, offset: int) -> Segment | None:
        """Return the last segment with a base offset at or below `offset`."""
        at = bisect_right(self._bases, offset) - 1
        return self._segments[at] if at >= 0 else None

    def lower(self, offset: int) -> Segment | None:
        """Return the last segment with a base offset below `offset`."""
        at = bisect_left(self._bases, offset) - 1
        return self._segments[at] if at >= 0 else None

    def higher(self, offset: int) -> Segment | None:
        """Return the first segment with a base offset above `offset`."""
        at = bisect_right(self._bases, offset)
        return self._segments[at] if at < len(self._segments) else None

    def higher_ones(self, offset: int) -> Iterator[Segment]:
        """Return all segments with a base offset above `offset`."""
        return iter(self._segments[bisect_right(self._bases, offset) :])

    def between(self, start: int, end: int) -> list[Segment]:
        """Return the segments from the one that contains `start` to the last with a base offset below `end`.

        The result is empty if `start` equals `end`.
        """
        assert start <= end, f"segments from {start} to {end}"
        if start == end:
            return []
        first = max(bisect_right(self._bases, start) - 1, 0)
        return self._segments[first : bisect_left(self._bases, end)]

    def add(self, segment: Segment) -> None:
        """Add a segment, replacing one with the same base offset."""
        at = bisect_left(self._bases, segment.base_offset)
        if at < len(self._bases) and self._bases[at] == segment.base_offset:
            self._segments[at] = segment
        else:
            self._bases.insert(at, segment.base_offset)
            self._segments.insert(at, segment)
        del self._peaks[at:]

    def remove(self, segment: Segment) -> None:
        """Remove a segment from the log, without deleting its files."""
        at = bisect_left(self._bases, segment.base_offset)
        assert self._segments[at] is segment, f"{segment} is not in this log"
        del self._bases[at], self._segments[at]
        del self._peaks[max(min(at, len(self._segments) - 1), 0) :]  # the last segment is now the active one

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Replace adjacent segments by one that begins where they begin. None of them is the active segment."""
        first = bisect_left(self._bases, new.base_offset)
        end = first + len(old)
        assert self._segments[first:end] == list(old), f"{old} are not in this log"
        self._bases[first:end] = [new.base_offset]
        self._segments[first:end] = [new]
        del self._peaks[first:]

    def first_reaching(self, timestamp: int) -> Segment | None:
        """Return the first segment whose largest timestamp is at or after `timestamp`."""
        peaks, segments = self._peaks, self._segments
        for segment in segments[len(peaks) : -1]:
            peaks.append(max(segment.largest_timestamp, peaks[-1] if peaks else segment.largest_timestamp))
        at = bisect_left(peaks, timestamp)
        if at < len(peaks):
            return segments[at]
        return self.active if segments and self.active.largest_timestamp >= timestamp else None

    def with_largest_timestamp(self) -> Segment:
        """Return the first segment that contains the largest timestamp of the log."""
        return max(self._segments, key=lambda segment: segment.largest.timestamp)
