"""Turn byte ranges of a buffer into Arrow columns, letting Arrow copy the bytes.

An Arrow binary column consists of a buffer and a list of offsets into it. These offsets can point into the input buffer
itself: every other element is then a requested range, and the elements between them are the gaps. Arrow's `take` copies
the requested elements in C++. The offsets are 32-bit numbers, so the buffer must be smaller than 2 GiB.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from kafkalet.protocol.wire import Buffer

from .batches import Int64s


def binary_column(buffer: Buffer, position: Int64s, size: Int64s) -> Any:
    """Return a pa.BinaryArray with `buffer[position : position + size]` for each row; null if the size is negative.

    The ranges must be inside the buffer, in ascending order, and must not overlap.
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
