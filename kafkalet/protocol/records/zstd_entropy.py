"""The two entropy codes of zstd: finite states (FSE) for numbers, prefix codes (Huffman) for literals. RFC 8878, 4.

Streams of both are read from their last bit to their first: the highest bit that is set is not part of the stream and
only shows where it ends.

Finite states: a table of 2^accuracy cells. A cell gives a symbol, and the next cell: `base` plus the next `bits` bits
of the stream. How often symbols come is told before, in bits from the lowest on: the accuracy less 5 in 4 bits, then
for each symbol one more than its share of the cells, in as few bits as what is left to give away needs. A share of -1
is one cell that leads anywhere. Behind a share of 0 two bits tell how many more such follow, after a 3 two more bits.

    cells       shares of -1 take the last cells; the others go round the table in steps, in the order of the symbols
    next cells  the n cells of a symbol part all cells between them, its later cells taking the smaller parts

Prefix codes: for each byte, up to the last but one that occurs, a weight: 0 if it does not occur, else the code has
depth + 1 - weight bits. The last weight is what fills the sum of all 2^(weight - 1) up to a power of two, 2^depth.
Codes are given from the lightest to the heaviest, so that a table with an entry for every `depth` bits is the bytes in
that order, each of them 2^(weight - 1) times.

    n < 128     n bytes follow: a distribution and a stream of weights by two states that take turns
    n >= 128    n - 127 weights of 4 bits follow
"""

from collections import Counter
from functools import cache
from itertools import compress
from operator import itemgetter
from typing import TypeAlias

from .streams import Corrupt

_DEPTH_BITS = 11
"""The longest prefix code."""
_WEIGHTS_ACCURACY = 6
_MOST_WEIGHTS = 255
_BYTES = [bytes((byte,)) for byte in range(256)]
_WINDOW_BYTES = 48
"""A stream is read in windows of so many bytes: shifting a number costs time in proportion to its length."""


Cell: TypeAlias = tuple[int, int, int]
"""A cell of a table of finite states: symbol, how many bits lead to the next cell, base of the next cell."""


def distribution(data: bytes, most_accuracy: int, most_symbol: int) -> tuple[list[int], int, int]:
    """What is told at the start of `data`: (share of each symbol, accuracy, how many bytes that took)."""
    number = int.from_bytes(data[:128], "little")  # 53 symbols, the most, take less than that
    accuracy = (number & 15) + 5
    if accuracy > most_accuracy:
        raise Corrupt(f"a table of 2^{accuracy} states")
    at, left = 4, 1 << accuracy
    shares: list[int] = []
    while left > 0:
        width = (left + 1).bit_length()
        short = (1 << width) - 2 - left  # so many values take a bit less than the others
        value = number >> at & (1 << width - 1) - 1
        at += width - 1
        if value >= short:
            value |= (number >> at & 1) << width - 1
            at += 1
            if value >> width - 1:
                value -= short
        shares.append(value - 1)
        left -= abs(value - 1)
        zeros = 3 if value == 1 else 0
        while zeros == 3:
            zeros = number >> at & 3
            at += 2
            shares += [0] * zeros
            if len(shares) > most_symbol + 1:
                break
        if len(shares) > most_symbol + 1:
            raise Corrupt("a table of too many symbols")
    size = at + 7 >> 3
    if size > len(data):
        raise Corrupt("a table that is cut off")
    return shares, accuracy, size


class Cells(dict[int, Cell]):
    """The table of 2^accuracy cells in which each symbol has its share.

    A cell is computed when it is first read: two bytes can describe 512 cells, and a block can describe three tables
    to read a single sequence. The work of a block stays in proportion to its bytes and its content that way.
    """

    __slots__ = ("_accuracy", "_parts", "_symbols")

    def __init__(self, shares: list[int], accuracy: int) -> None:
        super().__init__()
        self._accuracy = accuracy
        self._parts = [abs(share) for share in shares]
        self._symbols = _spread(shares, 1 << accuracy)

    def __missing__(self, state: int) -> Cell:
        symbol = self._symbols[state]
        part = self._parts[symbol] + self._symbols.count(symbol, 0, state)
        bits = self._accuracy + 1 - part.bit_length()
        cell = self[state] = (symbol, bits, (part << bits) - (1 << self._accuracy))
        return cell


def _spread(shares: list[int], size: int) -> bytes:
    """The symbols of the `size` cells.

    Symbols with a share are dealt to the cells in turn, with a fixed step from cell to cell. Rare symbols (share -1)
    own the last cells, which the deal passes over; here each rare symbol is inserted at the turn of its cell.
    """
    by_turn = bytearray().join([bytes((symbol,)) * share for symbol, share in enumerate(shares) if share > 0])
    rare = [symbol for symbol, share in enumerate(shares) if share < 0]
    turns = _inverse_step(size)
    for turn, symbol in sorted((-number * turns % size, symbol) for number, symbol in enumerate(rare, 1)):
        by_turn.insert(turn, symbol)
    return bytes(_by_cell(size)(by_turn))


def _inverse_step(size: int) -> int:
    """The cell at index i is reached in turn i * this number, modulo `size`."""
    return pow((size >> 1) + (size >> 3) + 3, -1, size)


