"""Sketches of the most frequent keys and of the number of distinct keys, in bounded memory.

Frequent keys: counts of the CAPACITY most frequent keys so far (a Misra-Gries summary, merged as in Agarwal et al.).
When the capacity is exceeded, the count of the first excess key is subtracted from all counts. A count may therefore
be too low, by at most the total that was subtracted, but never too high. With up to CAPACITY distinct keys, all counts
are exact.

Distinct keys: the K smallest of the 64-bit hashes of all keys (KMV, Bar-Yossef et al.). If the K-th smallest hash is at
fraction f of the range, there are about (K - 1) / f keys, with an error of about 2 %. With fewer than K keys, the
number is exact.

Both sketches can be merged, in any order.
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
    """A sketch of the keys of a set of records."""

    records: int = 0
    without_key: int = 0
    key: Any = None
    """pa.BinaryArray of the most frequent keys, in descending order; None if there are none."""
    counts: npt.NDArray[np.int64] = np.empty(0, np.int64)
    """A lower bound on the number of records with each key."""
    too_low_by: int = 0
    """The maximum error of the counts."""
    smallest: Hashes = np.empty(0, np.uint64)

    @property
    def distinct(self) -> int:
        """The estimated number of distinct keys."""
        if self.smallest.size < SMALLEST:
            return int(self.smallest.size)
        return round((SMALLEST - 1) / ((float(self.smallest[-1]) + 1) / _SPAN))

    @property
    def distinct_is_exact(self) -> bool:
        return self.smallest.size < SMALLEST

    def with_keys(self, keys: Any) -> Keys:
        """Add a pa.BinaryArray of keys, which is null for records without a key."""
        without = keys.null_count
        if without == len(keys):
            return self._replace(records=self.records + len(keys), without_key=self.without_key + without)
        counted = pc.value_counts(keys.drop_null() if without else keys)
        key, count = counted.field("values"), counted.field("counts").to_numpy()
        hashed = hashes(key)
        if self.smallest.size == SMALLEST:  # discard most hashes before sorting
            hashed = hashed[hashed < self.smallest[-1]]
        smallest = np.unique(hashed)[:SMALLEST]
        return self.merged_with(Keys(len(keys), without, key, count, 0, smallest))

    def merged_with(self, other: Keys) -> Keys:
        """Merge two sketches."""
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
