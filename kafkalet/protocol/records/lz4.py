"""LZ4 as Kafka has it: one frame of independent blocks (Lz4BlockOutputStream, Lz4BlockInputStream).

    04 22 4d 18    magic
    flags          01 version, 1 blocks are independent, has block checksums, has content size, has content checksum, 00
    block size     4 to 7 in bits 4-6: at most 64 KiB, 256 KiB, 1 MiB, 4 MiB a block
    content size   8 bytes, if the flags say so
    checksum       second byte of the XXH32 of the descriptor: flags to content size
    blocks         { size (4 bytes, little-endian; high bit: not compressed), data, XXH32 of it if the flags say so }*
    00 00 00 00    the end

Kafka refuses blocks that depend on each other and stops behind the first frame. In messages of format 0 the checksum is
wrong (taken over the magic, too); a reader of such messages ignores it.

A compressed block is a row of sequences: a token (length of literals, length of the copy less 4; 15: more bytes follow,
up to one that is not 255), the literals, and how far back to copy from (2 bytes).
"""

from functools import cache
from struct import Struct

from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge, cramjam_or_none

_MAGIC = b"\x04\x22\x4d\x18"
_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks of at most 64 KiB, nothing else
_BLOCK_BYTES = 64 * 1024
_NOT_COMPRESSED = 0x80000000
_LAST_LITERALS = 5
_LAST_BYTES = 3 + _LAST_LITERALS
_LAST_COPY_BYTES = 12
"""A block ends with 5 literals, and its last copy begins 12 bytes before the end (liblz4's LASTLITERALS, MFLIMIT)."""
_SHORT_BYTES, _SHORT_CONTENT_BYTES = 16, 32
"""As in liblz4, up to 14 literals that begin farther than this from both ends are not checked against these rules."""


def compress(data: Buffer, level: int | None = None, *, broken_checksum: bool = False) -> bytes:
    """`data` as a frame; in blocks that are not compressed, without the package cramjam. Level 9 and None are fast."""
    cramjam = cramjam_or_none()
    pieces = [_MAGIC, _DESCRIPTOR, _header_checksum(_MAGIC + _DESCRIPTOR if broken_checksum else _DESCRIPTOR)]
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(data[start : start + _BLOCK_BYTES])
        packed = block
        if cramjam and level in (None, 9):
            packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        elif cramjam:
            packed = bytes(
                cramjam.lz4.compress_block(block, mode="high_compression", compression=level, store_size=False)
            )
        if len(packed) < len(block):
            pieces += (len(packed).to_bytes(4, "little"), packed)
        else:
            pieces += ((len(block) | _NOT_COMPRESSED).to_bytes(4, "little"), block)
    pieces.append(bytes(4))
    return b"".join(pieces)


def _header_checksum(descriptor: bytes) -> bytes:
    return bytes((xxh32(descriptor) >> 8 & 255,))


def decompress(data: Buffer, limit: int, *, any_checksum: bool = False) -> bytes:
    """The content of a frame. Raises Corrupt or TooLarge."""
    data = bytes(data)
    block_bytes, has_checksums, position = _read_header(data, any_checksum)
    pieces: list[bytes] = []
    while True:
        size = int.from_bytes(data[position : position + 4], "little")
        is_compressed = size < _NOT_COMPRESSED
        size &= _NOT_COMPRESSED - 1
        if position + 4 + size > len(data):
            raise Corrupt("it ends too early")
        if size == 0:
            return b"".join(pieces)
        if size > block_bytes:
            raise Corrupt(f"a block of {size} bytes where {block_bytes} are the most")
        position += 4
        block = data[position : position + size]
        position += size
        if has_checksums:
            if int.from_bytes(data[position : position + 4], "little") != xxh32(block):
                raise Corrupt("a block with a wrong checksum")
            position += 4
        piece = _decompress_block(block, block_bytes) if is_compressed else block
        if not piece:  # what comes of an empty block, Kafka takes for the end
            return b"".join(pieces)
        limit -= len(piece)
        if limit < 0:
            raise TooLarge
        pieces.append(piece)


def _read_header(data: bytes, any_checksum: bool) -> tuple[int, bool, int]:
    """(most bytes of a block, have blocks checksums?, position of the first block)."""
    if len(data) < 7 or data[:4] != _MAGIC:
        raise Corrupt("no frame")
    flags, block_size = data[4], data[5]
    if flags & 0xE3 != 0x60 or block_size & 0x8F or block_size < 0x40:
        raise Corrupt("a frame of a kind that Kafka does not take")
    end = 14 if flags & 8 else 6
    if not any_checksum and data[end : end + 1] != _header_checksum(data[4:end]):
        raise Corrupt("a frame descriptor with a wrong checksum")
    return 1 << 8 + (block_size >> 3), bool(flags & 16), end + 1


