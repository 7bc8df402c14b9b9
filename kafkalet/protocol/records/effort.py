"""Tells from the header of an entry whether reading its records may take long, so that a broker does it elsewhere.

The answer is a bound, not an estimate: what does not take long by it takes some ten milliseconds at most, whatever the
producer has put into the batch. Every codec has a largest ratio between what it writes and what comes out:

    gzip      1,032   the longest match (258 bytes) in two bits (RFC 1951)
    snappy       22   a copy of 64 bytes in three
    lz4         255   one byte more of a length stands for 255 bytes
    zstd              128 KiB a block, however small it is; the frame says how many there are
"""

from kafkalet.protocol.wire import Buffer

from .batch import ATTRIBUTES_AT, CODEC_MASK, COUNT_AT, HEADER_SIZE, INT32, LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, Batch
from .codecs import Codec
from .streams import cramjam_or_none

MANY_RECORDS = 2000
"""A walk over so many records takes some milliseconds; decoding and encoding them again, some ten."""
MANY_BYTES = 4 * 1024 * 1024
"""To take the checksum of so many bytes, or to decompress them, takes some milliseconds."""
MANY_BYTES_SLOWLY = 16 * 1024
"""The same for our own decompression."""
_SMALLEST_MESSAGE = 26

_RATIOS = {Codec.GZIP: 1032, Codec.SNAPPY: 22, Codec.LZ4: 255}


def takes_long(entry: Buffer) -> bool:
    """Return whether to check or to decode the records of the entry that begins `entry` may take long.

    What follows the first entry counts only as bytes. Anything that is not an entry does not take long.
    """
    if len(entry) < HEADER_SIZE or entry[MAGIC_AT] > 2:
        return False
    if entry[MAGIC_AT] < 2:  # a message, a wrapper, or a set of them
        return len(entry) > MANY_RECORDS * _SMALLEST_MESSAGE or bool(entry[MAGIC_AT + 1] & CODEC_MASK)
    (count,) = INT32.unpack_from(entry, COUNT_AT)
    if count > MANY_RECORDS or len(entry) > MANY_BYTES:
        return True
    codec = entry[ATTRIBUTES_AT + 1] & CODEC_MASK
    if not codec or codec > Codec.ZSTD:
        return False
    (length,) = INT32.unpack_from(entry, LENGTH_AT)
    return _inflates(Codec(codec), memoryview(entry)[HEADER_SIZE : length + LOG_OVERHEAD])


def batch_takes_long(batch: Batch) -> bool:
    """The same for an entry that is at hand as a `Batch`."""
    return takes_long(batch.view())


def _inflates(codec: Codec, data: memoryview) -> bool:
    """Return whether this may be much once decompressed."""
    if codec is Codec.GZIP or cramjam_or_none() is not None:
        return _most_bytes(codec, data) > MANY_BYTES
    return codec is Codec.ZSTD or _most_bytes(codec, data) > MANY_BYTES_SLOWLY


def _most_bytes(codec: Codec, data: memoryview) -> int:
    """How many bytes this holds at most."""
    if codec is not Codec.ZSTD:
        return _RATIOS[codec] * len(data)
    from .streams import Corrupt
    from .zstd import most_bytes

    try:
        return most_bytes(bytes(data))
    except Corrupt:
        return 0
