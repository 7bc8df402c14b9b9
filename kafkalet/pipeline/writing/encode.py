"""Records as they lie in batches of format 2 (DefaultRecord), for many batches at once and without a loop over records.

    length    attributes (0)    timestamp delta    offset delta    key length    key    value length    value
    header count    per header: key length, key, value length, value

All numbers but the attributes are varints; a length of -1 stands for null. The numbers of all records are laid out in
NumPy, then Arrow joins them with keys, values and headers: what comes out is one buffer with all records one behind
the other, and the positions where batches begin in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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


_NO_HEADERS = pa.scalar(b"\0", pa.binary())
_EMPTY = pa.scalar(b"", pa.binary())


class EncodedFields(NamedTuple):
    """What records are made of, column by column."""

    timestamp: Longs
    """Milliseconds."""
    key: pa.Array | None
    """Binary; None: all are null."""
    value: pa.Array
    tail: pa.Array | None
    """The headers with their count, encoded; None: no record has any."""

    @property
    def rows(self) -> int:
        return len(self.timestamp)

    def slice(self, start: int, count: int) -> EncodedFields:
        """Some of the records; nothing is copied."""
        key = None if self.key is None else self.key.slice(start, count)
        tail = None if self.tail is None else self.tail.slice(start, count)
        return EncodedFields(self.timestamp[start : start + count], key, self.value.slice(start, count), tail)

    def sizes(self) -> Longs:
        """Bytes of each record but for its length, timestamp and offset."""
        value = lengths(self.value)
        sizes = 1 + size(value) + np.maximum(value, 0)
        if self.key is None:
            sizes += 1
        else:
            key = lengths(self.key)
            sizes += size(key) + np.maximum(key, 0)
        sizes += 1 if self.tail is None else lengths(self.tail)
        return sizes


class Encoded(NamedTuple):
    """The records of batches."""

    data: memoryview
    cuts: list[int]
    """Where in `data` each batch begins, and at last where it ends."""

    def payload(self, batch: int) -> memoryview:
        """The records of one batch."""
        return self.data[self.cuts[batch] : self.cuts[batch + 1]]


def encode(fields: EncodedFields, firsts: Longs, sizes: Longs) -> Encoded:
    """The records of the batches that begin at rows `firsts` (the first of them 0); `sizes` are `fields.sizes()`."""
    count = fields.rows
    counts = np.diff(firsts, append=count)
    timestamps = fields.timestamp - np.repeat(fields.timestamp[firsts], counts)
    offsets = np.arange(count, dtype=np.int64) - np.repeat(firsts, counts)
    length = sizes + size(timestamps) + size(offsets)
    value_length = lengths(fields.value)
    tail = _NO_HEADERS if fields.tail is None else fields.tail
    if fields.key is None:
        parts = [spell((length, 0, timestamps, offsets, -1, value_length), count), fields.value, tail]
    else:
        front = spell((length, 0, timestamps, offsets, lengths(fields.key)), count)
        parts = [front, fields.key, spell((value_length,), count), fields.value, tail]
    joined = pc.binary_join_element_wise(*parts, _EMPTY, null_handling="replace", null_replacement=b"")
    ends = np.frombuffer(joined.buffers()[1], np.int32)[joined.offset : joined.offset + count + 1]
    cuts = [*ends[firsts].tolist(), int(ends[-1])]
    return Encoded(memoryview(joined.buffers()[2]).cast("B"), cuts)


def lengths(column: pa.Array) -> Longs:
    """The length of each value in bytes, -1 for null."""
    found: Longs = pc.binary_length(column).fill_null(-1).to_numpy().astype(np.int64)
    return found


def encode_headers(headers: pa.Array) -> pa.Array:
    """A column of headers (lists of structs of key and value) as it follows the values: count, then each header.

    A null list is one without entries. Raises ValueError for a header without a key.
    """
    counts = pc.list_value_length(headers).fill_null(0).to_numpy().astype(np.int64)
    flat = headers.flatten()
    keys, values = flat.flatten()  # with the nulls of the structs themselves
    if keys.null_count:
        raise ValueError("a header without a key")
    keys, values = keys.cast(pa.binary()), values.cast(pa.binary())
    key_sizes, value_sizes = lengths(keys), lengths(values)
    each = pc.binary_join_element_wise(
        spell((key_sizes,), len(flat)),
        keys,
        spell((value_sizes,), len(flat)),
        values,
        _EMPTY,
        null_handling="replace",
        null_replacement=b"",
    )
    until = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=until[1:])
    ends = np.frombuffer(each.buffers()[1], np.int32)[each.offset : each.offset + len(each) + 1]
    bounds = np.ascontiguousarray(ends[until])
    entries = pa.Array.from_buffers(pa.binary(), len(counts), [None, pa.py_buffer(bounds), each.buffers()[2]])
    return pc.binary_join_element_wise(spell((counts,), len(counts)), entries, _EMPTY)
