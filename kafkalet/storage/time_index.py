""".timeindex: which offset holds a timestamp.

    entry    timestamp (int64)    relative offset (int32)

An entry (t, o) says: no record before the batch that ends in o is later than t, and that batch holds t. Timestamps
rise from entry to entry, and so do offsets. Entries come when the offset index gets one, and one more when the segment
is rolled or closed, so that the last entry of a segment that takes no more appends is its largest timestamp.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

from kafkalet.formats import TIME_INDEX_ENTRY
from kafkalet.protocol.records.batch import NO_TIMESTAMP

from .files import read_end
from .index import OutOfOrder, SortedIndex, as_bytes, words
from .values import TimestampOffset

_HIGH, _LOW = (1, 0) if sys.byteorder == "little" else (0, 1)


class TimeIndex(SortedIndex):
    """Keys are timestamps, values are relative offsets."""

    ENTRY_BYTES = TIME_INDEX_ENTRY.size_bytes
    KEY_TYPE = "q"

    __slots__ = ()

    @property
    def is_full(self) -> bool:
        """One entry is kept free for the roll."""
        return len(self) >= self.max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """(-1, base offset) where there is none."""
        if not self._is_loaded:
            # What a log with many segments is asked for all of them: the end of the file will do, unless it is padding.
            end = read_end(self.path, self.ENTRY_BYTES)
            if end.strip(b"\0"):
                timestamp, offset = TIME_INDEX_ENTRY.struct.unpack(end)
                if timestamp >= 0 <= offset:
                    return TimestampOffset(timestamp, self.base_offset + offset)
            self.load()
        if not self._keys:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._keys[-1], self.base_offset + self._values[-1])

    def maybe_append(self, timestamp: int, offset: int, *, closing: bool = False) -> None:
        """Note that `timestamp` is the largest so far, in the batch that ends in `offset`, unless the last entry says
        so.

        Raises OutOfOrder where timestamp or offset are before those of the last entry. `closing`: the segment is
        rolled or closed, which may use the entry that is kept free.
        """
        assert closing or not self.is_full, f"{self.path} is full with {len(self)} entries"
        last = self.last_entry
        if self._keys and (offset < last.offset or timestamp < last.timestamp):
            raise OutOfOrder(f"({timestamp}, {offset}) after {last} in {self.path}")
        if timestamp > last.timestamp:
            self._keys.append(timestamp)
            self._values.append(offset - self.base_offset)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before `timestamp`; (-1, base offset) where there is none."""
        if not self._is_loaded:
            self.load()
        slot = bisect_right(self._keys, timestamp) - 1
        if slot < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._keys[slot], self.base_offset + self._values[slot])

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose offset is at or above `offset`."""
        self.load()
        self._keep(bisect_left(self._values, offset - self.base_offset))

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        numbers = words(data)
        halves = array("i", bytes(len(numbers) // 3 * 8))
        halves[_HIGH::2] = numbers[0::3]
        halves[_LOW::2] = numbers[1::3]
        return array("q", halves.tobytes()), numbers[2::3]

    def _encode(self, start: int) -> bytes:
        halves = array("i", self._keys[start:].tobytes())
        numbers = array("i", bytes(self.ENTRY_BYTES * (len(self._keys) - start)))
        numbers[0::3] = halves[_HIGH::2]
        numbers[1::3] = halves[_LOW::2]
        numbers[2::3] = self._values[start:]
        return as_bytes(numbers)
