"""Zstandard in pure Python, used without a native library.

It decompresses all frames that need no dictionary, at about 10 MB/s, and writes frames without compressed blocks.
`zstd.py` shows the layout of a frame, and RFC 8878 specifies the format. A compressed block has a literals section and
a sequences section (`zstd_sequences.py`). The sequences interleave literals with copies of earlier output, and the
remaining literals end the block.

    literals    header of 1 to 5 bytes, little-endian: type (2 bits), size format (1 or 2 bits), content size, and for
                types 2 and 3 the compressed size
    type 0      the literals, uncompressed
    type 1      a single byte, which is repeated
    type 2      a Huffman code (`zstd_entropy.py`), then one stream, or four streams after the sizes of the first three
    type 3      like type 2, but with the Huffman code of the previous compressed literals

Tables and the last three distances are kept from block to block, and are reset at the start of a frame. A block
contains no more bytes than the window, and no more than 128 KiB. The window limits the distance of copies so that a
decompressor can discard older output. This decompressor keeps all output and does not check the limit.
"""

from collections.abc import Iterator

from kafkalet.protocol.wire import Buffer

from .interruption import check
from .streams import Corrupt, TooLarge
from .xxh64 import xxh64
from .zstd_entropy import PrefixCode, prefix_code
from .zstd_sequences import Sequence, Sequences

_MAGIC = b"\x28\xb5\x2f\xfd"
_PLAIN = _MAGIC + b"\x80\x38"  # content size in 4 bytes, a window of 128 KiB
_BLOCK_BYTES = 128 * 1024
_MOST_WINDOW_BYTES = (128 << 20) + 1
"""The default maximum window size of the reference implementation."""
_RAW, _REPEATED, _COMPRESSED = 0, 1, 2
_LENGTHEN_BYTES = 8192


def compress(data: Buffer) -> bytes:
    """Encode `data` as a frame of raw and RLE blocks."""
    pieces = [_PLAIN, len(data).to_bytes(4, "little")]
    for start in range(0, len(data) or 1, _BLOCK_BYTES):
        block = bytes(data[start : start + _BLOCK_BYTES])
        is_last = start + _BLOCK_BYTES >= len(data)
        if len(block) > 1 and block == block[:1] * len(block):
            header, block = len(block) << 3 | _REPEATED << 1 | is_last, block[:1]
        else:
            header = len(block) << 3 | _RAW << 1 | is_last
        pieces += (header.to_bytes(3, "little"), block)
    return b"".join(pieces)


def decompress(data: bytes, limit: int) -> bytes:
    """Return the concatenated content of all frames. Raises Corrupt or TooLarge.

    At most one block beyond `limit` is held in memory.
    """
    content = bytearray()
    position = 0
    while position < len(data):
        if data[position] >> 4 == 5 and data[position + 1 : position + 4] == b"\x2a\x4d\x18":
            position += 8 + _number(data, position + 4, 4)
        elif data.startswith(_MAGIC, position):
            position = _Frame(data, position + 4, content).read(limit)
        else:
            raise Corrupt("not a zstd frame")
    if position > len(data):
        raise Corrupt("truncated frame")
    return bytes(content)


def _number(data: bytes, position: int, size: int) -> int:
    if position + size > len(data):
        raise Corrupt("unexpected end of data")
    return int.from_bytes(data[position : position + size], "little")


