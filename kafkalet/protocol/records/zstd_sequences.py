"""The sequences of a compressed block of zstd: so many literals, then a copy from so far back. RFC 8878, 3.1.1.3.2.

    count     1 byte below 128; else 2 bytes, or 3 behind ff
    modes     2 bits each for lengths of literals, distances, lengths of copies, from the highest on; 2 bits 0
    tables    of finite states, in the same order; what a table is made of, its mode says:
                0 what the RFC has fixed, 1 one code for all (1 byte), 2 a distribution, 3 the table of the block before
    stream    the first states (literals, distance, copy); then for each sequence the additional bits of its three codes
              (distance, copy, literals) and the bits that lead to its next states (literals, copy, distance)

A code stands for a number and a count of additional bits to add to it. The three last distances have numbers of their
own, 1 to 3, and all others are larger by 3.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from .streams import Corrupt
from .zstd_entropy import Cells, distribution, stream_bits

_FIXED, _ONE_CODE, _DISTRIBUTED = 0, 1, 2
_WINDOW_BYTES = 64
_MOST_BITS = 128
"""More than a sequence ever takes: 31 + 16 + 16 additional bits, 9 + 9 + 8 that lead to its next states."""
_ZERO_BYTES = 4
"""Stand before the stream: more than the 9 + 9 + 8 bits that would lead to the states after the last sequence."""
_MASKS = [(1 << bits) - 1 for bits in range(_MOST_BITS)]


Sequence: TypeAlias = tuple[int, int, int]
"""How many literals, how far back, how much to copy. The distance is 1 or more, or one of the last: -2, -1, 0 for the
latest, the one before it, and the one before that."""

Step: TypeAlias = tuple[int, int, int, int, int]
"""A cell of a table: what its code stands for (number, additional bits), where it leads (bits, base), bits of both."""


class Table(NamedTuple):
    """A table of 2^accuracy steps."""

    accuracy: int
    steps: dict[int, Step]


class _Steps(dict[int, Step]):
    """The steps of a table of cells. As with the cells, a step is computed when it is first read."""

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
    """One of the three numbers of a sequence."""

    codes: list[tuple[int, int]]  # (number, count of additional bits)
    most_accuracy: int
    fixed_accuracy: int
    fixed: list[int]  # share of each code


def _codes(first: int, extra_bits: list[int]) -> list[tuple[int, int]]:
    """Codes that stand for adjoining ranges from `first` on."""
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
    """Reads the sequences of the blocks of one frame; it remembers their tables."""

    def __init__(self) -> None:
        self.tables: list[Table | None] = [None, None, None]

    def read(self, data: bytes) -> Iterator[Sequence]:
        """The sequences in `data`, the rest of a block. Raises Corrupt, on the way, too."""
        count, position = _count(data)
        if count == 0:
            if len(data) > position:
                raise Corrupt("something where no sequences are")
            return iter(())
        if position >= len(data) or data[position] & 3:
            raise Corrupt("sequences of an unknown kind")
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
        """(the table that `mode` says, how many bytes of `data` describe it)."""
        kind = KINDS[index]
        if mode == _FIXED:
            return _fixed_table(index), 0
        if mode == _ONE_CODE:
            if not data or data[0] >= len(kind.codes):
                raise Corrupt("an unknown code")
            number, extra_bits = kind.codes[data[0]]
            return Table(0, {0: (number, extra_bits, 0, 0, extra_bits)}), 1
        if mode == _DISTRIBUTED:
            shares, accuracy, size = distribution(data, kind.most_accuracy, len(kind.codes) - 1)
            return Table(accuracy, _Steps(kind.codes, Cells(shares, accuracy))), size
        last = self.tables[index]
        if last is None:
            raise Corrupt("no table to use again")
        return last, 0


def _count(data: bytes) -> tuple[int, int]:
    """(how many sequences there are, how many bytes told it)."""
    size = 1 if data[:1] < b"\x80" else 2 if data[:1] < b"\xff" else 3
    if len(data) < size:
        raise Corrupt("no count of sequences")
    if size == 1:
        return data[0], 1
    if size == 2:
        return (data[0] - 128 << 8) + data[1], 2
    return 0x7F00 + data[1] + (data[2] << 8), 3


def _walk(stream: bytes, count: int, literals: Table, distances: Table, copies: Table) -> Iterator[Sequence]:
    """The `count` sequences of a stream, whose bits have to be used up then.

    A sequence takes all its bits at once, and they are parted from the lowest on, which is against their order. A
    sequence that takes none (all codes without bits) skips that: a block of ten bytes can hold 43,690 of them. The last
    sequence leads to no other; the bits that would lead on are read from zeros put before the stream.
    """
    left = stream_bits(stream) + 8 * _ZERO_BYTES
    stream = bytes(_ZERO_BYTES) + stream
    start = max(0, len(stream) - _WINDOW_BYTES)
    window = int.from_bytes(stream[start:], "little")
    at = left - 8 * start  # so many bits of the window are left
    at -= literals.accuracy + distances.accuracy + copies.accuracy
    if at < 0:
        raise Corrupt("sequences that are cut off")
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
                raise Corrupt("sequences that are cut off")
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
        raise Corrupt("sequences that use other bits than there are")
