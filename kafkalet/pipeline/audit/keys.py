"""Which keys are heavy, and how many there are, in bounded memory.

Heavy keys: the counts of the CAPACITY heaviest so far (Misra and Gries' summary, merged as Agarwal and others showed).
When there are more, the count of the first one too many is taken off all, so that a key's count may be too low by what
was taken off in total, never too high; with fewer distinct keys than the capacity all counts are exact.

Distinct keys: the smallest K of 64-bit hashes of all keys (Bar-Yossef and others). If the K-th smallest lies at a
fraction f of the range, there are about (K - 1) / f keys, give or take 2 %; with fewer than K the number is exact.

Both sketches of two stretches make that of both together, whichever comes first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

CAPACITY = 1024
SMALLEST = 2048
BLOCK_BYTES = 1 << 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(33)
_SPAN = float(1 << 64)

Hashes = npt.NDArray[np.uint64]


class Keys(NamedTuple):
    """A sketch of the keys of some records."""

    records: int = 0
    without_key: int = 0
    key: Any = None
    """pa.BinaryArray of the heaviest keys, the heaviest first; None for none."""
    counts: npt.NDArray[np.int64] = np.empty(0, np.int64)
    """How often each comes, at least."""
    too_low_by: int = 0
    """At most."""
    smallest: Hashes = np.empty(0, np.uint64)

    @property
    def distinct(self) -> int:
        """About how many keys there are."""
        if self.smallest.size < SMALLEST:
            return int(self.smallest.size)
        return round((SMALLEST - 1) / ((float(self.smallest[-1]) + 1) / _SPAN))

    @property
    def distinct_is_exact(self) -> bool:
        return self.smallest.size < SMALLEST

    def and_those(self, keys: Any) -> Keys:
        """With one more pa.BinaryArray of keys, null where a record has none."""
        without = keys.null_count
        if without == len(keys):
            return self._replace(records=self.records + len(keys), without_key=self.without_key + without)
        counted = pc.value_counts(keys.drop_null() if without else keys)
        key, count = counted.field("values"), counted.field("counts").to_numpy()
        hashed = hashes(key)
        if self.smallest.size == SMALLEST:  # most are not among the smallest any more
            hashed = hashed[hashed < self.smallest[-1]]
        smallest = np.unique(hashed)[:SMALLEST]
        return self.and_also(Keys(len(keys), without, key, count, 0, smallest))

    def and_also(self, other: Keys) -> Keys:
        """The sketch of both."""
        key, count, dropped = _heaviest(self, other)
        return Keys(
            self.records + other.records,
            self.without_key + other.without_key,
            key,
            count,
            self.too_low_by + other.too_low_by + dropped,
            np.union1d(self.smallest, other.smallest)[:SMALLEST],
        )


def _heaviest(one: Keys, other: Keys) -> tuple[Any, npt.NDArray[np.int64], int]:
    if one.key is None and other.key is None:
        return None, one.counts, 0
    parts = [part for part in (one, other) if part.key is not None]
    table = pa.table(
        {
            "key": pa.concat_arrays([part.key for part in parts]),
            "count": np.concatenate([part.counts for part in parts]),
        }
    )
    if len(parts) > 1:
        table = table.group_by("key").aggregate([("count", "sum")]).rename_columns(["key", "count"])
    count = table["count"].to_numpy()
    order = np.argsort(-count, kind="stable")
    dropped = int(count[order[CAPACITY]]) if order.size > CAPACITY else 0
    order = order[:CAPACITY]
    order = order[count[order] > dropped]
    return table["key"].combine_chunks().take(pa.array(order)), count[order] - dropped, dropped


def hashes(keys: Any) -> Hashes:
    """64-bit hashes of a pa.BinaryArray without nulls: polynomials over their bytes, mixed."""
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
