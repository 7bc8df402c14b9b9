""".index: finds positions in the .log by offset.

    entry    relative offset (int32)    position (int32)

An entry holds the last offset of an append and the position of that append. To find the batch that contains an offset,
take the last entry at or below that offset: the batch is at or after the position in the entry. There is about one
entry per `index.interval.bytes` of log.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from kafkalet.formats import OFFSET_INDEX_ENTRY

from .index import OutOfOrder, SortedIndex, as_bytes, words

_WARM_ENTRIES = 8192 // 8
MAX_OFFSET = (1 << 63) - 1


class OffsetIndex(SortedIndex):
    """Keys are relative offsets, values are positions."""

    ENTRY_BYTES = OFFSET_INDEX_ENTRY.size_bytes
    KEY_TYPE = "i"

    __slots__ = ()

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset if the index is empty."""
        self.load()
        return self.base_offset + (self._keys[-1] if self._keys else 0)

    def append(self, offset: int, position: int) -> None:
        """Add the append at `position` that ends with `offset`. Raises OutOfOrder if `offset` is not above the last."""
        assert not self.is_full, f"{self.path} is full with {len(self)} entries"
        relative = offset - self.base_offset
        if self._keys and relative <= self._keys[-1]:
            raise OutOfOrder(f"offset {offset} after {self.last_offset} in {self.path}")
        self._keys.append(relative)
        self._values.append(position)

    def lookup(self, offset: int) -> int:
        """Return the position of the last entry at or below `offset`; 0 if there is none."""
        return self.entry_before(offset)[0]

    def entry_before(self, offset: int) -> tuple[int, int]:
        """Return the position and the offset of the last entry at or below `offset`.

        If there is none, return position 0, where the first batch begins, and MAX_OFFSET.
        """
        if not self._is_loaded:
            self.load()
        slot = bisect_right(self._keys, offset - self.base_offset) - 1
        if slot < 0:
            return 0, MAX_OFFSET
        return self._values[slot], self.base_offset + self._keys[slot]

    def offset_at(self, position: int) -> int | None:
        """Return the offset of the entry with exactly this position, or None."""
        slot = bisect_left(self._values, position)
        if slot < len(self._values) and self._values[slot] == position:
            return self.base_offset + self._keys[slot]
        return None

    def position(self, entry: int) -> int:
        """Return the position in entry number `entry`."""
        self.load()
        return self._values[entry]

    def upper_bound(self, position: int) -> int | None:
        """Return an offset above all data below `position`, from an index entry; None if there is none.

        The entry is not always the nearest: this is Kafka's search (`AbstractIndex.binarySearch`), which skips an entry
        at exactly `position` unless a probe happens to hit it, and searches the last 1025 entries first. Clients see
        the difference in the aborted transactions of a fetch.
        """
        if not self._is_loaded:
            self.load()
        positions = self._values
        last = len(positions) - 1
        if last < 0:
            return None
        first_warm = max(0, last - _WARM_ENTRIES)
        if positions[first_warm] < position:
            low, high = first_warm, last
        elif positions[0] > position:
            return self.base_offset + self._keys[0]
        else:
            low, high = 0, first_warm
        while low < high:
            middle = (low + high + 1) >> 1
            if positions[middle] > position:
                high = middle - 1
            elif positions[middle] < position:
                low = middle
            else:
                return self.base_offset + self._keys[middle]
        return None if low == last else self.base_offset + self._keys[low + 1]

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at or above `offset`."""
        self.load()
        self._keep(bisect_left(self._keys, offset - self.base_offset))

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        numbers = words(data)
        return numbers[0::2], numbers[1::2]

    def _encode(self, start: int) -> bytes:
        numbers = array("i", bytes(self.ENTRY_BYTES * (len(self._keys) - start)))
        numbers[0::2] = self._keys[start:]
        numbers[1::2] = self._values[start:]
        return as_bytes(numbers)
