"""Decode zig-zag varints (`kafkalet.protocol.records.varint`) at many positions of a buffer in parallel.

Nearly all integers in records take one or two bytes, so all are first computed as if they did, in eight or sixteen
bits; longer ones are corrected afterwards. If a varint is too long, its end is reported as `FAR`, where no field can
end, so that the caller passes the record to the full decoder. Reading past the end of the buffer returns its last byte.
Nothing else is checked here, because callers check where the fields end.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .batches import Bytes, Int64s

FAR = 1 << 60
LENGTH_BYTES = 4
"""The maximum size of a length or offset delta in bytes. Five-byte varints may have excess bits."""
TIMESTAMP_BYTES = 9
"""The maximum size of a timestamp delta in bytes. Ten-byte varints may exceed 64 bits."""


def read_varints(data: Bytes, at: Int64s, longest: int = LENGTH_BYTES) -> tuple[Int64s, Int64s]:
    """Return the integers at these positions of `data`, and the positions after them. `data` must not be empty."""
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
    """Undo the zig-zag encoding. The caller must view the result as signed integers of the same width."""
    return numbers >> 1 ^ -(numbers & 1)


def _read_long(data: Bytes, low: npt.NDArray[Any], at: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    """Read the remaining bytes of integers whose first two bytes have already been read."""
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
