"""Decode zig-zag varints (`kafkalet.protocol.records.varint`) at many positions of a buffer in parallel.

Nearly all integers in records have one or two bytes, so these are computed in eight and sixteen bits; longer ones are
corrected afterwards. The end of a varint that is too long is reported as `FAR`, where no field can end, so that the
caller passes the record to the full decoder. Positions past the end of the buffer read as its last byte. Therefore,
nothing is checked here: callers compare the ends.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .batches import Bytes, Int64s

FAR = 1 << 60
LENGTH_BYTES = 4
"""Maximum bytes of lengths and offset deltas. Five-byte varints may have excess bits."""
TIMESTAMP_BYTES = 9
"""Maximum bytes of timestamp deltas. Ten-byte varints may exceed 64 bits."""


def read_varints(data: Bytes, at: Int64s, longest: int = LENGTH_BYTES) -> tuple[Int64s, Int64s]:
    """Return the integers at these positions of `data`, which must not be empty, and the positions after them."""
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
    """Undo the zig-zag encoding; view the result as signed integers of the same width."""
    return numbers >> 1 ^ -(numbers & 1)


def _read_long(data: Bytes, low: npt.NDArray[Any], at: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    """Read the rest of integers after their first two bytes."""
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
