"""Handing out producer ids, each once in the life of a cluster.

Ids come in blocks, as the KRaft controller gives them to its brokers (ProducerIdsBlock): the end of the block is on
disk before the first id of it is given, so that a cluster that was killed skips ids but never gives one twice.
"""

from collections.abc import Callable

BLOCK = 1000
MAX_EPOCH = 0x7FFF


class ProducerIds:
    """The counter. `reserve` is called with the end of each new block and has to keep it."""

    def __init__(self, first: int, reserve: Callable[[int], None]) -> None:
        self._next = first
        self._block_end = first
        self._reserve = reserve

    def take(self) -> int:
        """A producer id that was never given before. Raises what `reserve` raises, and has given nothing then."""
        if self._next == self._block_end:
            end = self._block_end + BLOCK
            self._reserve(end)
            self._block_end = end
        self._next += 1
        return self._next - 1