@cache
def _by_cell(size: int) -> "itemgetter[tuple[int, ...]]":
    """Reorders `size` symbols from the order of the turns to the order of the cells."""
    turns = _inverse_step(size)
    return itemgetter(*(place * turns % size for place in range(size)))


def stream_bits(stream: bytes) -> int:
    """How many bits a stream has."""
    if not stream or not stream[-1]:
        raise Corrupt("a stream without an end")
    return 8 * len(stream) - 9 + stream[-1].bit_length()


class PrefixCode:
    """Codes of bytes, as a table by the next `depth` bits: of the text that begins there and of its length in bits.

    There are two tables: of single bytes, and of as many bytes as have their codes within these bits.
    """

    __slots__ = ("bits", "depth", "long_bits", "long_texts", "texts")

    def __init__(self, weights: list[int]) -> None:
        """`weights` of all bytes but the last that occurs. Raises Corrupt if they leave no weight for it."""
        total = sum(count * (1 << weight >> 1) for weight, count in Counter(weights).items())
        self.depth = total.bit_length()
        missing = (1 << self.depth) - total
        if not 0 < self.depth <= _DEPTH_BITS or missing & missing - 1:
            raise Corrupt("weights that make no prefix code")
        weights = [*weights, missing.bit_length()]
        if weights.count(1) < 2:
            raise Corrupt("a prefix code that could be shorter")
        self.texts: list[bytes] = []
        self.bits: list[int] = []
        for byte in sorted(compress(range(len(weights)), weights), key=weights.__getitem__):
            self.texts += [_BYTES[byte]] * (1 << weights[byte] - 1)
        for weight in range(1, self.depth + 1):
            self.bits += [self.depth + 1 - weight] * (weights.count(weight) << weight - 1)
        self.long_texts, self.long_bits = self.texts, self.bits

    def lengthen(self) -> None:
        """Let the table give more than one byte at once; that pays for some thousand literals."""
        if self.long_texts is not self.texts:
            return
        depth, mask, texts, bits = self.depth, (1 << self.depth) - 1, self.texts, self.bits
        after = [index << bits[index] & mask for index in range(mask + 1)]
        fits = [bits[index] + bits[then] <= depth for index, then in enumerate(after)]
        steps = list(zip(after, fits, strict=True))
        self.long_texts = [text + texts[then] if fit else text for text, (then, fit) in zip(texts, steps, strict=True)]
        self.long_bits = [bit + bits[then] if fit else bit for bit, (then, fit) in zip(bits, steps, strict=True)]

    def read(self, stream: bytes, size: int) -> bytes:
        """The `size` bytes that a stream holds; all of its bits have to be theirs."""
        left = stream_bits(stream)
        depth, mask = self.depth, (1 << self.depth) - 1
        texts, lengths = self.long_texts, self.long_bits
        pieces: list[bytes] = []
        append = pieces.append
        while left >= depth:
            end = left + 7 >> 3
            start = max(0, end - _WINDOW_BYTES)
            window = int.from_bytes(stream[start:end], "little")
            at = left - 8 * start - depth
            while at >= 0:
                index = window >> at & mask
                append(texts[index])
                at -= lengths[index]
            left = at + depth + 8 * start
        rest = int.from_bytes(stream[:2], "little") << depth - left
        while left > 0:
            index = rest & mask
            append(self.texts[index])
            left -= self.bits[index]
            rest <<= self.bits[index]
        content = b"".join(pieces)
        if left or len(content) != size:
            raise Corrupt("a stream of more or fewer literals")
        return content


def prefix_code(data: bytes) -> tuple[PrefixCode, int]:
    """The code that is described at the start of `data`, and how many bytes that took."""
    if not data:
        raise Corrupt("no prefix code")
    kind = data[0]
    size = 1 + (kind if kind < 128 else kind - 126 >> 1)
    described = data[1:size]
    if len(described) != size - 1:
        raise Corrupt("a prefix code that is cut off")
    if kind < 128:
        return PrefixCode(_read_weights(described)), size
    weights = [weight for byte in described for weight in (byte >> 4, byte & 15)]
    return PrefixCode(weights[: kind - 127]), size


def _read_weights(data: bytes) -> list[int]:
    """Two states take turns until one would need more bits than are left; then the other has the last word."""
    shares, accuracy, size = distribution(data, _WEIGHTS_ACCURACY, _MOST_WEIGHTS)
    table = Cells(shares, accuracy)
    left = stream_bits(data[size:]) - 2 * accuracy
    if left < 0:
        raise Corrupt("weights that are cut off")
    number = int.from_bytes(data[size:], "little")
    mask = (1 << accuracy) - 1
    state, other = number >> left + accuracy & mask, number >> left & mask
    weights: list[int] = []
    for _ in range(_MOST_WEIGHTS - 1):
        weight, bits, following = table[state]
        weights.append(weight)
        state = other
        other = following
        if bits:
            left -= bits
            if left < 0:
                weights.append(table[state][0])
                return weights
            other += number >> left & (1 << bits) - 1
    raise Corrupt("too many weights")
