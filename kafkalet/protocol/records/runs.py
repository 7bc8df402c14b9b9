"""Runs: neighbouring records of one size and shape, read together by comparing columns of bytes.

Producers of metrics, log lines or test data write many records of one size, one after the other. What decides where
the fields of a record lie is not much: the bytes of all lengths, the count of headers, the high bits of the timestamp
and of the offset. If the first record is `size` bytes long and has, say, its key length in byte 5, then so have those
behind it if the bytes p + 5, p + 5 + size, p + 5 + 2 * size, ... are all the same; and that is one slice with a step
(a column) and one comparison. A walk over such records takes 80 ns a record, one field after the other 500.

This is exact, not a guess: each record of a run reads like the first one, by induction over their starts. Where a
column breaks, the run ends. Records that are not of one size are read one by one.

Left to the exact reader (`Unusual`) are integers so long that they might overflow, negative lengths in headers, offsets
out of order.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

from .varint import HIGH, LOW

TIMESTAMP_BYTES = 8
"""Longer timestamps might overflow; so might shorter ones on a base beyond 2^62."""
MIN_RECORDS = 32
"""With fewer, looking for a run costs more than it saves."""
FIRST_RECORDS = 64
"""The first run that is looked for has at most so many: their offsets have one byte, those behind have two."""

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


# The shape of a record


class Shape(NamedTuple):
    """Where the parts of a record lie; positions are from its start."""

    timestamp: tuple[int, int]
    offset: tuple[int, int]
    key: Span
    value: Span
    headers: list[tuple[tuple[int, int], Span]]
    lengths: list[int]  # the bytes of all lengths, and of the count of headers
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

    size, body = number(start)
    _, timestamp_end = read_long(buffer, body + 1, TIMESTAMP_BYTES)
    offset_delta, offset_end = read_long(buffer, timestamp_end)
    key, position = span(offset_end)
    value, position = span(position)
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
    timestamp = (body + 1 - start, timestamp_end - start)
    return Shape(timestamp, (timestamp_end - start, offset_end - start), key, value, headers, lengths, position - start)


# Columns

_ONE_BYTE = bytes(range(0, 128, 2))
_EACH = [bytes((byte,)) for byte in range(256)]
_ALL = bytes(range(256))
_EVEN = bytes(range(0, 256, 2))
_GOES_ON = bytes(range(128, 256))
"""The bytes of a varint that are not its last one."""
_LAST = bytes(range(128))


def _leading(column: bytes | bytearray, allowed: bytes) -> int:
    """How many bytes at the start of `column` are among the `allowed`."""
    return len(column) - len(column.lstrip(allowed)) if column.translate(None, allowed) else len(column)


def leading_varints(columns: list[bytes | bytearray]) -> int:
    """How many rows at the start are varints with as many bytes as there are columns."""
    *others, last = columns
    count = len(last) if last.isascii() else _leading(last, _LAST)
    return min([count, *(_leading(column, _GOES_ON) for column in others)])


def _leading_same(column: Column, places: list[int], count: int) -> int:
    """How many records, at most `count`, have the same bytes as the first one at all `places`."""
    for at in places:
        bytes_there = column(at, count)
        first = _EACH[bytes_there[0]]
        if bytes_there != first * count:
            count -= len(bytes_there.lstrip(first))
    return count


def _leading_offsets(column: Column, place: tuple[int, int], index: int, count: int) -> int:
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


# Runs


class Run(NamedTuple):
    """`length` records; their offset deltas go up by one."""

    length: int
    starts: range
    end: int
    shape: Shape
    columns: list[bytes]
    """Of the timestamps, the lowest byte first."""

    def timestamps(self) -> Sequence[int]:
        """The timestamp deltas, zig-zag as they lie there."""
        numbers: Sequence[int] = self.columns[0]
        for index, column in enumerate(self.columns[1:], 1):
            shift = 7 * index
            numbers = [number & (1 << shift) - 1 | byte << shift for number, byte in zip(numbers, column, strict=True)]
        return numbers

    def largest_timestamp(self) -> tuple[int, int]:
        """The largest delta, if none is negative, and where it comes first; from the highest byte down."""
        first, end, largest = 0, self.length, 0
        for index in reversed(range(len(self.columns))):
            column = self.columns[index][first:end]
            byte = largest_byte(column)
            largest = largest << 7 | byte & 127
            end = first + column.rfind(byte) + 1
            first += column.find(byte)
            if index and column.count(byte) != end - first:  # others in between: no part to look at alone
                deltas = self.timestamps()
                return max(deltas), deltas.index(max(deltas))
        return largest, first

    def has_negative_timestamp(self) -> bool:
        """Is one of the deltas below 0?"""
        return self.columns[0].translate(None, _EVEN) != b""

    def field(self, buffer: bytes, span: Span) -> Iterable[bytes | None]:
        """One field of all records, out of the buffer in which the run was found."""
        if span is None:
            return repeat(None, self.length)
        first, last = span
        return [buffer[start + first : start + last] for start in self.starts]


def find_run(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run:
    """The run that begins with the record at `start`, the `index`-th of its batch: 1 to `count` records before `end`.

    Raises Unusual or IndexError when there is none. So it does, quickly, when the record that would end the shortest
    useful run has another length.
    """
    size, body = read_long(buffer, start)
    stride = body - start + (size >> 1)
    count = min(count, (end - start) // stride)
    last = start + (MIN_RECORDS - 1) * stride
    if count < MIN_RECORDS or buffer[last : last + body - start] != buffer[start:body]:
        raise Unusual
    shape = shape_of(buffer, start, index)

    def column(at: int, count: int) -> bytes | bytearray:
        return buffer[start + at : start + count * stride : stride]

    count = _leading_same(column, shape.lengths, count)
    count = _leading_offsets(column, shape.offset, index, count)
    columns = [bytes(column(at, count)) for at in range(*shape.timestamp)]
    count = leading_varints(list(columns))
    end = start + count * stride
    return Run(count, range(start, end, stride), end, shape, [column[:count] for column in columns])


# All records of a batch


class Reader(Protocol):
    """Takes in the records of a batch, in order, either way."""

    def one_by_one(self, position: int, index: int, until: int) -> int:
        """Take the records `index` to `until` - 1, the first of which starts at `position`: the position behind."""
        ...

    def take_run(self, run: Run, index: int) -> None:
        """Take the records `index` to `index` + run.length - 1."""
        ...


def sweep(buffer: bytes | bytearray, start: int, end: int, count: int, reader: Reader) -> None:
    """Let `reader` take `count` records, which have to fill `buffer[start:end]`: runs as runs, others one by one.

    Raises Unusual or IndexError where the records are not well-formed, or not sure to be. Where there are no runs, they
    are looked for less and less often.
    """
    position, index, stretch, at_most = start, 0, MIN_RECORDS, FIRST_RECORDS
    while index < count:
        wanted = min(count - index, at_most)
        try:
            run = find_run(buffer, position, end, index, wanted) if wanted >= MIN_RECORDS else None
        except Unusual:
            run = None
        if run is not None:
            reader.take_run(run, index)
            index += run.length
            position = run.end
            if run.length >= MIN_RECORDS:
                stretch, at_most = MIN_RECORDS, 8 * run.length
                continue
        until = min(count, index + stretch)
        position = reader.one_by_one(position, index, until)
        index = until
        stretch, at_most = 4 * stretch, FIRST_RECORDS
    if position != end:
        raise Unusual
