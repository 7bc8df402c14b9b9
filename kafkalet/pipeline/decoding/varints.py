"""Zig-zag varints at many places of a buffer at once: see `kafkalet.protocol.records.varint` for what they are.

Nearly all integers of records have one or two bytes, so those are computed in eight and sixteen bits; longer ones are
mended afterwards. An integer longer than it may be, which the exact reader has to judge, ends `FAR` away, where nothing
ends; places beyond the buffer read as its last byte. So nothing needs checking here: whoever compares the ends in the
end will see.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .batches import Bytes, Int64s

FAR = 1 << 60
LENGTH_BYTES = 4
"""Longest lengths and offset deltas: those of five bytes may have bits that do not count."""
TIMESTAMP_BYTES = 9
"""Longest timestamp deltas: with a tenth byte they would leave the 64 bits."""


def read_varints(data: Bytes, at: Int64s, longest: int = LENGTH_BYTES) -> tuple[Int64s, Int64s]:
    """The integers at these positions of `data` (which is not empty), and the positions behind them."""
    first = data.take(at, mode="clip")
    if first.size == 0 or first.max() < 128:
        return _signed(first).view(np.int8).astype(np.int64), at + 1
    goes_on = first >> 7
    ends = at + 1
    second = data.take(ends, mode="clip") * goes_on
    ends += goes_on
    low = (first & 127) | second.astype(np.uint16) << 7
    numbers = _signed(low & 0x3FFF).view(np.int16).astype(np.int64)
    if second.max() > 127:
        long = np.flatnonzero(second > 127)
        numbers[long], ends[long] = _read_long(data, (low & 0x3FFF).take(long), ends.take(long), longest)
    return numbers, ends


def _signed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Zig-zag undone; to be seen as signed integers of the same width."""
    return numbers >> 1 ^ -(numbers & 1)


def _read_long(data: Bytes, low: npt.NDArray[Any], at: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    """The rest of integers of which two bytes are read."""
    numbers, ends = low.astype(np.int64), at
    open_ = np.arange(at.size)
    for index in range(2, longest):
        byte = data.take(ends.take(open_), mode="clip").astype(np.int64)
        numbers[open_] |= (byte & 127) << 7 * index
        ends[open_] += 1
        open_ = open_[byte > 127]
        if open_.size == 0:
            break
    ends[open_] = FAR
    return numbers >> 1 ^ -(numbers & 1), ends