def _decompress_block(block: bytes, most: int) -> bytes:
    cramjam = cramjam_or_none()
    if cramjam is None:
        return _copy_out(block, most)
    # A frame around the block, for cramjam's reader of bare blocks takes the first four bytes for a size if it can.
    frame = b"".join((_frame_start(most), len(block).to_bytes(4, "little"), block, bytes(4)))
    buffer = bytearray(min(most, 255 * len(block) + 64))  # a byte of a length stands for 255 bytes at most
    try:
        size = cramjam.lz4.decompress_into(frame, buffer)
    except cramjam.DecompressionError as error:
        raise Corrupt(str(error)) from None
    return bytes(memoryview(buffer)[:size])


@cache
def _frame_start(block_bytes: int) -> bytes:
    """The header of a frame of blocks of at most `block_bytes` bytes: 64 KiB, 256 KiB, 1 MiB or 4 MiB."""
    descriptor = bytes((0x60, block_bytes.bit_length() - 9 << 3))
    return _MAGIC + descriptor + _header_checksum(descriptor)


def _length(block: bytes, position: int, length: int) -> tuple[int, int]:
    """A length whose four bits were all set goes on in the following bytes."""
    more = 255
    while more == 255:
        more = block[position]
        position += 1
        length += more
    return length, position


def _copy_out(block: bytes, most: int) -> bytes:
    """The content of a compressed block, of at most `most` bytes."""
    out = bytearray()
    position, end = 0, len(block)
    try:
        while True:
            token = block[position]
            position += 1
            length = token >> 4
            may_be_last = length == 15 or position >= end - _SHORT_BYTES or len(out) > most - _SHORT_CONTENT_BYTES
            if length == 15:
                length, position = _length(block, position, length)
            out += block[position : position + length]
            position += length
            if may_be_last and (position > end - _LAST_BYTES or len(out) > most - _LAST_COPY_BYTES):
                if position != end:
                    raise Corrupt("a copy too close to the end of the block")
                break
            distance = block[position] | block[position + 1] << 8
            position += 2
            length = token & 15
            if length == 15:
                length, position = _length(block, position, length)
                if position > end - _LAST_LITERALS + 1:
                    raise Corrupt("a copy too close to the end of the block")
            length += 4
            start = len(out) - distance
            if start < 0 or distance == 0 or len(out) + length > most - _LAST_LITERALS:
                raise Corrupt("a copy of what is not there, or too much of it")
            if distance >= length:
                out += out[start : start + length]
            else:  # what is copied grows while it is
                out += (out[start:] * (length // distance + 1))[:length]
    except IndexError:
        raise Corrupt("a block that ends too early") from None
    if len(out) > most:
        raise Corrupt("a block that holds too much")
    return bytes(out)


_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF
_STRIPES = Struct("<4I")


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK


def xxh32(data: bytes) -> int:
    """The checksum XXH32 with seed 0."""
    size = len(data)
    position = size & ~15
    if position:
        one, two, three, four = _P1 + _P2 & _MASK, _P2, 0, -_P1 & _MASK
        for a, b, c, d in _STRIPES.iter_unpack(data[:position]):
            one = one + a * _P2 & _MASK
            one = ((one << 13 | one >> 19) & _MASK) * _P1 & _MASK
            two = two + b * _P2 & _MASK
            two = ((two << 13 | two >> 19) & _MASK) * _P1 & _MASK
            three = three + c * _P2 & _MASK
            three = ((three << 13 | three >> 19) & _MASK) * _P1 & _MASK
            four = four + d * _P2 & _MASK
            four = ((four << 13 | four >> 19) & _MASK) * _P1 & _MASK
        digest = _rotated(one, 1) + _rotated(two, 7) + _rotated(three, 12) + _rotated(four, 18)
    else:
        digest = _P5
    digest = digest + size & _MASK
    while position + 4 <= size:
        word = int.from_bytes(data[position : position + 4], "little")
        digest = _rotated(digest + word * _P3 & _MASK, 17) * _P4 & _MASK
        position += 4
    for byte in data[position:]:
        digest = _rotated(digest + byte * _P5 & _MASK, 11) * _P1 & _MASK
    digest = (digest ^ digest >> 15) * _P2 & _MASK
    digest = (digest ^ digest >> 13) * _P3 & _MASK
    return digest ^ digest >> 16
