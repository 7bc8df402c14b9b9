"""Snappy as Kafka has it: in the framing of the Java library snappy-java ("xerial").

    82 53 4e 41 50 50 59 00   magic: 0x82 "SNAPPY" 0
    00 00 00 01               version
    00 00 00 01               oldest version that can read it
    { size (4 bytes, big-endian), that many bytes of raw snappy }*

Readers take raw snappy without framing, too: some clients (old librdkafka, Sarama) send that. Streams may be
concatenated, header and all. The versions are looked at only there, and up to three bytes too many at the end are none.

Raw snappy is a varint, the size of the data, and then literals and copies of what is already there:

    xxxxxx00            literal of x + 1 bytes; 60 to 63: x + 1 stands in the next 1 to 4 bytes, less 1
    oooxxx01 o          copy of x + 4 bytes from o back (11 bits)
    xxxxxx10 oo         copy of x + 1 bytes from o back (16 bits)
    xxxxxx11 oooo       copy of x + 1 bytes from o back (32 bits)
"""

from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge, cramjam_or_none
from .varint import encode_unsigned

_MAGIC = b"\x82SNAPPY\0"
_HEADER = _MAGIC + b"\0\0\0\1\0\0\0\1"
_BLOCK_BYTES = 32 * 1024
"""SnappyOutputStream's blocks."""


def compress(data: Buffer) -> bytes:
    """`data` framed; in literals only, without the package cramjam."""
    cramjam = cramjam_or_none()
    pieces = [_HEADER]
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(data[start : start + _BLOCK_BYTES])
        raw = bytes(cramjam.snappy.compress_raw(block)) if cramjam else _literal(block)
        pieces += (len(raw).to_bytes(4, "big"), raw)
    return b"".join(pieces)


def decompress(data: Buffer, limit: int) -> bytes:
    """Framed or raw. Raises Corrupt or TooLarge."""
    data = bytes(data)
    if len(data) < len(_HEADER) or not data.startswith(_MAGIC):
        return _decompress_raw(data, limit)
    pieces = []
    position = len(_HEADER)
    while len(data) - position >= 4:
        if data.startswith(_MAGIC[:4], position):
            if not _another_stream(data[position : position + len(_HEADER)]):
                break
            position += len(_HEADER)
            continue
        size = int.from_bytes(data[position : position + 4], "big", signed=True)
        position += 4
        if not 0 <= size <= len(data) - position:
            raise Corrupt("a block that goes on beyond the end")
        piece = _decompress_raw(data[position : position + size], limit)
        limit -= len(piece)
        pieces.append(piece)
        position += size
    return b"".join(pieces)


def _another_stream(header: bytes) -> bool:
    """Whether a stream begins here; else what was read before is all (SnappyInputStream.hasNextChunk)."""
    if len(header) < len(_HEADER):
        raise Corrupt("a header that is cut off")
    if not header.startswith(_MAGIC):
        return False
    if int.from_bytes(header[8:12], "big", signed=True) < 1:
        raise Corrupt("a framing of another version")
    return True


def _decompress_raw(data: bytes, limit: int) -> bytes:
    size, position = _announced_size(data)
    if size > limit:
        raise TooLarge
    cramjam = cramjam_or_none()
    if cramjam is None:
        return _copy_out(data, position, size)
    try:
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise Corrupt(str(error)) from None


def _announced_size(data: bytes) -> tuple[int, int]:
    size = 0
    for index in range(min(5, len(data))):
        size |= (data[index] & 127) << 7 * index
        if data[index] < 128:
            return size, index + 1
    raise Corrupt("no size at the start")


def _literal(block: bytes) -> bytes:
    """Raw snappy of 1 byte to 64 KiB, not compressed."""
    return encode_unsigned(len(block)) + b"\xf4" + (len(block) - 1).to_bytes(2, "little") + block


def _copy_out(data: bytes, position: int, size: int) -> bytes:
    """The literals and copies from `position` on, which have to give `size` bytes."""
    out = bytearray()
    end = len(data)
    while position < end:
        tag = data[position]
        position += 1
        kind = tag & 3
        if kind == 0:
            length = (tag >> 2) + 1
            if length > 60:
                length_bytes = length - 60
                length = int.from_bytes(data[position : position + length_bytes], "little") + 1
                position += length_bytes
            if length > end - position:
                raise Corrupt("a literal that goes on beyond the end")
            out += data[position : position + length]
            position += length
            continue
        if kind == 1:
            length = (tag >> 2 & 7) + 4
            distance = tag >> 5 << 8 | (data[position] if position < end else 0)
            position += 1
        else:
            length = (tag >> 2) + 1
            distance_bytes = 2 if kind == 2 else 4
            distance = int.from_bytes(data[position : position + distance_bytes], "little")
            position += distance_bytes
        start = len(out) - distance
        if start < 0 or distance == 0 or position > end:
            raise Corrupt("a copy of what is not there")
        if distance >= length:
            out += out[start : start + length]
        else:  # what is copied grows while it is
            out += (out[start:] * (length // distance + 1))[:length]
        if len(out) > size:
            break
    if len(out) != size:
        raise Corrupt(f"it announces {size} bytes and holds others")
    return bytes(out)
