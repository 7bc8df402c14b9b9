"""Assign keys to partitions with the Java producer's murmur2 (`BuiltInPartitioner`), for a column of keys.

The hash consumes four bytes per step, and each step handles all sufficiently long keys at once. The few keys that are
much longer than the rest are finished one by one.

Records without a key are spread evenly: the nth such record goes to partition n modulo the number of partitions. (The
Java producer fills a batch for one random partition, then a batch for another, which is not reproducible.)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)
_FEW = 4
"""Up to this many keys are faster to hash one by one."""


def partitions_of(keys: pa.Array, counts: int | NDArray[np.int64], ordinals: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the partition of each key, given the number of partitions. For null keys, `ordinals` is used instead of a
    hash.

    `keys` is a binary array; `counts` is either one number for all rows or one number per row.
    """
    hashes = murmur2(keys) & np.uint32(0x7FFFFFFF)
    placed = hashes.astype(np.int64) % counts
    if keys.null_count:
        placed = np.where(_nulls(keys), ordinals % counts, placed)
    return placed.astype(np.int32)


def murmur2(keys: pa.Array) -> Words:
    """Return the hash of each key, as in Java but as an unsigned number. The hash of a null key is undefined."""
    starts, lengths, data = _spans(keys)
    hashes = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    steps = lengths >> 2
    _take_in_words(hashes, starts, steps, data)
    _take_in_rest(hashes, starts + (steps << 2), lengths & 3, data)
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    return hashes


def _spans(keys: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the start and length of each key, and the bytes of all keys, padded with four more bytes."""
    count = len(keys)
    ends = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + count + 1].astype(np.int64)
    buffer = keys.buffers()[2]
    first, last = (int(ends[0]), int(ends[-1])) if count else (0, 0)
    data = np.zeros(last - first + 4, np.uint8)
    if buffer is not None:
        data[:-4] = np.frombuffer(buffer, np.uint8)[first:last]
    return ends[:-1] - first, np.diff(ends), data


def _nulls(keys: pa.Array) -> NDArray[np.bool_]:
    nulls: NDArray[np.bool_] = keys.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _take_in_words(hashes: Words, starts: NDArray[np.int64], steps: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
    words: Words = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
    most = int(steps.max(initial=0))
    least = int(steps.min(initial=most))
    for step in range(least):
        hashes *= _M
        hashes ^= _mixed(words[starts + 4 * step])
    step = least
    while step < most:
        longer = np.flatnonzero(steps > step)
        if len(longer) <= _FEW:
            for row in longer.tolist():
                at = int(starts[row])
                hashes[row] = _finish(int(hashes[row]), words[at + 4 * step : at + 4 * int(steps[row]) : 4])
            return
        hashes[longer] = hashes[longer] * _M ^ _mixed(words[starts[longer] + 4 * step])
        step += 1


def _mixed(words: Words) -> Words:
    mixed: Words = words * _M
    mixed ^= mixed >> np.uint32(24)
    mixed *= _M
    return mixed


def _finish(state: int, words: Words) -> int:
    """Hash the remaining words of one key, starting from `state`."""
    for word in _mixed(words).tolist():
        state = (state * 0x5BD1E995 & 0xFFFFFFFF) ^ word
    return state


def _take_in_rest(hashes: Words, at: NDArray[np.int64], rest: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
    """Hash the one to three bytes after the last complete word."""
    rows = np.flatnonzero(rest)
    if not len(rows):
        return
    words: Words = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
    kept = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)[rest[rows]]
    hashes[rows] = (hashes[rows] ^ words[at[rows]] & kept) * _M
