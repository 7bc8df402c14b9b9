"""Kafka's variant of LZ4: a single frame of independent blocks (Lz4BlockOutputStream, Lz4BlockInputStream).

    04 22 4d 18    magic
    flags          version 01, independent blocks (1), block checksums, content size, content checksum, 00
    block size     4 to 7 in bits 4-6: blocks of at most 64 KiB, 256 KiB, 1 MiB or 4 MiB
    content size   8 bytes, optional (see flags)
    checksum       second byte of the XXH32 of the descriptor (flags to content size)
    blocks         { size (4 bytes, little-endian; high bit: not compressed), data, optional XXH32 of the data }*
    00 00 00 00    end mark

Kafka rejects dependent blocks and ignores data after the first frame. In messages of format 0, the descriptor checksum
is wrong because it includes the magic; readers of such messages ignore it.

A compressed block consists of sequences. Each sequence has a token (4 bits each for the number of literals and for the
length of the copy minus 4), the literals, and the distance of the copy (2 bytes). If the 4 bits of a number are 15,
further bytes follow and are added to it, up to and including the first byte that is not 255.
"""

from functools import cache
from struct import Struct

from kafkalet.protocol.wire import Buffer

from .interruption import check
from .streams import Corrupt, Output, cramjam_or_none

_MAGIC = b"\x04\x22\x4d\x18"
_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks of at most 64 KiB, nothing else
_BLOCK_BYTES = 64 * 1024
_NOT_COMPRESSED = 0x80000000
_LAST_LITERALS = 5
_LAST_BYTES = 3 + _LAST_LITERALS
_LAST_COPY_BYTES = 12
"""A block ends with at least 5 literals, and its last copy begins at least 12 bytes before the end.

These are LASTLITERALS and MFLIMIT in liblz4."""
_SHORT_BYTES, _SHORT_CONTENT_BYTES = 16, 32
"""Like liblz4, skip both checks for up to 14 literals that are this far from the ends of the block and the content."""


def compress(data: Buffer, level: int | None = None, *, broken_checksum: bool = False) -> bytes:
    """Compress `data` into a frame. Without the cramjam package, the blocks are stored uncompressed.

    Level 9 and None select the fast mode, and all other levels the high-compression mode.
    """
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
    """Return the content of the first frame. Raises Corrupt or TooLarge.

    With `any_checksum`, a wrong descriptor checksum is accepted, as in messages of format 0.
    """
    data = bytes(data)
    block_bytes, has_checksums, position = _read_header(data, any_checksum)
    output = Output(limit)
    while True:
        check()
        size = int.from_bytes(data[position : position + 4], "little")
        is_compressed = size < _NOT_COMPRESSED
        size &= _NOT_COMPRESSED - 1
        if position + 4 + size > len(data):
            raise Corrupt("unexpected end of data")
        if size == 0:
            return output.content()
        if size > block_bytes:
            raise Corrupt(f"block of {size} bytes exceeds the maximum of {block_bytes}")
        position += 4
        block = data[position : position + size]
        position += size
        if has_checksums:
            if int.from_bytes(data[position : position + 4], "little") != xxh32(block):
                raise Corrupt("wrong block checksum")
            position += 4
        piece = _decompress_block(block, block_bytes) if is_compressed else block
        if not piece:  # Kafka treats a block without content as the end of the stream
            return output.content()
        output.add(piece)


def _read_header(data: bytes, any_checksum: bool) -> tuple[int, bool, int]:
    """Return the maximum block size, whether blocks have checksums, and the position of the first block."""
    if len(data) < 7 or data[:4] != _MAGIC:
        raise Corrupt("not an LZ4 frame")
    flags, block_size = data[4], data[5]
    if flags & 0xE3 != 0x60 or block_size & 0x8F or block_size < 0x40:
        raise Corrupt("Kafka does not support frames with these flags")
    end = 14 if flags & 8 else 6
    if not any_checksum and data[end : end + 1] != _header_checksum(data[4:end]):
        raise Corrupt("wrong checksum of the frame descriptor")
    return 1 << 8 + (block_size >> 3), bool(flags & 16), end + 1


def _decompress_block(block: bytes, most: int) -> bytes:
    cramjam = cramjam_or_none()
    if cramjam is None:
        return _copy_out(block, most)
    # Wrap the block in a frame: cramjam's block decompressor may interpret the first four bytes of a block as a size.
    frame = b"".join((_frame_start(most), len(block).to_bytes(4, "little"), block, bytes(4)))
    buffer = bytearray(min(most, 255 * len(block) + 64))  # a length byte adds at most 255 bytes
    try:
        size = cramjam.lz4.decompress_into(frame, buffer)
    except cramjam.DecompressionError as error:
        raise Corrupt(str(error)) from None
    return bytes(memoryview(buffer)[:size])


@cache
def _frame_start(block_bytes: int) -> bytes:
    """Return the header of a frame with a maximum block size of 64 KiB, 256 KiB, 1 MiB or 4 MiB."""
    descriptor = bytes((0x60, block_bytes.bit_length() - 9 << 3))
    return _MAGIC + descriptor + _header_checksum(descriptor)


def _length(block: bytes, position: int, length: int) -> tuple[int, int]:
    """Read the additional bytes of a length whose four bits are all set. Return the length and the end of the bytes."""
    more = 255
    while more == 255:
        more = block[position]
        position += 1
        length += more
    return length, position


def _copy_out(block: bytes, most: int) -> bytes:
    """Decompress a block to at most `most` bytes."""
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
                raise Corrupt("copy is out of range")
            if distance >= length:
                out += out[start : start + length]
            else:  # the copy overlaps its own output
                out += (out[start:] * (length // distance + 1))[:length]
    except IndexError:
        raise Corrupt("unexpected end of a block") from None
    if len(out) > most:
        raise Corrupt("block content is too large")
    return bytes(out)


_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF
_STRIPES = Struct("<4I")


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK


def xxh32(data: bytes) -> int:
    """Return the XXH32 checksum with seed 0."""
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
