"""The sequences of a compressed zstd block: each is a number of literals, then a copy (RFC 8878, 3.1.1.3.2).

    count     1 byte below 128; otherwise 2 bytes, or 3 bytes if the first is ff
    modes     1 byte: 2 bits each for literal lengths, distances and copy lengths, highest bits first; the last 2 are 0
    tables    FSE tables in the same order. The mode determines the table: 0 the predefined table of the RFC, 1 a single
              code (1 byte), 2 a distribution, 3 the previous table
    stream    the initial states (literals, distance, copy); then for each sequence the extra bits of its three codes
              (distance, copy, literals) and the bits of its next states (literals, copy, distance)

A code stands for a base number and a number of extra bits, whose value is added to the base. The distance numbers 1 to
3 repeat one of the last three distances; all other distances are encoded as the distance plus 3.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from .streams import Corrupt
from .zstd_entropy import Cells, distribution, stream_bits

_FIXED, _ONE_CODE, _DISTRIBUTED = 0, 1, 2
_WINDOW_BYTES = 64
_MOST_BITS = 128
"""More than the maximum size of a sequence in bits: 31 + 16 + 16 extra bits, and 9 + 9 + 8 bits for the next states."""
_ZERO_BYTES = 4
"""The bytes of padding before the stream: more than the 9 + 9 + 8 bits for the states after the last sequence."""
_MASKS = [(1 << bits) - 1 for bits in range(_MOST_BITS)]


Sequence: TypeAlias = tuple[int, int, int]
"""A sequence: number of literals, distance, copy length. A distance of -2, -1 or 0 repeats the latest, second-latest or
third-latest distance."""

Step: TypeAlias = tuple[int, int, int, int, int]
"""A cell of a table: base number and extra bits of its code, bits and base of the next state, total number of bits."""


class Table(NamedTuple):
    """A table of 2^accuracy steps."""

    accuracy: int
    steps: dict[int, Step]


class _Steps(dict[int, Step]):
    """The steps of an FSE table. Like the cells, they are computed when they are first read."""

    __slots__ = ("_cells", "_codes")

    def __init__(self, codes: list[tuple[int, int]], cells: Cells) -> None:
        super().__init__()
        self._codes, self._cells = codes, cells

    def __missing__(self, state: int) -> Step:
        code, bits, base = self._cells[state]
        number, extra_bits = self._codes[code]
        step = self[state] = (number, extra_bits, bits, base, extra_bits + bits)
        return step


class Kind(NamedTuple):
    """The codes and the predefined table of literal lengths, distances or copy lengths."""

    codes: list[tuple[int, int]]  # (base number, number of extra bits)
    most_accuracy: int
    fixed_accuracy: int
    fixed: list[int]  # share of each code


def _codes(first: int, extra_bits: list[int]) -> list[tuple[int, int]]:
    """Return codes for adjacent ranges that begin at `first`."""
    codes = []
    for bits in extra_bits:
        codes.append((first, bits))
        first += 1 << bits
    return codes


LITERALS = Kind(
    _codes(0, [0] * 16 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    9,
    6,
    [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4,
)
DISTANCES = Kind(
    [((1 << bits) - 3, bits) for bits in range(32)],
    8,
    5,
    [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5,
)
COPIES = Kind(
    _codes(3, [0] * 32 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    9,
    6,
    [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7,
)
KINDS = (LITERALS, DISTANCES, COPIES)


@cache
def _fixed_table(index: int) -> Table:
    kind = KINDS[index]
    return Table(kind.fixed_accuracy, _Steps(kind.codes, Cells(kind.fixed, kind.fixed_accuracy)))


class Sequences:
    """Reads the sequences of all blocks of a frame, and keeps the tables from block to block."""

    def __init__(self) -> None:
        self.tables: list[Table | None] = [None, None, None]

    def read(self, data: bytes) -> Iterator[Sequence]:
        """Iterate over the sequences in `data`, the rest of a block. The iteration itself may raise Corrupt, too."""
        count, position = _count(data)
        if count == 0:
            if len(data) > position:
                raise Corrupt("unexpected data after the literals")
            return iter(())
        if position >= len(data) or data[position] & 3:
            raise Corrupt("invalid modes of sequences")
        modes = data[position]
        position += 1
        tables = []
        for index, shift in enumerate((6, 4, 2)):
            table, size = self._choose(index, modes >> shift & 3, data[position:])
            position += size
            tables.append(table)
        self.tables = [*tables]
        return _walk(data[position:], count, *tables)

    def _choose(self, index: int, mode: int, data: bytes) -> tuple[Table, int]:
        """Return the table selected by `mode`, and the size of its description in `data`."""
        kind = KINDS[index]
        if mode == _FIXED:
            return _fixed_table(index), 0
        if mode == _ONE_CODE:
            if not data or data[0] >= len(kind.codes):
                raise Corrupt("unknown sequence code")
            number, extra_bits = kind.codes[data[0]]
            return Table(0, {0: (number, extra_bits, 0, 0, extra_bits)}), 1
        if mode == _DISTRIBUTED:
            shares, accuracy, size = distribution(data, kind.most_accuracy, len(kind.codes) - 1)
            return Table(accuracy, _Steps(kind.codes, Cells(shares, accuracy))), size
        last = self.tables[index]
        if last is None:
            raise Corrupt("no previous FSE table")
        return last, 0


def _count(data: bytes) -> tuple[int, int]:
    """Read the number of sequences. Return the number and its size in bytes."""
    size = 1 if data[:1] < b"\x80" else 2 if data[:1] < b"\xff" else 3
    if len(data) < size:
        raise Corrupt("missing number of sequences")
    if size == 1:
        return data[0], 1
    if size == 2:
        return (data[0] - 128 << 8) + data[1], 2
    return 0x7F00 + data[1] + (data[2] << 8), 3


def _walk(stream: bytes, count: int, literals: Table, distances: Table, copies: Table) -> Iterator[Sequence]:
    """Iterate over the `count` sequences of a stream. Raises Corrupt unless they use all its bits.

    All bits of a sequence are read in one piece and are split starting with the lowest, that is, in reverse order. A
    sequence without any bits skips this step, because a block of ten bytes can contain 43,690 of them. The stream has
    no bits for the states after the last sequence; these are read from the zeros that are added before the stream.
    """
    left = stream_bits(stream) + 8 * _ZERO_BYTES
    stream = bytes(_ZERO_BYTES) + stream
    start = max(0, len(stream) - _WINDOW_BYTES)
    window = int.from_bytes(stream[start:], "little")
    at = left - 8 * start  # the number of remaining bits in the window
    at -= literals.accuracy + distances.accuracy + copies.accuracy
    if at < 0:
        raise Corrupt("truncated sequences")
    states = window >> at
    copy = states & _MASKS[copies.accuracy]
    states >>= copies.accuracy
    distance = states & _MASKS[distances.accuracy]
    literal = states >> distances.accuracy & _MASKS[literals.accuracy]
    masks, literal_steps, distance_steps, copy_steps = _MASKS, literals.steps, distances.steps, copies.steps
    literal_bits = distance_bits = copy_bits = 0
    for _ in range(count):
        literal_base, literal_extra, literal_bits, literal, literal_all = literal_steps[literal]
        distance_base, _, distance_bits, distance, distance_all = distance_steps[distance]
        copy_base, copy_extra, copy_bits, copy, copy_all = copy_steps[copy]
        taken = literal_all + distance_all + copy_all
        if taken:
            if at < _MOST_BITS and start:
                end = start + (at + 7 >> 3)
                at += 8 * start
                start = max(0, end - _WINDOW_BYTES)
                at -= 8 * start
                window = int.from_bytes(stream[start:end], "little")
            at -= taken
            if at < 0:
                raise Corrupt("truncated sequences")
            bits = window >> at & masks[taken]
            distance += bits & masks[distance_bits]
            bits >>= distance_bits
            copy += bits & masks[copy_bits]
            bits >>= copy_bits
            literal += bits & masks[literal_bits]
            bits >>= literal_bits
            if literal_extra:
                literal_base += bits & masks[literal_extra]
                bits >>= literal_extra
            if copy_extra:
                copy_base += bits & masks[copy_extra]
                bits >>= copy_extra
            distance_base += bits
        yield literal_base, distance_base, copy_base
    if at + 8 * start + literal_bits + distance_bits + copy_bits != 8 * _ZERO_BYTES:
        raise Corrupt("sequences do not use all bits of the stream")
