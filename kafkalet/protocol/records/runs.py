"""Runs: neighbouring records of one shape, found by comparing columns of bytes.

Producers of metrics, log lines or test data write many records of one size, one after the other. If a record is
`size` bytes long and has, say, its key length in byte 5, then so have those behind it if the bytes p + 5,
p + 5 + size, p + 5 + 2 * size, ... are all the same; and that is one slice with a step and one comparison, 15 ns a
record where reading its fields takes 400.

More often only the values differ in size. Then the starts of the records have to be found one by one, but still their
heads, up to the value, are put side by side, and compared as columns: 200 ns a record. That each length fits its
value's is a subtraction of all the ones from all the others at once, in two large integers with a lane of 16 bits for
each.

This is exact, not a guess: each record of a run reads like the first one, by induction over their starts. Where a
column breaks, the run ends.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from operator import sub
from typing import NamedTuple

from .shapes import (
    EVEN,
    Column,
    Shape,
    Span,
    Unusual,
    largest_byte,
    leading,
    leading_offsets,
    leading_same,
    leading_varints,
    read_long,
    shape_of,
)

MIN_RECORDS = 16
MIN_RAGGED_RECORDS = 64
"""With fewer, looking for a run costs more than it saves; the second one is for values that differ in size."""

_MAX_HEAD_BYTES = 96
"""Heads with longer keys are not worth being copied."""


class Run(NamedTuple):
    """`length` records; their offset deltas go up by one."""

    length: int
    starts: Sequence[int]
    end: int
    shape: Shape
    """That of the first record, and of all but for the size of the value."""
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
        return self.columns[0].translate(None, EVEN) != b""

    def field(self, buffer: bytes, span: Span) -> Iterable[bytes | None]:
        """One field of all records, out of the buffer in which the run was found."""
        if span is None:
            return repeat(None, self.length)
        first, last = span
        if span is self.shape.value and not isinstance(self.starts, range):
            ends = chain(islice(self.starts, 1, None), (self.end,))
            return [buffer[start + first : end - 1] for start, end in zip(self.starts, ends, strict=True)]
        size = last - first
        if isinstance(self.starts, range):
            places = range(self.starts.start + first, self.starts.stop + first, self.starts.step)
            return [buffer[at : at + size] for at in places]
        return [buffer[start + first : start + last] for start in self.starts]


def _run(column: Column, places: list[int], shape: Shape, index: int, starts: Sequence[int], end: int) -> Run:
    """The run of the records from `starts` on whose columns agree; `end` is the end of the last one."""
    count = leading_same(column, places, len(starts))
    count = leading_offsets(column, shape.offset, index, count)
    columns = [bytes(column(at, count)) for at in range(*shape.timestamp)]
    count = leading_varints(list(columns))
    if count < len(starts):
        starts, end = starts[:count], starts[count]
    return Run(count, starts, end, shape, [column[:count] for column in columns])


def find_run(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run:
    """The run that begins with the record at `start`, the `index`-th of its batch: 1 to `count` records before `end`.

    All have the same size. Raises Unusual or IndexError when there is none. So it does, quickly, when the record that
    would end the shortest useful run has another length.
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

    places = [*range(shape.size_bytes), *shape.lengths, *range(*shape.value_length)]
    stop = start + count * stride
    return _run(column, places, shape, index, range(start, stop, stride), stop)


def find_ragged_run(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run:
    """The same for records whose values differ in size: below 8 KiB, and without headers."""
    shape = shape_of(buffer, start, index)
    head_bytes = shape.value_length[1]
    if shape.value is None or shape.headers or shape.size_bytes > 2 or head_bytes > _MAX_HEAD_BYTES:
        raise Unusual
    first_starts = _starts(buffer, start, end, MIN_RECORDS, shape.size_bytes)
    if not all(map(_sizes_like(shape).__contains__, map(sub, first_starts[1:], first_starts))):
        raise Unusual
    starts = _starts(buffer, start, end, count, shape.size_bytes)
    stop = starts.pop()
    if len(starts) < MIN_RECORDS:
        raise Unusual
    # Each head comes with the last byte of the record before it, that one's count of headers; the first with a zero.
    width = head_bytes + 1
    heads = [b"\0", buffer[start : start + head_bytes]]
    heads += [buffer[at - 1 : at + head_bytes] for at in islice(starts, 1, None)]
    matrix = b"".join(heads)

    def column(at: int, count: int) -> bytes:
        return matrix[at + 1 : count * width : width]

    count = leading(matrix[width::width] + buffer[stop - 1 : stop], b"\0")
    count = _leading_that_fit(column, shape, count)
    if not count:
        raise Unusual
    if count < len(starts):
        stop = starts[count]
        del starts[count:]
    places = [at for at in shape.lengths if at < head_bytes]
    return _run(column, places, shape, index, starts, stop)


def _sizes_like(shape: Shape) -> range:
    """The sizes of records in which the value's length has as many bytes as in one of this `shape`."""
    at, end = shape.value_length
    return range(end + 1, end + 65) if end - at == 1 else range(end + 65, end + 8193)


def _starts(buffer: bytes | bytearray, start: int, end: int, count: int, size_bytes: int) -> list[int]:
    """Where the next `count` records begin and the last one ends, if their lengths have `size_bytes` bytes, 1 or 2.

    There are fewer where `end` comes before that.
    """
    starts = [start]
    add = starts.append
    try:
        if size_bytes == 2:
            for _ in range(count):
                start += 2 + ((buffer[start + 1] << 7 | buffer[start] & 127) >> 1)
                add(start)
        else:
            for _ in range(count):
                start += 1 + (buffer[start] >> 1)
                add(start)
    except IndexError:
        pass
    while starts[-1] > end:
        starts.pop()
    return starts


def _leading_that_fit(column: Column, shape: Shape, count: int) -> int:
    """How many records, at most `count`, have a length that is that of their value and a constant more."""
    sizes = [column(at, count) for at in range(shape.size_bytes)]
    lengths = [column(at, count) for at in range(*shape.value_length)]
    count = min(leading_varints(sizes), leading_varints(lengths), leading(lengths[0], EVEN))
    if not count:
        return 0
    constant = shape.value_length[1] - shape.size_bytes + 1  # what is not value: the head, and no headers
    ones = int.from_bytes(b"\1\0" * count, "little")
    differing = _lanes(sizes, count, ones) - 2 * constant * ones ^ _lanes(lengths, count, ones)
    if not differing:
        return count
    return min(count, (differing & -differing).bit_length() - 1 >> 4)


def _lanes(columns: list[bytes | bytearray], count: int, ones: int) -> int:
    """Varints of one or two bytes as one integer, each in 16 bits of its own, the first one lowest."""
    pairs = bytearray(2 * count)
    pairs[::2] = columns[0][:count]
    if len(columns) > 1:
        pairs[1::2] = columns[1][:count]
    number = int.from_bytes(pairs, "little")
    return number >> 1 & 0x7F80 * ones | number & 0x7F * ones
