"""Runs: consecutive records of the same size and shape, which are processed together by comparing columns of bytes.

Producers of metrics, log lines or test data often write many records of the same size. The positions of a record's
fields depend on only a few bytes: those that encode lengths and the header count, and the high bits of those that
encode the timestamp and the offset. If the first record has `size` bytes and, say, its key length in byte 5, then the
following records have the same key length if the bytes p + 5, p + 5 + size, p + 5 + 2 * size, ... are all equal. This
check takes one extended slice (a column) and one comparison. Validating such records takes 80 ns per record, compared
with 500 ns field by field.

The method is exact: by induction from each record to the next, all records of a run have the same structure as the
first one. The run ends where a column differs. Records of different sizes are processed individually.

The following cases raise `Unusual`, which leaves them to the exact reader: integers that are long enough to overflow,
negative lengths in headers, and offsets that are not consecutive.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

from .interruption import check
from .varint import HIGH, LOW, MIDDLE

TIMESTAMP_BYTES = 8
"""The maximum size of a timestamp delta. Longer deltas may overflow; so may shorter ones if the base is beyond 2^62."""
MIN_RECORDS = 32
"""The minimum length of a run. Searching for shorter runs costs more than it saves."""
FIRST_RECORDS = 64
"""The maximum length of the first run. Its offset deltas take one byte; those of later records take two."""
MOST_STRETCH = 1 << 15
"""How many records are processed individually before the next search for a run."""
MOST_HEADERS = 1 << 14
"""Twice the number of headers that a fast reader processes. The exact reader can be interrupted between two headers."""

Span = tuple[int, int] | None
"""The start and end of a field, relative to the start of its record; None for null."""

Column = Callable[[int, int], bytes | bytearray]
"""A function (position, count) that returns the byte at this position in each of the first `count` records."""


class Unusual(Exception):
    """The fast reader cannot process a record and leaves the batch to the exact reader."""


def read_long(buffer: bytes | bytearray, position: int, limit: int = 4) -> tuple[int, int]:
    """Read an unsigned varint of at most `limit` bytes. Return it and its end. Raises Unusual if it is longer."""
    value = 0
    for index in range(limit):
        byte = buffer[position + index]
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value, position + index + 1
    raise Unusual


# The shape of a record


class Shape(NamedTuple):
    """The positions of the fields of a record, relative to its start."""

    timestamp: tuple[int, int]
    offset: tuple[int, int]
    key: Span
    value: Span
    headers: list[tuple[tuple[int, int], Span]]
    lengths: list[int]  # the positions of the bytes that encode lengths and the header count
    size: int


def shape_of(buffer: bytes | bytearray, start: int, index: int) -> Shape:
    """Return the shape of the record at `start`, whose offset delta has to be `index`. Raises Unusual or IndexError."""
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
"""The possible values of a varint byte that is followed by another."""
_LAST = bytes(range(128))


def _leading(column: bytes | bytearray, allowed: bytes) -> int:
    """Return how many leading bytes of `column` are in `allowed`."""
    return len(column) - len(column.lstrip(allowed)) if column.translate(None, allowed) else len(column)


def leading_varints(columns: list[bytes | bytearray]) -> int:
    """Return how many leading rows are varints with one byte in each column."""
    *others, last = columns
    count = len(last) if last.isascii() else _leading(last, _LAST)
    return min([count, *(_leading(column, _GOES_ON) for column in others)])


def _leading_same(column: Column, places: list[int], count: int) -> int:
    """Return the number of leading records, at most `count`, that agree with the first record at all `places`."""
    for at in places:
        bytes_there = column(at, count)
        first = _EACH[bytes_there[0]]
        if bytes_there != first * count:
            count -= len(bytes_there.lstrip(first))
    return count


def _leading_offsets(column: Column, place: tuple[int, int], index: int, count: int) -> int:
    """Return the number of leading records, at most `count`, whose offset deltas are `index`, `index` + 1, ..."""
    at, end = place
    if end - at == 1:
        return _leading_equal(column(at, count), _ONE_BYTE[index : index + count])
    if end - at == 2:
        count = _leading_equal(column(at, count), LOW[index : index + count])
        return _leading_equal(column(at + 1, count), HIGH[index : index + count])
    if end - at == 3:  # up to the next multiple of 8192, at which the third byte changes
        block, first = index >> 13, index & 8191
        count = _leading_equal(column(at, count), LOW[first : first + count])
        count = _leading_equal(column(at + 1, count), MIDDLE[first : first + count])
        return _leading_equal(column(at + 2, count), bytes((block,)) * count)
    raise Unusual  # a batch of more than a million records


def _leading_equal(column: bytes | bytearray, expected: bytes) -> int:
    if column == expected:
        return len(column)
    both = min(len(column), len(expected))
    return next((index for index in range(both) if column[index] != expected[index]), both)


def largest_byte(column: bytes) -> int:
    """Return max(column), computed bit by bit: eight passes in C are faster than comparing all bytes as integers."""
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
    """A run of `length` records with consecutive offset deltas."""

    length: int
    starts: range
    end: int
    shape: Shape
    columns: list[bytes]
    """The bytes of the timestamp deltas, one column per byte, lowest byte first."""

    def timestamps(self) -> Sequence[int]:
        """Return the timestamp deltas in zig-zag encoding."""
        numbers: Sequence[int] = self.columns[0]
        for index, column in enumerate(self.columns[1:], 1):
            shift = 7 * index
            numbers = [number & (1 << shift) - 1 | byte << shift for number, byte in zip(numbers, column, strict=True)]
        return numbers

    def largest_timestamp(self) -> tuple[int, int]:
        """Return the largest timestamp delta in zig-zag encoding and the index of its first occurrence.

        No delta may be negative. The columns are searched from the highest byte down.
        """
        first, end, largest = 0, self.length, 0
        for index in reversed(range(len(self.columns))):
            column = self.columns[index][first:end]
            byte = largest_byte(column)
            largest = largest << 7 | byte & 127
            end = first + column.rfind(byte) + 1
            first += column.find(byte)
            if index and column.count(byte) != end - first:  # the largest bytes are not adjacent: compare all deltas
                deltas = self.timestamps()
                return max(deltas), deltas.index(max(deltas))
        return largest, first

    def has_negative_timestamp(self) -> bool:
        """Return whether any timestamp delta is negative."""
        return self.columns[0].translate(None, _EVEN) != b""

    def field(self, buffer: bytes, span: Span) -> Iterable[bytes | None]:
        """Return the values of a field in all records. `buffer` is the buffer in which the run was found."""
        if span is None:
            return repeat(None, self.length)
        first, last = span
        return [buffer[start + first : start + last] for start in self.starts]


def find_run(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run:
    """Return the run that begins with the record at `start`, whose index in its batch is `index`.

    The run has 1 to `count` records and ends at or before `end`. Raises Unusual or IndexError if there is no run. To
    fail fast, the length of the record at the end of the shortest useful run is checked first.
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
    """Processes the records of a batch in order, individually or in runs."""

    def one_by_one(self, position: int, index: int, until: int) -> int:
        """Process the records `index` to `until` - 1, the first of which is at `position`. Return their end."""
        ...

    def take_run(self, run: Run, index: int) -> None:
        """Process the records `index` to `index` + run.length - 1."""
        ...


def sweep(buffer: bytes | bytearray, start: int, end: int, count: int, reader: Reader) -> None:
    """Pass the `count` records that fill `buffer[start:end]` to `reader`, in runs if possible.

    Raises Unusual or IndexError if the records are malformed, cannot be proven to be well-formed, or do not fill the
    range exactly. As long as no runs are found, the searches become less frequent.
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
        stretch, at_most = min(4 * stretch, MOST_STRETCH), FIRST_RECORDS
        if index < count:
            check()
    if position != end:
        raise Unusual
