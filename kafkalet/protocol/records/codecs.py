"""The codecs of record batches."""

from enum import IntEnum

from kafkalet.protocol.errors import Code, KafkaError

from .varint import Buffer

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
        """Raises KafkaError(UNKNOWN_SERVER_ERROR) for 5 to 7: Kafka's CompressionType.forId does so."""
        if number > 4:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {number}")
        return cls(number)


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` as `codec` has it in a batch of format 2."""
    raise NotImplementedError


def decompress(codec: Codec, data: Buffer, limit: int = LIMIT) -> bytes:
    """The inverse; refuses to produce more than `limit` bytes."""
    raise NotImplementedError
