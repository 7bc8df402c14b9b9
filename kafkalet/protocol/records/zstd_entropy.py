"""The entropy codes of zstd: Finite State Entropy (FSE) and Huffman codes (RFC 8878, section 4).

Streams of both are read backwards, from the last bit to the first. The highest set bit marks the end and is not part
of the stream.

FSE uses a table of 2^accuracy cells. A cell has a symbol, and determines the next cell: `base` plus the next `bits`
bits of the stream. The table is described by a distribution, whose bits are read forwards. It begins with the accuracy
minus 5 in 4 bits. It then lists the share of each symbol (its number of cells) plus 1, in as few bits as the number of
remaining cells allows. A share of -1 means a single cell that may lead to any cell. A share of 0 is followed by two
bits that give the number of further zero shares; if this number is 3, two more such bits follow.

    cells       symbols with share -1 take the last cells; the others are spread over the table with a fixed step, in
                symbol order
    next cells  the cells of a symbol divide the range of next cells among themselves; later cells get smaller parts

A Huffman code is described by the weights of all byte values except the last one that occurs. A byte of weight 0 does
not occur; otherwise its code has depth + 1 - weight bits. The weight of the last byte is implied: it makes the sum of
all 2^(weight - 1) a power of two, 2^depth. Codes are assigned in order of increasing weight. A lookup table with one
entry for each value of `depth` bits therefore contains the bytes in this order, each of them 2^(weight - 1) times. The
first byte, n, determines how the weights are encoded:

    n < 128     n bytes follow: an FSE distribution, and a stream of weights with two alternating states
    n >= 128    n - 127 weights of 4 bits each follow
"""

from collections import Counter
from functools import cache
from itertools import compress
from operator import itemgetter
from typing import TypeAlias

from .streams import Corrupt

_DEPTH_BITS = 11
"""The maximum length of a Huffman code, in bits."""
_WEIGHTS_ACCURACY = 6
_MOST_WEIGHTS = 255
_BYTES = [bytes((byte,)) for byte in range(256)]
_WINDOW_BYTES = 48
"""Streams are read in windows of this size, because the time to shift an integer is proportional to its length."""


Cell: TypeAlias = tuple[int, int, int]
"""A cell of an FSE table: symbol, number of bits for the next cell, base of the next cell."""


def distribution(data: bytes, most_accuracy: int, most_symbol: int) -> tuple[list[int], int, int]:
    """Read the FSE distribution at the start of `data`. Return the share of each symbol, the accuracy and the size."""
    number = int.from_bytes(data[:128], "little")  # enough for the maximum of 53 symbols
    accuracy = (number & 15) + 5
    if accuracy > most_accuracy:
        raise Corrupt(f"FSE table of 2^{accuracy} cells exceeds the maximum of 2^{most_accuracy}")
    at, left = 4, 1 << accuracy
    shares: list[int] = []
    while left > 0:
        width = (left + 1).bit_length()
        short = (1 << width) - 2 - left  # the number of values that take one bit less than the others
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
            raise Corrupt("FSE table has too many symbols")
    size = at + 7 >> 3
    if size > len(data):
        raise Corrupt("truncated FSE table")
    return shares, accuracy, size


