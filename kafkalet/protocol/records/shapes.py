"""The shape of a record: where its fields lie; and columns: the same byte of many records.

What decides where something lies in a record is not much: the bytes of all lengths, the count of headers, the high bits
of the timestamp and of the offset. Where these bytes are the same in record after record, the records read alike, and a
column of them, a slice with a step, is compared in one go. `runs.py` says which records those are.

Left to the exact reader (`Unusual`) are integers so long that they might overflow, negative lengths in headers, offsets
out of order.
"""

from collections.abc import Callable
from typing import NamedTuple

from .varint import HIGH, LOW

TIMESTAMP_BYTES = 8
"""Longer timestamps might overflow; so might shorter ones on a base beyond 2^62."""

Span = tuple[int, int] | None
"""Where a field lies, from the start of its record; None for null."""

Column = Callable[[int, int], bytes | bytearray]
"""(position in a record, number of records) -> that byte of each of them."""


class Unusual(Exception):
    """The reader for usual records does not know what to make of this one."""


def read_long(buffer: bytes | bytearray, position: int, limit: int = 4) -> tuple[int, int]:
    """An unsigned varint of at most `limit` bytes: (number, position behind it)."""
    value = 0
    for index in range(limit):
        byte = buffer[position + index]
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value, position + index + 1
    raise Unusual


class Shape(NamedTuple):
    """Where the parts of a record lie; positions are from its start."""

    size_bytes: int  # of the record's length
    timestamp: tuple[int, int]
    offset: tuple[int, int]
    key: Span
    value_length: tuple[int, int]
    value: Span
    headers: list[tuple[tuple[int, int], Span]]
    lengths: list[int]  # the bytes of the lengths of key and headers, and of the count of headers
    size: int


def shape_of(buffer: bytes | bytearray, start: int, index: int) -> Shape:
    """The shape of the record at `start`, whose offset delta has to be `index`. Raises Unusual or IndexError."""
    lengths: list[int] = []

    def number(at: int) -> tuple[int, int]:
        value, end = read_long(buffer, at)
        lengths.extend(range(at - start, end - start))
        return value, end

    def span(at: int) -> tuple[Span, int]:
        size, end = number(at)
        if size & 1:
            return None, end
        return (end - start, end - start + (size >> 1)), end + (size >> 1)

    size, body = read_long(buffer, start)
    _, timestamp_end = read_long(buffer, body + 1, TIMESTAMP_BYTES)
    offset_delta, offset_end = read_long(buffer, timestamp_end)
    key, value_length = span(offset_end)
    before = len(lengths)
    value, position = span(value_length)
    value_length_bytes = len(lengths) - before
    del lengths[before:]
    header_count, position = number(position)
    headers = []
    for _ in range(header_count >> 1):
        header_key, position = span(position)
        header_value, position = span(position)
        if header_key is None:
            raise Unusual
        headers.append((header_key, header_value))
    if position - body << 1 != size or header_count & 1 or offset_delta != index << 1:
        raise Unusual
    return Shape(
        body - start,
        (body + 1 - start, timestamp_end - start),
        (timestamp_end - start, offset_end - start),
        key,
        (value_length - start, value_length - start + value_length_bytes),
        value,
        headers,
        lengths,
        position - start,
    )


_ONE_BYTE = bytes(range(0, 128, 2))
_EACH = [bytes((byte,)) for byte in range(256)]
_ALL = bytes(range(256))
EVEN = bytes(range(0, 256, 2))
GOES_ON = bytes(range(128, 256))
"""The bytes of a varint that are not its last one."""
LAST = bytes(range(128))


def leading(column: bytes | bytearray, allowed: bytes) -> int:
    """How many bytes at the start of `column` are among the `allowed`."""
    return len(column) - len(column.lstrip(allowed)) if column.translate(None, allowed) else len(column)


def leading_varints(columns: list[bytes | bytearray]) -> int:
    """How many rows at the start are varints with as many bytes as there are columns."""
    *others, last = columns
    count = len(last) if last.isascii() else leading(last, LAST)
    return min([count, *(leading(column, GOES_ON) for column in others)])


def leading_same(column: Column, places: list[int], count: int) -> int:
    """How many records, at most `count`, have the same bytes as the first one at all `places`."""
    for at in places:
        bytes_there = column(at, count)
        first = _EACH[bytes_there[0]]
        if bytes_there != first * count:
            count -= len(bytes_there.lstrip(first))
    return count


def leading_offsets(column: Column, place: tuple[int, int], index: int, count: int) -> int:
    """How many records, at most `count`, have the offset deltas `index`, `index` + 1, ..."""
    at, end = place
    if end - at == 1:
        return _leading_equal(column(at, count), _ONE_BYTE[index : index + count])
    if end - at == 2:
        count = _leading_equal(column(at, count), LOW[index : index + count])
        return _leading_equal(column(at + 1, count), HIGH[index : index + count])
    raise Unusual  # a batch of more than 8192 records


def _leading_equal(column: bytes | bytearray, expected: bytes) -> int:
    if column == expected:
        return len(column)
    both = min(len(column), len(expected))
    return next((index for index in range(both) if column[index] != expected[index]), both)


def largest_byte(column: bytes) -> int:
    """max(column), bit by bit: eight passes in C are faster than a comparison of integers for each byte."""
    if len(column) < 64:
        return max(column)
    largest = 0
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        rest = column.translate(None, _ALL[: largest | bit])
        if rest:
            column, largest = rest, largest | bit
    return largest
