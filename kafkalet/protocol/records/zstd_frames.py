"""Zstandard in Python, for where no library is: a reader of all frames that need no dictionary, a writer of plain ones.

The picture of a frame is in `zstd.py`; RFC 8878 describes it all. A block that is compressed holds literals, then
sequences (`zstd_sequences.py`), which say how literals and copies of what is already there follow each other. What
literals are left at the end, end the block.

    literals    kind (2 bits), how sizes are told (1 or 2 bits), size of the content; of kinds 2 and 3 also size as
                stored: 1 to 5 bytes, little-endian
    0           the literals as they are
    1           one byte, which they all are
    2           a prefix code (`zstd_entropy.py`); one stream, or 4 streams behind the sizes of the first three
    3           the same with the prefix code of the block before

Tables and the last three distances go from block to block; a frame begins anew. A block holds no more than the window,
and never more than 128 KiB. The window bounds what a reader has to keep; this one keeps all, and does not mind copies
from beyond. It reads some ten MB/s.
"""

from collections.abc import Iterator

from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge
from .xxh64 import xxh64
from .zstd_entropy import PrefixCode, prefix_code
from .zstd_sequences import Sequence, Sequences

_MAGIC = b"\x28\xb5\x2f\xfd"
_PLAIN = _MAGIC + b"\x80\x38"  # content size in 4 bytes, a window of 128 KiB
_BLOCK_BYTES = 128 * 1024
_MOST_WINDOW_BYTES = (128 << 20) + 1
"""Readers refuse larger windows unless they are told not to."""
_RAW, _REPEATED, _COMPRESSED = 0, 1, 2
_LENGTHEN_BYTES = 8192


def compress(data: Buffer) -> bytes:
    """`data` as a frame whose blocks are raw, or one byte repeated."""
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
    """The content of all frames together. Raises Corrupt or TooLarge; holds no more than a block beyond `limit`."""
    content = bytearray()
    position = 0
    while position < len(data):
        if data[position] >> 4 == 5 and data[position + 1 : position + 4] == b"\x2a\x4d\x18":
            position += 8 + _number(data, position + 4, 4)
        elif data.startswith(_MAGIC, position):
            position = _Frame(data, position + 4, content).read(limit)
        else:
            raise Corrupt("no frame where one should begin")
    if position > len(data):
        raise Corrupt("a frame that is cut off")
    return bytes(content)


def _number(data: bytes, position: int, size: int) -> int:
    if position + size > len(data):
        raise Corrupt("it ends too early")
    return int.from_bytes(data[position : position + size], "little")