class Cells(dict[int, Cell]):
    """An FSE table of 2^accuracy cells.

    Two bytes can describe 512 cells, and a block can describe three tables for a single sequence. Cells are therefore
    computed only when they are first read, which keeps the work for a block proportional to its size and its content.
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
    """Return the symbols of the `size` cells.

    Symbols with a positive share are assigned to cells in symbol order, with a fixed step from cell to cell. The turn
    of a cell is its position in this order. Rare symbols (share -1) take the last cells, which the RFC's assignment
    skips; this function inserts each rare symbol at the turn of its cell instead.
    """
    by_turn = bytearray().join([bytes((symbol,)) * share for symbol, share in enumerate(shares) if share > 0])
    rare = [symbol for symbol, share in enumerate(shares) if share < 0]
    turns = _inverse_step(size)
    for turn, symbol in sorted((-number * turns % size, symbol) for number, symbol in enumerate(rare, 1)):
        by_turn.insert(turn, symbol)
    return bytes(_by_cell(size)(by_turn))


def _inverse_step(size: int) -> int:
    """Return the inverse of the step: the turn of cell i is i * inverse, modulo `size`."""
    return pow((size >> 1) + (size >> 3) + 3, -1, size)


@cache
def _by_cell(size: int) -> "itemgetter[tuple[int, ...]]":
    """Return a function that reorders `size` symbols from turn order to cell order."""
    turns = _inverse_step(size)
    return itemgetter(*(place * turns % size for place in range(size)))


def stream_bits(stream: bytes) -> int:
    """Return the number of bits in a stream, without the end mark. Raises Corrupt if it has no end mark."""
    if not stream or not stream[-1]:
        raise Corrupt("stream has no end mark")
    return 8 * len(stream) - 9 + stream[-1].bit_length()


class PrefixCode:
    """A Huffman code. Its lookup tables map the next `depth` bits to the decoded bytes and to the number of bits used.

    There are two pairs of tables: one decodes a single byte per lookup, the other may decode two.
    """

    __slots__ = ("bits", "depth", "long_bits", "long_texts", "texts")

    def __init__(self, weights: list[int]) -> None:
        """Build the tables from the weights of all bytes except the last. Raises Corrupt if the weights are invalid."""
        total = sum(count * (1 << weight >> 1) for weight, count in Counter(weights).items())
        self.depth = total.bit_length()
        missing = (1 << self.depth) - total
        if not 0 < self.depth <= _DEPTH_BITS or missing & missing - 1:
            raise Corrupt("invalid Huffman weights")
        weights = [*weights, missing.bit_length()]
        if weights.count(1) < 2:
            raise Corrupt("Huffman code is longer than necessary")
        self.texts: list[bytes] = []
        self.bits: list[int] = []
        for byte in sorted(compress(range(len(weights)), weights), key=weights.__getitem__):
            self.texts += [_BYTES[byte]] * (1 << weights[byte] - 1)
        for weight in range(1, self.depth + 1):
            self.bits += [self.depth + 1 - weight] * (weights.count(weight) << weight - 1)
        self.long_texts, self.long_bits = self.texts, self.bits

    def lengthen(self) -> None:
        """Extend the long tables to decode up to two bytes per lookup. This pays off from several thousand literals."""
        if self.long_texts is not self.texts:
            return
        depth, mask, texts, bits = self.depth, (1 << self.depth) - 1, self.texts, self.bits
        after = [index << bits[index] & mask for index in range(mask + 1)]
        fits = [bits[index] + bits[then] <= depth for index, then in enumerate(after)]
        steps = list(zip(after, fits, strict=True))
        self.long_texts = [text + texts[then] if fit else text for text, (then, fit) in zip(texts, steps, strict=True)]
        self.long_bits = [bit + bits[then] if fit else bit for bit, (then, fit) in zip(bits, steps, strict=True)]

    def read(self, stream: bytes, size: int) -> bytes:
        """Decode a stream. Raises Corrupt unless it consists of exactly `size` bytes."""
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
            raise Corrupt("wrong number of literals in a stream")
        return content


def prefix_code(data: bytes) -> tuple[PrefixCode, int]:
    """Read a Huffman code at the start of `data`. Return the code and the size of its description."""
    if not data:
        raise Corrupt("missing Huffman code")
    kind = data[0]
    size = 1 + (kind if kind < 128 else kind - 126 >> 1)
    described = data[1:size]
    if len(described) != size - 1:
        raise Corrupt("truncated Huffman code")
    if kind < 128:
        return PrefixCode(_read_weights(described)), size
    weights = [weight for byte in described for weight in (byte >> 4, byte & 15)]
    return PrefixCode(weights[: kind - 127]), size


def _read_weights(data: bytes) -> list[int]:
    """Decode FSE-compressed weights.

    Two states alternate until one of them needs more bits than are left. The last weight is that of the other state.
    """
    shares, accuracy, size = distribution(data, _WEIGHTS_ACCURACY, _MOST_WEIGHTS)
    table = Cells(shares, accuracy)
    left = stream_bits(data[size:]) - 2 * accuracy
    if left < 0:
        raise Corrupt("truncated Huffman weights")
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
    raise Corrupt("too many Huffman weights")
