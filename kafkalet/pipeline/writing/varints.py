"""Numbers as Kafka's records have them: zigzag varints, for whole columns.

A signed number n becomes 2n or, below zero, -2n - 1; seven bits a byte follow, the lowest first, each byte but the
last with its highest bit set. A row of several such numbers is laid out in a matrix with a place for the widest of
each, and what is not used of it is left out at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def zigzag(numbers: Longs) -> NDArray[np.uint64]:
    """Signed numbers as unsigned ones, small where they are near zero."""
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def widths(coded: NDArray[np.uint64]) -> Longs:
    """How many bytes each takes, 1 to 10."""
    found = np.ones(len(coded), np.int64)
    if not len(coded):
        return found
    rest = int(coded.max()) >> 7
    bound = 7
    while rest:
        found += coded >= np.uint64(1 << bound)
        rest >>= 7
        bound += 7
    return found


def size(numbers: Longs) -> Longs:
    """How many bytes each number takes."""
    return widths(zigzag(numbers))


def spell(columns: Sequence[Longs | int], count: int) -> pa.Array:
    """Row by row the numbers of all columns, one after the other: a binary array of `count` rows.

    A column that is a plain number has it in each row.
    """
    parts = [_coded(column) for column in columns]
    sizes = [widths(part) for part in parts]
    tops = [int(size.max()) if len(size) else 1 for size in sizes]
    matrix = np.empty((count, sum(tops)), np.uint8)
    used = (
        None
        if all(int(size.min()) == top for size, top in zip(sizes, tops, strict=True) if len(size))
        else (np.ones(matrix.shape, bool))
    )
    at = 0
    for part, size, top in zip(parts, sizes, tops, strict=True):
        for byte in range(top):
            digits = (part >> np.uint64(7 * byte)).astype(np.uint8) & 0x7F
            if byte + 1 < top:
                digits |= (size > byte + 1).astype(np.uint8) << 7
            matrix[:, at] = digits
            if used is not None and byte:
                used[:, at] = size > byte
            at += 1
    return _rows(matrix, used)


def _coded(column: Longs | int) -> NDArray[np.uint64]:
    return zigzag(np.array([column], np.int64) if isinstance(column, int) else column)


def _rows(matrix: NDArray[np.uint8], used: NDArray[np.bool_] | None) -> pa.Array:
    count, width = matrix.shape
    ends = np.zeros(count + 1, np.int32)
    if used is None:
        ends[1:] = np.arange(1, count + 1, dtype=np.int32) * width
        data = matrix.reshape(-1)
    else:
        np.cumsum(used.sum(axis=1, dtype=np.int32), out=ends[1:])
        data = matrix[used]
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])