class _Frame:
    """A frame on its way to the end of `content`."""

    def __init__(self, data: bytes, position: int, content: bytearray) -> None:
        """`position` is behind the magic."""
        self.data, self.content, self.start = data, content, len(content)
        self.sequences = Sequences()
        self.code: PrefixCode | None = None
        self.last_distances = (1, 4, 8)
        self.content_size: int | None = None
        descriptor = _number(data, position, 1)
        if descriptor & 8:
            raise Corrupt("a reserved bit")
        position += 1
        is_single_segment, self.has_checksum = bool(descriptor & 32), bool(descriptor & 4)
        if not is_single_segment:
            window = _number(data, position, 1)
            window_bytes = (8 + (window & 7)) << 7 + (window >> 3)
            position += 1
        id_bytes = (0, 1, 2, 4)[descriptor & 3]
        if _number(data, position, id_bytes):
            raise Corrupt("a dictionary is needed")
        position += id_bytes
        size_bytes = (is_single_segment, 2, 4, 8)[descriptor >> 6]
        if size_bytes:
            self.content_size = _number(data, position, size_bytes) + (256 if size_bytes == 2 else 0)
        if is_single_segment:
            window_bytes = self.content_size or 0
        elif window_bytes > _MOST_WINDOW_BYTES:
            raise Corrupt("a window of more than 128 MiB")
        self.block_bytes = min(window_bytes, _BLOCK_BYTES)
        self.position = position + size_bytes

    def read(self, limit: int) -> int:
        """Add what the frame holds to the content; returns where it ends."""
        is_last = False
        while not is_last:
            header = _number(self.data, self.position, 3)
            self.position += 3
            is_last = bool(header & 1)
            self._read_block(header >> 1 & 3, header >> 3)
            if len(self.content) > limit:
                raise TooLarge
        size = len(self.content) - self.start
        if self.content_size not in (None, size):
            raise Corrupt("content of another size than announced")
        if self.has_checksum:
            checksum = _number(self.data, self.position, 4)
            if checksum != xxh64(bytes(memoryview(self.content)[self.start :])) & 0xFFFFFFFF:
                raise Corrupt("a wrong checksum")
            self.position += 4
        return self.position

    def _read_block(self, kind: int, size: int) -> None:
        if size > self.block_bytes:
            raise Corrupt(f"a block of {size} bytes where {self.block_bytes} are the most")
        stored_bytes = 1 if kind == _REPEATED else size
        block = self.data[self.position : self.position + stored_bytes]
        if len(block) < stored_bytes:
            raise Corrupt("a block that is cut off")
        self.position += stored_bytes
        if kind == _RAW:
            self.content += block
        elif kind == _REPEATED:
            self.content += block * size
        elif kind == _COMPRESSED:
            literals, end = self._read_literals(block)
            self._execute(literals, self.sequences.read(block[end:]))
        else:
            raise Corrupt("a block of an unknown kind")

    def _read_literals(self, block: bytes) -> tuple[bytes, int]:
        """(the literals, where their section ends)."""
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
            raise Corrupt("literals that go on beyond the end")
        stored = block[header_bytes:end]
        if kind == _RAW:
            return stored, end
        if kind == _REPEATED:
            return stored * size, end
        if kind == _COMPRESSED:
            self.code, code_bytes = prefix_code(stored)
            stored = stored[code_bytes:]
        if self.code is None:
            raise Corrupt("no prefix code to use again")
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
            elif not count:  # spelled out here because a tiny block can ask for it 43,690 times
                one, two = two, one
            if count:
                content += literals[used : used + count]
                used += count
                size += count
            start = size - one
            size += length
            if start < first or size > most:
                raise Corrupt("a copy of what is not there, or too much of it")
            if one >= length:
                content += content[start : start + length]
            else:  # what is copied grows while it is
                content += (content[start:] * (length // one + 1))[:length]
        if used > len(literals):
            raise Corrupt("copies after more literals than there are")
        content += literals[used:]
        if len(content) > most:
            raise Corrupt("a block that holds too much")
        self.last_distances = one, two, three


def again(distance: int, literals: int, one: int, two: int, three: int) -> tuple[int, int, int]:
    """The last distances when one of them is used again: -2 is the first, -1 the second, 0 the third.

    Without literals before the copy it is the one after it, for the first would only have made the last copy longer;
    and a fourth is the first less 1.
    """
    index = distance + 2 + (not literals)
    if index == 0:
        return one, two, three
    if index == 1:
        return two, one, three
    if index == 2:
        return three, one, two
    if one == 1:
        raise Corrupt("a copy from nowhere")
    return one - 1, one, two


def _read_four(code: PrefixCode, stored: bytes, size: int) -> bytes:
    """The literals of four streams, of which the first three hold as much."""
    part = (size + 3) // 4
    if size < 6 or len(stored) < 6:
        raise Corrupt("too little for four streams")
    ends = [6]
    for index in (0, 2, 4):
        ends.append(ends[-1] + _number(stored, index, 2))
    ends.append(len(stored))
    sizes = (part, part, part, size - 3 * part)
    return b"".join(code.read(stored[start:end], most) for start, end, most in zip(ends, ends[1:], sizes, strict=False))