class _Frame:
    """A frame that is decompressed and appended to `content`."""

    def __init__(self, data: bytes, position: int, content: bytearray) -> None:
        """Read the frame header, which begins at `position`, after the magic."""
        self.data, self.content, self.start = data, content, len(content)
        self.sequences = Sequences()
        self.code: PrefixCode | None = None
        self.last_distances = (1, 4, 8)
        self.content_size: int | None = None
        descriptor = _number(data, position, 1)
        if descriptor & 8:
            raise Corrupt("reserved bit is set")
        position += 1
        is_single_segment, self.has_checksum = bool(descriptor & 32), bool(descriptor & 4)
        if not is_single_segment:
            window = _number(data, position, 1)
            window_bytes = (8 + (window & 7)) << 7 + (window >> 3)
            position += 1
        id_bytes = (0, 1, 2, 4)[descriptor & 3]
        if _number(data, position, id_bytes):
            raise Corrupt("dictionaries are not supported")
        position += id_bytes
        size_bytes = (is_single_segment, 2, 4, 8)[descriptor >> 6]
        if size_bytes:
            self.content_size = _number(data, position, size_bytes) + (256 if size_bytes == 2 else 0)
        if is_single_segment:
            window_bytes = self.content_size or 0
        elif window_bytes > _MOST_WINDOW_BYTES:
            raise Corrupt("window is larger than 128 MiB")
        self.block_bytes = min(window_bytes, _BLOCK_BYTES)
        self.position = position + size_bytes

    def read(self, limit: int) -> int:
        """Decompress the frame, append its content and return its end. Raises Corrupt or TooLarge."""
        is_last = False
        while not is_last:
            check()
            header = _number(self.data, self.position, 3)
            self.position += 3
            is_last = bool(header & 1)
            self._read_block(header >> 1 & 3, header >> 3)
            if len(self.content) > limit:
                raise TooLarge
        size = len(self.content) - self.start
        if self.content_size not in (None, size):
            raise Corrupt("size of the content is not as announced")
        if self.has_checksum:
            checksum = _number(self.data, self.position, 4)
            if checksum != xxh64(bytes(memoryview(self.content)[self.start :])) & 0xFFFFFFFF:
                raise Corrupt("wrong checksum")
            self.position += 4
        return self.position

    def _read_block(self, kind: int, size: int) -> None:
        if size > self.block_bytes:
            raise Corrupt(f"block of {size} bytes exceeds the maximum of {self.block_bytes}")
        stored_bytes = 1 if kind == _REPEATED else size
        block = self.data[self.position : self.position + stored_bytes]
        if len(block) < stored_bytes:
            raise Corrupt("truncated block")
        self.position += stored_bytes
        if kind == _RAW:
            self.content += block
        elif kind == _REPEATED:
            self.content += block * size
        elif kind == _COMPRESSED:
            literals, end = self._read_literals(block)
            self._execute(literals, self.sequences.read(block[end:]))
        else:
            raise Corrupt("unknown block type")

    def _read_literals(self, block: bytes) -> tuple[bytes, int]:
        """Read the literals section of a compressed block. Return the literals and the end of the section."""
        first = _number(block, 0, 1)
        kind, size_format = first & 3, first >> 2 & 3
        if kind < 2:
            header_bytes, size_shift = ((1, 3), (2, 4), (1, 3), (3, 4))[size_format]
            size = _number(block, 0, header_bytes) >> size_shift
            stored_bytes = 1 if kind == _REPEATED else size
        else:
            header_bytes, size_bits = ((3, 10), (3, 10), (4, 14), (5, 18))[size_format]
            sizes = _number(block, 0, header_bytes) >> 4
            size, stored_bytes = sizes & (1 << size_bits) - 1, sizes >> size_bits
        end = header_bytes + stored_bytes
        if size > self.block_bytes or end > len(block):
            raise Corrupt("literals extend beyond the end of the block")
        stored = block[header_bytes:end]
        if kind == _RAW:
            return stored, end
        if kind == _REPEATED:
            return stored * size, end
        if kind == _COMPRESSED:
            self.code, code_bytes = prefix_code(stored)
            stored = stored[code_bytes:]
        if self.code is None:
            raise Corrupt("no previous Huffman code")
        if size > _LENGTHEN_BYTES:
            self.code.lengthen()
        return (_read_four(self.code, stored, size) if size_format else self.code.read(stored, size)), end

    def _execute(self, literals: bytes, sequences: Iterator[Sequence]) -> None:
        content, first = self.content, self.start
        one, two, three = self.last_distances
        size = len(content)
        most = size + self.block_bytes
        used = 0
        for count, distance, length in sequences:
            if distance > 0:
                one, two, three = distance, one, two
            elif distance != -2:
                one, two, three = again(distance, count, one, two, three)
            elif not count:  # inlined because a tiny block can contain 43,690 such copies
                one, two = two, one
            if count:
                content += literals[used : used + count]
                used += count
                size += count
            start = size - one
            size += length
            if start < first or size > most:
                raise Corrupt("copy is out of range")
            if one >= length:
                content += content[start : start + length]
            else:  # the copy overlaps its own output
                content += (content[start:] * (length // one + 1))[:length]
        if used > len(literals):
            raise Corrupt("not enough literals")
        content += literals[used:]
        if len(content) > most:
            raise Corrupt("block content is too large")
        self.last_distances = one, two, three


def again(distance: int, literals: int, one: int, two: int, three: int) -> tuple[int, int, int]:
    """Return the last three distances, latest first, after a copy that repeats one of them.

    A `distance` of -2, -1 or 0 repeats the first, second or third distance. If no literals precede the copy, repeating
    the first distance would merely extend the previous copy. In this case, -2, -1 and 0 therefore stand for the second
    distance, the third, and the first minus 1. Raises Corrupt if the result is 0.
    """
    index = distance + 2 + (not literals)
    if index == 0:
        return one, two, three
    if index == 1:
        return two, one, three
    if index == 2:
        return three, one, two
    if one == 1:
        raise Corrupt("copy with distance 0")
    return one - 1, one, two


def _read_four(code: PrefixCode, stored: bytes, size: int) -> bytes:
    """Decode the literals of four streams. The first three streams have the same number of literals."""
    part = (size + 3) // 4
    if size < 6 or len(stored) < 6:
        raise Corrupt("not enough data for four streams")
    ends = [6]
    for index in (0, 2, 4):
        ends.append(ends[-1] + _number(stored, index, 2))
    ends.append(len(stored))
    sizes = (part, part, part, size - 3 * part)
    return b"".join(code.read(stored[start:end], most) for start, end, most in zip(ends, ends[1:], sizes, strict=False))
