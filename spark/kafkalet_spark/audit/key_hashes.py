"""64-bit hashes of keys, so that the keys of a log can be compared in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 1 << 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(33)

Hashes = npt.NDArray[np.uint64]


def hashes(keys: Any) -> Hashes:
    """Return 64-bit polynomial hashes of a pa.BinaryArray without nulls."""
    result = np.empty(len(keys), np.uint64)
    offset = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    content = keys.buffers()[2]
    data = np.frombuffer(content if content is not None else b"", np.uint8)
    start = 0
    while start < len(keys):
        end = int(np.searchsorted(offset, offset[start] + BLOCK_BYTES, "right")) - 1
        end = min(max(end, start + 1), len(keys))
        result[start:end] = _polynomials(data, offset[start : end + 1])
        start = end
    for factor in _MIX:
        result ^= result >> _SHIFT
        result *= factor
    return result ^ (result >> _SHIFT)


def _polynomials(data: npt.NDArray[np.uint8], offset: npt.NDArray[np.int64]) -> Hashes:
    length = np.diff(offset)
    result = length.astype(np.uint64)
    filled = np.flatnonzero(length)
    if filled.size:
        powers = np.multiply.accumulate(np.full(int(length.max()), _FACTOR, np.uint64))
        place = np.arange(int(offset[-1] - offset[0])) - np.repeat(offset[:-1] - offset[0], length)
        terms = powers[place]
        terms *= data[offset[0] : offset[-1]].astype(np.uint64) + np.uint64(1)
        result[filled] += np.add.reduceat(terms, offset[:-1][filled] - offset[0])
    return result
