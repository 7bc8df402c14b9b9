"""Builds small zstd blocks that are expensive to decompress and that no compressor writes."""

from kafkalet.protocol.records.zstd_entropy import Cells

MAGIC = b"\x28\xb5\x2f\xfd"
RAW, REPEATED, COMPRESSED = 0, 1, 2
FIXED, ONE_CODE, DISTRIBUTED, SAME = 0, 1, 2, 3


def block(body: bytes, kind: int = COMPRESSED, *, size: int | None = None, is_last: bool = False) -> bytes:
    header = (len(body) if size is None else size) << 3 | kind << 1 | is_last
    return header.to_bytes(3, "little") + body


LAST_BLOCK = block(b"", RAW, is_last=True)


def frame_with(*blocks: bytes) -> bytes:
    """Return a frame with a window of 128 KiB, ended by an empty raw block."""
    return MAGIC + b"\0\x38" + b"".join(blocks) + LAST_BLOCK


def distribution(accuracy: int, shares: list[int]) -> bytes:
    """Encode an FSE table from the share of each symbol in its 2^accuracy cells; -1 is a rare symbol."""
    number, at = accuracy - 5, 4
    left = 1 << accuracy
    symbols = iter(range(len(shares)))
    for symbol in symbols:
        value = shares[symbol] + 1
        width = (left + 1).bit_length()
        short = (1 << width) - 2 - left
        if value < short:
            number |= value << at
            at += width - 1
        else:
            number |= (value + short if value >> width - 1 else value) << at
            at += width
        left -= abs(shares[symbol])
        if value == 1:
            zeros = next((n for n, share in enumerate(shares[symbol + 1 :]) if share), 0)
            for count in (*[3] * (zeros // 3), zeros % 3):
                number |= count << at
                at += 2
            for _ in range(zeros):
                next(symbols)
        if not left:
            break
    return number.to_bytes(at + 7 >> 3, "little")


def repeated_literals(count: int) -> bytes:
    return (count << 4 | 0b1101).to_bytes(3, "little") + b"x"


def sequences(count: int, modes: tuple[int, int, int], tables: bytes, stream: bytes) -> bytes:
    """Return a sequences section; the modes are those of literals, distances and copies."""
    if count < 128:
        result = bytes((count,))
    elif count < 0x7F00:
        result = bytes((count >> 8 | 128, count & 255))
    else:
        result = b"\xff" + (count - 0x7F00).to_bytes(2, "little")
    return result + bytes((modes[0] << 6 | modes[1] << 4 | modes[2] << 2,)) + tables + stream


def coded_literals(tree: bytes, stream: bytes, count: int) -> bytes:
    """Return a section of Huffman-coded literals in one stream."""
    return (2 | count << 4 | len(tree) + len(stream) << 14).to_bytes(3, "little") + tree + stream


def plain_tree(weights: list[int]) -> bytes:
    """Encode a Huffman code with weights of four bits each. The number of weights must be even."""
    pairs = zip(weights[::2], weights[1::2], strict=True)
    return bytes((127 + len(weights), *(first << 4 | second for first, second in pairs)))


def packed_tree(weights: list[int], accuracy: int, shares: list[int]) -> bytes:
    """Encode a Huffman code with FSE-compressed weights.

    The last weight ends the stream, so the weight before it must be at a cell that needs further bits.
    """
    table = Cells(shares, accuracy)
    cells = {state: table[state] for state in range(1 << accuracy)}
    for last in cells:
        for last_but_one in cells:
            if cells[last][0] == weights[-1] and cells[last_but_one][0] == weights[-2] and cells[last_but_one][1]:
                bits = _bits_to(weights, cells, accuracy, last, last_but_one)
                if bits:
                    number = int("1" + bits, 2)
                    stream = number.to_bytes(number.bit_length() + 7 >> 3, "little")
                    description = distribution(accuracy, shares) + stream
                    return bytes((len(description),)) + description
    raise ValueError("no states give these weights")


def _bits_to(weights: list[int], cells: dict[int, tuple[int, int, int]], accuracy: int, *ends: int) -> str:
    following = {0: ends[0], 1: ends[1]}  # by the distance from the end, odd or even
    bits = ""
    for back, weight in enumerate(reversed(weights[:-2])):
        target = following[back & 1]
        for state, (symbol, width, base) in cells.items():
            if symbol == weight and base <= target < base + (1 << width):
                bits = (format(target - base, f"0{width}b") if width else "") + bits
                following[back & 1] = state
                break
        else:
            return ""
    first, second = (0, 1) if len(weights) % 2 == 0 else (1, 0)
    starts = following[1 - first], following[1 - second]
    return "".join(format(state, f"0{accuracy}b") for state in starts) + bits
