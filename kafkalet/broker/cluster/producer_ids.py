"""Assignment of producer ids. Each id is used only once in a cluster.

Ids are reserved in blocks, as the KRaft controller does for its brokers (ProducerIdsBlock). The end of a block is saved
before its first id is assigned, so ids can be skipped after a crash but are never reused.
"""

from collections.abc import Callable

BLOCK = 1000
MAX_EPOCH = 0x7FFF


class ProducerIds:
    """The counter of producer ids. `reserve` is called with the end of each new block and has to save it."""

    def __init__(self, first: int, reserve: Callable[[int], None]) -> None:
        self._next = first
        self._block_end = first
        self._reserve = reserve

    @property
    def next_id(self) -> int:
        """The next id to be assigned."""
        return self._next

    def skip(self, largest: int) -> None:
        """Do not assign ids up to `largest`, which are in use. To be called before the first call of `take`."""
        self._next = self._block_end = max(self._next, largest + 1)

    def take(self) -> int:
        """Return an unused producer id. If `reserve` raises, no id is used up."""
        if self._next == self._block_end:
            end = self._block_end + BLOCK
            self._reserve(end)
            self._block_end = end
        self._next += 1
        return self._next - 1
