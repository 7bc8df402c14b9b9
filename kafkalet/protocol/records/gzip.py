"""gzip as Kafka has it: what Java's GZIPOutputStream writes and GZIPInputStream reads (RFC 1952).

    1f 8b 08   magic, deflate
    flags      1 text, 2 has a checksum of the header, 4 has extra fields, 8 has a name, 16 has a comment
    time       4 bytes; then 1 byte of extra flags, 1 byte for the operating system
    [extra fields: their size (2 bytes), little-endian, and they] [name 00] [comment 00] [checksum, 2 bytes]
    deflated data
    crc-32     4 bytes, little-endian
    size       4 bytes, little-endian

Members may follow each other. What follows one and does not begin another is dropped. Java does not mind flags without
a meaning, which zlib does; so only the deflated part is left to zlib.
"""

import zlib

from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge

_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""No time, no name, an unknown operating system, as Java writes it since release 16."""

_WINDOW_BYTES = 16 * 1024

_HEADER_CHECKSUM, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16


def compress(data: Buffer, level: int | None = None) -> bytes:
    """`data` as one member; `level` 1 to 9, None is zlib's default."""
    deflate = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b"".join((_HEADER, deflate.compress(data), deflate.flush(), _trailer(data)))


def _trailer(data: Buffer) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")


def decompress(data: Buffer, limit: int) -> bytes:
    """The content of all members together. Raises Corrupt or TooLarge."""
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
            raise Corrupt("a wrong checksum or size, or none")
        start = _header_end(data, end + 8)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _inflate(data: bytes, start: int, limit: int) -> tuple[bytes, int]:
    """The deflated part that begins at `start`: (content, position behind it).

    It is fed in windows, for zlib copies what it was given and did not need.
    """
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    pieces: list[bytes] = []
    while not inflate.eof:
        window = data[start : start + _WINDOW_BYTES]
        try:
            piece = inflate.decompress(window, limit + 1)
        except zlib.error as error:
            raise Corrupt(str(error)) from None
        limit -= len(piece)
        if limit < 0:
            raise TooLarge
        if not window:
            raise Corrupt("it ends too early")
        pieces.append(piece)
        start += len(window) - len(inflate.unused_data)
    return b"".join(pieces), start


def _header_end(data: bytes, start: int) -> int | None:
    """Where the deflated part of the member at `start` begins; None if there is no whole header."""
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
