""".timeindex: finds offsets by timestamp.

    entry    timestamp (int64)    relative offset (int32)

An entry (t, o) means: t is the largest timestamp up to the batch that ends with offset o, and that batch contains t.
Timestamps and offsets increase from entry to entry. The index may get an entry whenever the offset index does. It
always gets one when the segment is rolled or closed, so the last entry of a closed segment has the segment's largest
timestamp.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

from kafkalet.formats import TIME_INDEX_ENTRY
from kafkalet.protocol.records.batch import NO_TIMESTAMP

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
        """Whether the only free entry is the one reserved for the roll."""
        return (len(self._keys) if self._is_loaded else len(self)) >= self.max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry; (-1, base offset) if the index is empty."""
        if not self._is_loaded:
            # This is needed for every segment when a log is opened. Unless the file is padded, only its end is read.
            end = self._files.read_end(self.path, self.ENTRY_BYTES)
            if end.strip(b"\0"):
                timestamp, offset = TIME_INDEX_ENTRY.struct.unpack(end)
                if timestamp >= 0 <= offset:
                    return TimestampOffset(timestamp, self.base_offset + offset)
            self.load()
        if not self._keys:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._keys[-1], self.base_offset + self._values[-1])

    def maybe_append(self, timestamp: int, offset: int, *, closing: bool = False) -> None:
        """Append an entry if `timestamp`, from the batch that ends with `offset`, is larger than that of the last
        entry.

        Raises OutOfOrder if the timestamp or the offset is below that of the last entry. `closing` means that the
        segment is being rolled or closed, so the reserved entry may be used.
        """
        assert closing or not self.is_full, f"{self.path} is full with {len(self)} entries"
        last = self.last_entry
        if self._keys and (offset < last.offset or timestamp < last.timestamp):
            raise OutOfOrder(f"({timestamp}, {offset}) after {last} in {self.path}")
        if timestamp > last.timestamp:
            self._keys.append(timestamp)
            self._values.append(offset - self.base_offset)

    def closed_image(self, timestamp: int, offset: int) -> bytes:
        """Return the contents of the file after the segment is closed with this largest timestamp and its offset."""
        data = self.image()
        if timestamp > self.last_entry.timestamp:
            data += TIME_INDEX_ENTRY.struct.pack(timestamp, offset - self.base_offset)
        return data

    def lookup(self, timestamp: int) -> TimestampOffset:
        """Return the last entry at or before `timestamp`; (-1, base offset) if there is none."""
        if not self._is_loaded:
            self.load()
        slot = bisect_right(self._keys, timestamp) - 1
        if slot < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._keys[slot], self.base_offset + self._values[slot])

    def truncate_to(self, offset: int) -> None:
        """Remove the entries with offsets at or above `offset`."""
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
