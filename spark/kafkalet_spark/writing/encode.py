"""Encode the records of format 2 batches (DefaultRecord), for many batches at a time and without looping over records.

    length    attributes (0)    timestamp delta    offset delta    key length    key    value length    value
    header count    per header: key length, key, value length, value

All numbers except the attributes are varints; a length of -1 means null. NumPy encodes the numbers of all records, then
Arrow joins them with the keys, values and headers. The result is one buffer that holds all records, and the positions
in it at which batches begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def zigzag(numbers: Longs) -> NDArray[np.uint64]:
    """Map signed numbers to unsigned ones, such that numbers close to zero remain small."""
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def widths(coded: NDArray[np.uint64]) -> Longs:
    """Return the size of each number as a varint: 1 to 10 bytes."""
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
    """Return the size of each number as a zig-zag varint."""
    return widths(zigzag(numbers))


def spell(columns: Sequence[Longs | int], count: int) -> pa.Array:
    """Encode the numbers in all columns, row by row, as a binary array of `count` rows.

    If a column is given as a single number, that number is repeated in every row.
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


@cache
def _binary(value: bytes) -> pa.Scalar:
    """Return a binary scalar. It is created on first use, because creating a scalar makes Arrow import pandas."""
    return pa.scalar(value, pa.binary())


_NO_HEADERS = b"\0"


class EncodedFields(NamedTuple):
    """The fields of records, as columns."""

    timestamp: Longs
    """In milliseconds."""
    key: pa.Array | None
    """Binary; None if all keys are null."""
    value: pa.Array
    tail: pa.Array | None
    """The encoded headers, including their count; None if no record has headers."""

    @property
    def rows(self) -> int:
        return len(self.timestamp)

    def slice(self, start: int, count: int) -> EncodedFields:
        """Return a range of the records without copying."""
        key = None if self.key is None else self.key.slice(start, count)
        tail = None if self.tail is None else self.tail.slice(start, count)
        return EncodedFields(self.timestamp[start : start + count], key, self.value.slice(start, count), tail)

    def sizes(self) -> Longs:
        """Return the size of each record, without its length, timestamp and offset."""
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
    """The encoded records of some batches."""

    data: memoryview
    cuts: list[int]
    """The positions in `data` at which batches begin, followed by the end of the last batch."""

    def payload(self, batch: int) -> memoryview:
        """Return the records of one batch."""
        return self.data[self.cuts[batch] : self.cuts[batch + 1]]


def encode(fields: EncodedFields, firsts: Longs, sizes: Longs) -> Encoded:
    """Encode the records of the batches that begin at the rows `firsts`, the first of which must be 0. `sizes` must be
    `fields.sizes()`."""
    count = fields.rows
    counts = np.diff(firsts, append=count)
    timestamps = fields.timestamp - np.repeat(fields.timestamp[firsts], counts)
    offsets = np.arange(count, dtype=np.int64) - np.repeat(firsts, counts)
    length = sizes + size(timestamps) + size(offsets)
    value_length = lengths(fields.value)
    tail = _binary(_NO_HEADERS) if fields.tail is None else fields.tail
    if fields.key is None:
        parts = [spell((length, 0, timestamps, offsets, -1, value_length), count), fields.value, tail]
    else:
        front = spell((length, 0, timestamps, offsets, lengths(fields.key)), count)
        parts = [front, fields.key, spell((value_length,), count), fields.value, tail]
    joined = pc.binary_join_element_wise(*parts, _binary(b""), null_handling="replace", null_replacement=b"")
    ends = np.frombuffer(joined.buffers()[1], np.int32)[joined.offset : joined.offset + count + 1]
    cuts = [*ends[firsts].tolist(), int(ends[-1])]
    return Encoded(memoryview(joined.buffers()[2]).cast("B"), cuts)


def lengths(column: pa.Array) -> Longs:
    """Return the length of each value in bytes; -1 for null."""
    found: Longs = pc.binary_length(column).fill_null(-1).to_numpy().astype(np.int64)
    return found


def encode_headers(headers: pa.Array) -> pa.Array:
    """Encode a column of header lists (lists of structs of key and value), each as a count followed by the headers.

    A null list is encoded as an empty one. Raises ValueError for a header without a key.
    """
    counts = pc.list_value_length(headers).fill_null(0).to_numpy().astype(np.int64)
    flat = headers.flatten()
    keys, values = flat.flatten()  # null if the struct itself is null
    if keys.null_count:
        raise ValueError("a header without a key")
    keys, values = keys.cast(pa.binary()), values.cast(pa.binary())
    key_sizes, value_sizes = lengths(keys), lengths(values)
    each = pc.binary_join_element_wise(
        spell((key_sizes,), len(flat)),
        keys,
        spell((value_sizes,), len(flat)),
        values,
        _binary(b""),
        null_handling="replace",
        null_replacement=b"",
    )
    until = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=until[1:])
    ends = np.frombuffer(each.buffers()[1], np.int32)[each.offset : each.offset + len(each) + 1]
    bounds = np.ascontiguousarray(ends[until])
    entries = pa.Array.from_buffers(pa.binary(), len(counts), [None, pa.py_buffer(bounds), each.buffers()[2]])
    return pc.binary_join_element_wise(spell((counts,), len(counts)), entries, _binary(b""))
