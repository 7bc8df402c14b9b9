"""The codecs of record batches: gzip, snappy, lz4, zstd.

gzip is in the standard library. snappy and lz4 are native with the extra `codecs` (the package cramjam); without it
they are read in Python, at some ten MB/s, and written as literals, which every reader takes but which saves no space.
zstd needs the extra. What Kafka makes of each format is in `snappy.py` and `lz4.py`.

A batch may hold far more than its size promises, so every reader has a bound: it stops before it holds more than
`limit` bytes and raises KafkaError(MESSAGE_TOO_LARGE). What is no stream of its codec raises
KafkaError(UNKNOWN_SERVER_ERROR), for Kafka throws a bare KafkaException there ("Failed to decompress record stream").
"""

from enum import IntEnum
from types import ModuleType

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

LIMIT = 256 * 1024 * 1024
"""How many bytes a batch may hold decompressed unless the caller says otherwise."""


class Codec(IntEnum):
    """The codecs by their numbers in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def of(cls, number: int) -> "Codec":
        """Raises KafkaError(UNKNOWN_SERVER_ERROR) for 5 to 7, as Kafka's CompressionType.forId does."""
        if number > 4:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {number}")
        return cls(number)


class Corrupt(Exception):
    """The bytes are no stream of the codec."""


class TooLarge(Exception):
    """The stream holds more than it may."""


def compress(codec: Codec, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """`data` as a batch of format `magic` has it under `codec`; `level` is the codec's own, None its default.

    Raises KafkaError(UNSUPPORTED_COMPRESSION_TYPE) for zstd without the extra.
    """
    if codec is Codec.GZIP:
        return _gzip_compress(data, -1 if level is None else level)
    if codec is Codec.SNAPPY:
        from . import snappy

        return snappy.compress(data)
    if codec is Codec.LZ4:
        from . import lz4

        return lz4.compress(data, level, broken_checksum=magic == 0)
    if codec is Codec.ZSTD:
        return bytes(_cramjam("zstd").zstd.compress(bytes(data), level=3 if level is None else level))
    return bytes(data)


def decompress(codec: Codec, data: Buffer, limit: int = LIMIT, magic: int = 2) -> bytes:
    """The inverse; at most `limit` bytes. Raises KafkaError as the module says."""
    if codec is Codec.NONE:
        return bytes(data)
    try:
        if codec is Codec.GZIP:
            return _gzip_decompress(data, limit)
        if codec is Codec.SNAPPY:
            from . import snappy

            return snappy.decompress(data, limit)
        if codec is Codec.LZ4:
            from . import lz4

            return lz4.decompress(data, limit, any_checksum=magic == 0)
        return _zstd_decompress(bytes(data), limit)
    except Corrupt as error:
        message = f"Failed to decompress record stream ({codec.name.lower()}: {error})"
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, message) from None
    except TooLarge:
        message = f"a batch that holds more than {limit} bytes once decompressed"
        raise KafkaError(Code.MESSAGE_TOO_LARGE, message) from None


def cramjam_or_none() -> ModuleType | None:
    """The package of the extra `codecs`, if it is installed."""
    try:
        import cramjam
    except ImportError:
        return None
    return cramjam


def _cramjam(codec: str) -> ModuleType:
    cramjam = cramjam_or_none()
    if cramjam is None:
        message = f"{codec} needs the package cramjam: pip install kafkalet[codecs]"
        raise KafkaError(Code.UNSUPPORTED_COMPRESSION_TYPE, message)
    return cramjam


# The header as Java writes it since release 16: no time, no name, operating system unknown. Kafka says no more there.
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def _gzip_compress(data: Buffer, level: int) -> bytes:
    import zlib

    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join((_GZIP_HEADER, deflate.compress(data), deflate.flush(), trailer))


def _gzip_decompress(data: Buffer, limit: int) -> bytes:
    """Members one after the other, as GZIPInputStream reads them; what follows the last one and is none is dropped."""
    import zlib

    pieces: list[bytes] = []
    left = limit
    while not pieces or data[:2] == b"\x1f\x8b":
        inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            piece = inflate.decompress(data, left + 1)
        except zlib.error as error:
            raise Corrupt(str(error)) from None
        left -= len(piece)
        if left < 0:
            raise TooLarge
        if not inflate.eof:
            raise Corrupt("it ends too early")
        pieces.append(piece)
        data = inflate.unused_data
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK_BYTES = 128 * 1024


def _zstd_bound(data: bytes) -> int:
    """How many bytes the frames in `data` hold at most, by the headers of their blocks (RFC 8878, section 3.1)."""
    bound = position = 0
    while position < len(data):
        magic = data[position : position + 4]
        if magic[1:] == b"\x2a\x4d\x18":  # a frame to be skipped
            position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
            continue
        if magic != _ZSTD_FRAME:
            raise Corrupt("no frame where one should begin")
        descriptor = data[position + 4]
        single_segment, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
        content_size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
        position += 5 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size_bytes
        last = 0
        while not last:
            header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            bound += _ZSTD_BLOCK_BYTES if kind == 2 else size
            position += 3 + (1 if kind == 1 else size)
        position += 4 * has_checksum
    return bound


def _zstd_decompress(data: bytes, limit: int) -> bytes:
    """The size of a block comes to light only when it is decompressed, so larger and larger buffers are tried."""
    cramjam = _cramjam("zstd")
    try:
        bound = _zstd_bound(data)
    except IndexError:
        raise Corrupt("it ends too early") from None
    size = min(bound, limit, max(2 * _ZSTD_BLOCK_BYTES, 16 * len(data)))
    while True:
        buffer = bytearray(size)
        try:
            written = cramjam.zstd.decompress_into(data, buffer)
        except cramjam.DecompressionError as error:
            if size < min(bound, limit):
                size = min(bound, limit, 8 * size)
                continue
            if size < bound:
                raise TooLarge from None
            raise Corrupt(str(error)) from None
        return bytes(memoryview(buffer)[:written])
