"""gzip as written by Java's GZIPOutputStream and read by its GZIPInputStream (RFC 1952).

    1f 8b 08   magic, deflate
    flags      1 text, 2 header checksum, 4 extra fields, 8 name, 16 comment
    time       4 bytes; then 1 byte of extra flags, 1 byte for the operating system
    [size of the extra fields (2 bytes, little-endian), extra fields] [name 00] [comment 00] [checksum, 2 bytes]
    deflated data
    crc-32     4 bytes, little-endian
    size       4 bytes, little-endian

A stream may contain several members. Data after a member is ignored unless it is another member. Unlike zlib, Java
accepts undefined flags, so the header is parsed here and zlib only decompresses the deflated data.
"""

import zlib

from kafkalet.protocol.wire import Buffer

from .interruption import check
from .streams import Corrupt, Output

_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""The header that Java 16 and later write: no time, no name, and an unknown operating system."""

_WINDOW_BYTES = 4 * 1024
"""zlib copies all input that it does not use, and returns at most 4 MiB for this much."""

_HEADER_CHECKSUM, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16


def compress(data: Buffer, level: int | None = None) -> bytes:
    """Compress `data` into a single member. `level` is 1 to 9, or None for zlib's default."""
    deflate = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b"".join((_HEADER, deflate.compress(data), deflate.flush(), _trailer(data)))


def _trailer(data: Buffer) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")


def decompress(data: Buffer, limit: int) -> bytes:
    """Return the concatenated content of all members. Raises Corrupt or TooLarge."""
    data = bytes(data)
    start = _header_end(data, 0)
    if start is None:
        raise Corrupt("no header")
    pieces: list[bytes] = []
    while start is not None:
        content, end = _inflate(data, start, limit)
        limit -= len(content)
        pieces.append(content)
        if data[end : end + 8] != _trailer(content):
            raise Corrupt("checksum or size is wrong or missing")
        start = _header_end(data, end + 8)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _inflate(data: bytes, start: int, limit: int) -> tuple[bytes, int]:
    """Inflate the data that begins at `start`. Return the inflated content and the end of the data."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    output = Output(limit)
    while not inflate.eof:
        check()
        window = data[start : start + _WINDOW_BYTES]
        try:
            piece = inflate.decompress(window, output.left + 1)
        except zlib.error as error:
            raise Corrupt(str(error)) from None
        output.add(piece)
        if not window:
            raise Corrupt("unexpected end of data")
        start += len(window) - len(inflate.unused_data)
    return output.content(), start


def _header_end(data: bytes, start: int) -> int | None:
    """Return the end of the member header at `start`, or None if there is no complete header."""
    position = start + len(_HEADER)
    if len(data) < position or not data.startswith(_HEADER[:3], start):
        return None
    flags = data[start + 3]
    if flags & _EXTRA:
        position += 2 + int.from_bytes(data[position : position + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            position = data.find(b"\0", position) + 1
            if position == 0:
                return None
    if flags & _HEADER_CHECKSUM:
        if (zlib.crc32(data[start:position]) & 0xFFFF).to_bytes(2, "little") != data[position : position + 2]:
            return None
        position += 2
    return position if position <= len(data) else None
