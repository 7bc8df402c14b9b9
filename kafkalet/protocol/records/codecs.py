"""The compression codecs of record batches: gzip, snappy, lz4 and zstd.

gzip is in the standard library. The other codecs use native code if the `codecs` extra (the cramjam package) is
installed; since Python 3.14, the standard library contains zstd too. Without native code, data is decompressed in
Python at about 10 MB/s, and compression produces valid frames of uncompressed data, which saves no space. `gzip.py`,
`snappy.py`, `lz4.py` and `zstd.py` describe Kafka's variant of each format.

A small batch can decompress to a huge one. Decompression therefore stops at `limit` bytes and raises
KafkaError(MESSAGE_TOO_LARGE). Invalid data raises KafkaError(UNKNOWN_SERVER_ERROR), because Kafka throws a plain
KafkaException in this case ("Failed to decompress record stream").
"""

from enum import IntEnum

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge

LIMIT = 256 * 1024 * 1024
"""The default limit on the size of a decompressed batch, in bytes."""


class Codec(IntEnum):
    """The codecs, with the ids that identify them in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def of(cls, number: int) -> "Codec":
        """Return the codec with this id. Raises KafkaError(UNKNOWN_SERVER_ERROR) for 5 to 7 (CompressionType.forId)."""
        if number > 4:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {number}")
        return _CODECS[number]


_CODECS = list(Codec)


def compress(codec: Codec, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """Compress `data` for a batch of format `magic`. The range of `level` depends on the codec; None is the default."""
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
    """Decompress `data` to at most `limit` bytes. Raises KafkaError as described in the module docstring."""
    try:
        return _decompress(codec, data, limit, magic)
    except Corrupt as error:
        message = f"Failed to decompress record stream ({codec.name.lower()}: {error})"
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, message) from None
    except TooLarge:
        message = f"the batch exceeds the limit of {limit} bytes after decompression"
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
