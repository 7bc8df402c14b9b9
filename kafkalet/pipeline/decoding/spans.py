"""Byte ranges of a buffer as Arrow columns, copied by Arrow.

An Arrow binary column is a buffer and a list of offsets into it. The offsets can point into the input buffer: then
every other element is a requested range, and the elements in between are the gaps. `take` copies the requested ones in
C++. The offsets are 32-bit, so the buffer must be smaller than 2 GiB.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from kafkalet.protocol.wire import Buffer

from .batches import Int64s


def binary_column(buffer: Buffer, position: Int64s, size: Int64s) -> Any:
    """Return a pa.BinaryArray of `buffer[position : position + size]` per row, null if the size is negative.

    The ranges must be in ascending order, must be inside the buffer and must not overlap.
    """
    count = position.size
    is_null = size < 0
    some_null = count > 0 and bool(is_null.any())
    if some_null and is_null.all():
        return pa.nulls(count, pa.binary())
    if count == 0:
        return pa.array([], pa.binary())
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = position
    offsets[1::2] = position + np.maximum(size, 0)
    offsets[-1] = offsets[-2]
    stretches = pa.BinaryArray.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(buffer)])
    wanted = np.arange(0, 2 * count, 2, dtype=np.int32)
    return stretches.take(pa.array(wanted, mask=is_null) if some_null else pa.array(wanted))
