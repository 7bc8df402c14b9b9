"""Read the headers of format 2 records, for all records in parallel.

The second header of a record begins after the first, so headers are read in steps: the first header of every record,
then the second header of every record that has one, and so on. Once only a few records are left, their remaining
headers are read one by one.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kafkalet.protocol.records.varint import VarintTooLong, read_varint
from kafkalet.protocol.wire import Buffer

from .batches import Bytes, Int64s, Mask
from .spans import binary_column
from .varints import read_varints

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
"""The type of the headers column, as in Spark's Kafka source."""
SMALLEST_HEADER = 2
FEWEST = 16
"""With fewer records than this, a vectorized step is not worthwhile."""


class Headers(NamedTuple):
    """The headers of records, one row per header, in order. Positions are relative to the buffer; sizes are in bytes,
    and negative for a null value."""

    key: Int64s
    key_size: Int64s
    value: Int64s
    value_size: Int64s


def read_headers(data: Bytes, position: Int64s, count: Int64s, end: Int64s) -> tuple[Headers, Mask]:
    """Read the headers of each record: `count` per record (> 0). Return the headers, and a mask of the records whose
    headers are proven to end at `end`.

    For all other records, the contents of the header rows are meaningless. There are still `count` rows per record,
    unless the record is too short for that many headers.
    """
    is_sound = count <= (end - position) // SMALLEST_HEADER
    count = np.where(is_sound, count, 0)
    total = int(count.sum())
    headers = Headers(*(np.zeros(total, np.int64) for _ in range(4)))
    order = np.argsort(-count, kind="stable")
    position, sorted_count = position[order], count[order]
    slot = (np.cumsum(count) - count)[order]
    is_odd = np.zeros(order.size, np.bool_)
    having = order.size - np.cumsum(np.bincount(count, minlength=1))  # having[n] records have more than n
    step = 0
    for lanes in having.tolist():
        if lanes < FEWEST:
            break
        row = slot[:lanes] + step
        key_size, key = read_varints(data, position[:lanes])
        value_size, value = read_varints(data, key + np.maximum(key_size, 0))
        for column, numbers in zip(headers, (key, key_size, value, value_size), strict=True):
            column[row] = numbers
        is_odd[:lanes] |= key_size < 0
        position[:lanes] = value + np.maximum(value_size, 0)
        step += 1
    for lane in range(int(having[step]) if step < having.size else 0):
        bounds = int(position[lane]), int(end[order[lane]])
        rows = range(int(slot[lane]) + step, int(slot[lane] + sorted_count[lane]))
        position[lane] = _read_one_by_one(memoryview(data.data), *bounds, rows, headers)
    is_sound[order] &= (position == end[order]) & ~is_odd
    return headers, is_sound


def _read_one_by_one(data: Buffer, position: int, end: int, rows: range, headers: Headers) -> int:
    """Read the headers of one record into `rows`. Return the position after them, or -1 if they are invalid."""
    for row in rows:
        if position >= end:
            return -1
        try:
            key_size, key = read_varint(data, position)
            value_size, value = read_varint(data, key + key_size)
        except (IndexError, VarintTooLong):
            return -1
        if key_size < 0:
            return -1
        headers.key[row], headers.key_size[row] = key, key_size
        headers.value[row], headers.value_size[row] = value, value_size
        position = value + max(value_size, 0)
    return position


def header_column(buffer: Buffer, count: Int64s, headers: Headers) -> Any:
    """Return one list of headers per record; null if the record has no headers."""
    offsets = np.zeros(count.size + 1, np.int32)
    np.cumsum(count, out=offsets[1:])
    keys = name_column(binary_column(buffer, headers.key, headers.key_size))
    values = binary_column(buffer, headers.value, headers.value_size)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), pairs, HEADERS, mask=pa.array(count == 0))


def no_headers(count: int) -> Any:
    """Return the headers column of `count` records without headers."""
    return pa.nulls(count, HEADERS)


def name_column(keys: Any) -> Any:
    """Decode header keys as Java does: invalid UTF-8 becomes U+FFFD."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        distinct = keys.dictionary_encode()
        texts = [decoded_name(name) for name in distinct.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(distinct.indices)


def decoded_name(name: bytes) -> str:
    return name.decode("utf-8", "replace")
