"""Runs: neighbouring records that have the same shape, found by comparing columns of bytes.

Producers of metrics, log lines or test data write many records of one size, one after the other. If a record is
`stride` bytes long and has, say, its key length in byte 5, then so have those behind it if the bytes p + 5,
p + 5 + stride, p + 5 + 2 * stride, ... are all the same; and that is one slice with a step and one comparison, 15 ns a
record where reading its fields takes 400.

This is exact, not a guess. Once every byte that decides where something lies has been compared (all lengths, the
counts of headers, the high bits of the timestamps, the offsets, which have to go up by one), each record of the run
reads like the first one, by induction over the starts of the records. Where a column breaks, the run ends.

`record.py` and `walk.py` share what is here. They raise Unusual for what they leave to the exact reader: integers so
long that they might overflow, negative lengths in headers, offsets out of order.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from .varint import HIGH, LOW

MIN_RECORDS = 16
"""Below that, looking for a run costs more than it saves."""

TIMESTAMP_BYTES = 8
"""Longer timestamps might overflow; so might shorter ones on a base beyond 2^62."""

Span = tuple[int, int] | None
"""Where a field lies, from the start of its record; None for null."""


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
    """What a record and the followers of a run have in common."""

    stride: int  # the size of a record in bytes
    same: list[int]  # where the bytes lie that have to be the same: those of all lengths
    timestamp: tuple[int, int]
    offset: tuple[int, int]
    key: Span
    value: Span
    headers: list[tuple[tuple[int, int], Span]]


def _shape(buffer: bytes | bytearray, start: int, index: int) -> Shape:
    """The shape of the record at `start`, whose offset delta has to be `index`."""
    same: list[int] = []

    def span(at: int) -> tuple[Span, int]:
        size, end = read_long(buffer, at)
        same.extend(range(at - start, end - start))
        if size & 1:
            return None, end
        return (end - start, end - start + (size >> 1)), end + (size >> 1)

    size, body = read_long(buffer, start)
    same.extend(range(body - start))
    _, timestamp_end = read_long(buffer, body + 1, TIMESTAMP_BYTES)
    offset_delta, offset_end = read_long(buffer, timestamp_end)
    key, position = span(offset_end)
    value, position = span(position)
    header_count, end = read_long(buffer, position)
    same.extend(range(position - start, end - start))
    position = end
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
        position - start,
        same,
        (body + 1 - start, timestamp_end - start),
        (timestamp_end - start, offset_end - start),
        key,
        value,
        headers,
    )


_ONE_BYTE = bytes(range(0, 128, 2))
_EACH = [bytes((byte,)) for byte in range(256)]
_EVEN = bytes(range(0, 256, 2))
_GOES_ON = bytes(range(128, 256))
_LAST = bytes(range(128))
_ALL = bytes(range(256))


def _leading(column: bytes | bytearray, expected: bytes) -> int:
    """How many bytes at the start of both are the same."""
    if column == expected:
        return len(column)
    both = min(len(column), len(expected))
    return next((index for index in range(both) if column[index] != expected[index]), both)


def _offsets_in_order(buffer: bytes | bytearray, start: int, shape: Shape, index: int, count: int) -> int:
    """How many records, at most `count`, have the offset deltas `index`, `index` + 1, ..."""
    at, end = shape.offset
    stop = start + count * shape.stride
    if end - at == 1:
        return _leading(buffer[start + at : stop : shape.stride], _ONE_BYTE[index : index + count])
    if end - at == 2:
        low = _leading(buffer[start + at : stop : shape.stride], LOW[index : index + count])
        return min(low, _leading(buffer[start + at + 1 : stop : shape.stride], HIGH[index : index + count]))
    raise Unusual  # a batch of more than 8192 records


def _largest_byte(column: bytes) -> int:
    """max(column), bit by bit: eight passes in C are faster than a comparison of integers for each byte."""
    if len(column) < 64:
        return max(column)
    largest = 0
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        rest = column.translate(None, _ALL[: largest | bit])
        if rest:
            column, largest = rest, largest | bit
    return largest


class Run(NamedTuple):
    """`length` records of one shape, the first of which starts at `start`; their offset deltas go up by one."""

    length: int
    start: int
    shape: Shape
    columns: list[bytes]  # of the timestamps, the lowest byte first

    def end(self) -> int:
        return self.start + self.length * self.shape.stride

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
            byte = _largest_byte(column)
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


def find_run(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run:
    """The run that begins with the record at `start`, the `index`-th of its batch: 1 to `count` records before `end`.

    Raises Unusual or IndexError when that record is none for this. So it does, quickly, when the record that would end
    the shortest useful run has another length.
    """
    size, body = read_long(buffer, start)
    stride = body - start + (size >> 1)
    count = min(count, (end - start) // stride)
    last = start + (MIN_RECORDS - 1) * stride
    if count < MIN_RECORDS or buffer[last : last + body - start] != buffer[start:body]:
        raise Unusual
    shape = _shape(buffer, start, index)
    stop = start + count * stride
    for at in shape.same:
        byte = _EACH[buffer[start + at]]
        column = buffer[start + at : stop : stride]
        if column != byte * count:
            count -= len(column.lstrip(byte))
            stop = start + count * stride
    count = _offsets_in_order(buffer, start, shape, index, count)
    columns = []
    first, last = shape.timestamp
    for at in range(first, last):
        column = bytes(buffer[start + at : start + count * stride : stride])
        if at < last - 1:
            if column.translate(None, _GOES_ON):
                count -= len(column.lstrip(_GOES_ON))
        elif not column.isascii():
            count -= len(column.lstrip(_LAST))
        columns.append(column)
    return Run(count, start, shape, [column[:count] for column in columns])


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
    position, index, stretch, at_most = start, 0, 16, 64
    while index < count:
        if count - index >= MIN_RECORDS:
            try:
                run = find_run(buffer, position, end, index, min(at_most, count - index))
            except Unusual:
                stretch *= 2
            else:
                reader.take_run(run, index)
                index += run.length
                position = run.end()
                if run.length >= MIN_RECORDS:
                    stretch, at_most = 16, 8 * run.length
                    continue
                stretch *= 2
        until = min(count, index + stretch)
        position = reader.one_by_one(position, index, until)
        index = until
    if position != end:
        raise Unusual
