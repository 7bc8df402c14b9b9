"""Kafka's variant of Snappy: the framing of the Java library snappy-java ("xerial").

    82 53 4e 41 50 50 59 00   magic: 0x82 "SNAPPY" 0
    00 00 00 01               version
    00 00 00 01               minimum version of a compatible reader
    { size (4 bytes, big-endian), that many bytes of raw snappy }*

Readers also accept raw snappy without framing, which some clients (old librdkafka, Sarama) send. Several streams, each
with its own header, may be concatenated. As in snappy-java, the version is checked only in the headers after the first,
and up to three extra bytes at the end are ignored.

Raw snappy is the uncompressed size as a varint, followed by literals and copies of earlier output:

    xxxxxx00            literal of x + 1 bytes; for x = 60 to 63, the next 1 to 4 bytes contain the length minus 1
    oooxxx01 o          copy of x + 4 bytes at distance o (11 bits)
    xxxxxx10 oo         copy of x + 1 bytes at distance o (16 bits)
    xxxxxx11 oooo       copy of x + 1 bytes at distance o (32 bits)
"""

from kafkalet.protocol.wire import Buffer

from .interruption import check, use_much_memory
from .streams import MUCH_MEMORY_BYTES, Corrupt, Output, TooLarge, cramjam_or_none
from .varint import encode_unsigned

_MAGIC = b"\x82SNAPPY\0"
_HEADER = _MAGIC + b"\0\0\0\1\0\0\0\1"
_BLOCK_BYTES = 32 * 1024
"""The block size of SnappyOutputStream."""
_CHECK_BYTES = 4 * 1024
"""The number of compressed bytes, at most 90 KiB of content, between two calls of `check`."""


def compress(data: Buffer) -> bytes:
    """Compress `data` into a framed stream. Without the cramjam package, the stream contains only literals."""
    cramjam = cramjam_or_none()
    pieces = [_HEADER]
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(data[start : start + _BLOCK_BYTES])
        raw = bytes(cramjam.snappy.compress_raw(block)) if cramjam else _literal(block)
        pieces += (len(raw).to_bytes(4, "big"), raw)
    return b"".join(pieces)


def decompress(data: Buffer, limit: int) -> bytes:
    """Decompress a framed or raw stream. Raises Corrupt or TooLarge."""
    data = bytes(data)
    if len(data) < len(_HEADER) or not data.startswith(_MAGIC):
        return _decompress_raw(data, limit)
    output = Output(limit)
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
            raise Corrupt("block extends beyond the end of the data")
        piece = _decompress_raw(data[position : position + size], output.left)
        output.add(piece)
        position += size
    return output.content()


def _another_stream(header: bytes) -> bool:
    """Return whether another stream begins here, False at the end of the data (SnappyInputStream.hasNextChunk).

    Raises Corrupt if the header is incomplete or has an invalid version.
    """
    if len(header) < len(_HEADER):
        raise Corrupt("truncated header")
    if not header.startswith(_MAGIC):
        return False
    if int.from_bytes(header[8:12], "big", signed=True) < 1:
        raise Corrupt("unknown framing version")
    return True


def _decompress_raw(data: bytes, limit: int) -> bytes:
    size, position = _announced_size(data)
    if size > limit:
        raise TooLarge
    if size > MUCH_MEMORY_BYTES:
        use_much_memory()
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
    raise Corrupt("size is missing or invalid")


def _literal(block: bytes) -> bytes:
    """Encode a block of 1 byte to 64 KiB as raw snappy with a single literal."""
    return encode_unsigned(len(block)) + b"\xf4" + (len(block) - 1).to_bytes(2, "little") + block


def _copy_out(data: bytes, position: int, size: int) -> bytes:
    """Decode the literals and copies that begin at `position`. They have to produce `size` bytes."""
    out = bytearray()
    end = len(data)
    check_at = 0
    while position < end:
        if position >= check_at:
            check()
            check_at = position + _CHECK_BYTES
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
                raise Corrupt("literal extends beyond the end of the data")
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
            raise Corrupt("copy is out of range")
        if distance >= length:
            out += out[start : start + length]
        else:  # the copy overlaps its own output
            out += (out[start:] * (length // distance + 1))[:length]
        if len(out) > size:
            break
    if len(out) != size:
        raise Corrupt(f"size of the content is not {size} bytes as announced")
    return bytes(out)
