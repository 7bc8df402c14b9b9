"""The codecs of record batches: gzip, snappy, lz4, zstd.

gzip is in the standard library. The others are native with the extra `codecs` (the package cramjam), zstd also from
Python 3.14 on; without it they are read in Python, at some ten MB/s, and written uncompressed in their frames, which
every reader takes but which saves no space. What Kafka makes of each format is in `gzip.py`, `snappy.py`, `lz4.py` and
`zstd.py`.

A batch may hold far more than its size promises, so every reader has a bound: it stops before it holds more than
`limit` bytes and raises KafkaError(MESSAGE_TOO_LARGE). What is no stream of its codec raises
KafkaError(UNKNOWN_SERVER_ERROR), for Kafka throws a bare KafkaException there ("Failed to decompress record stream").
"""

from enum import IntEnum

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge

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


def compress(codec: Codec, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """`data` as a batch of format `magic` has it under `codec`; `level` is the codec's own, None its default."""
    if codec is Codec.GZIP:
        from . import gzip

        return gzip.compress(data, level)
    if codec is Codec.SNAPPY:
        from . import snappy

        return snappy.compress(data)
    if codec is Codec.LZ4:
        from . import lz4

        return lz4.compress(data, level, broken_checksum=magic == 0)
    if codec is Codec.ZSTD:
        from . import zstd

        return zstd.compress(data, level)
    return bytes(data)


def decompress(codec: Codec, data: Buffer, limit: int = LIMIT, magic: int = 2) -> bytes:
    """The inverse; at most `limit` bytes. Raises KafkaError as the module says."""
    try:
        return _decompress(codec, data, limit, magic)
    except Corrupt as error:
        message = f"Failed to decompress record stream ({codec.name.lower()}: {error})"
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, message) from None
    except TooLarge:
        message = f"a batch that holds more than {limit} bytes once decompressed"
        raise KafkaError(Code.MESSAGE_TOO_LARGE, message) from None


def _decompress(codec: Codec, data: Buffer, limit: int, magic: int) -> bytes:
    if codec is Codec.GZIP:
        from . import gzip

        return gzip.decompress(data, limit)
    if codec is Codec.SNAPPY:
        from . import snappy

        return snappy.decompress(data, limit)
    if codec is Codec.LZ4:
        from . import lz4

        return lz4.decompress(data, limit, any_checksum=magic == 0)
    if codec is Codec.ZSTD:
        from . import zstd

        return zstd.decompress(data, limit)
    return bytes(data)
