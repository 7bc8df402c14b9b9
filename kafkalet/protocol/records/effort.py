"""Determines from the header of an entry whether processing its records may block the event loop for too long.

The result is a guarantee rather than an estimate: an entry that is not reported as slow can be processed within about
ten milliseconds, even if a producer crafted it to take as long as possible. Each codec has a maximum compression ratio:

    gzip      1,032   the longest match (258 bytes) takes two bits (RFC 1951)
    snappy       22   a copy of 64 bytes takes three bytes
    lz4         255   each additional length byte adds up to 255 bytes
    zstd              a block of any size holds up to 128 KiB; the blocks are counted
"""

from kafkalet.protocol.wire import Buffer

from .batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    COUNT_AT,
    HEADER_SIZE,
    INT32,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    Batch,
    is_one_batch,
)
from .codecs import Codec
from .streams import cramjam_or_none

MANY_RECORDS = 2000
"""Validating this many records takes a few milliseconds; decoding and re-encoding them takes about ten."""
RECORDS_AT_ONCE = 10_000
"""Validating this many records of an uncompressed batch takes five milliseconds if they are not decoded."""
MANY_BYTES = 4 * 1024 * 1024
"""Computing the checksum of this many bytes, or decompressing them, takes a few milliseconds."""
MANY_HEADER_BYTES = 256 * 1024
"""This many bytes can contain 128,000 empty headers. Validating them takes about ten milliseconds."""
MANY_BYTES_SLOWLY = 16 * 1024
"""The equivalent of MANY_BYTES for decompression in pure Python."""
_SMALLEST_MESSAGE = 26

_RATIOS = {Codec.GZIP: 1032, Codec.SNAPPY: 22, Codec.LZ4: 255}


class TakesLong(Exception):
    """The work has not been done, because it may take a long time."""


def may_take_long(entry: Buffer) -> bool:
    """Return True if validating records may block the event loop for too long."""
    return takes_long(entry) or may_have_many_headers(entry)


def may_be_quick(entry: Buffer) -> bool:
    """Return whether validation without decoding takes little time, for entries for which `may_take_long` is True."""
    if not takes_long(entry):
        return True
    return (
        is_one_batch(entry)
        and not entry[ATTRIBUTES_AT + 1] & CODEC_MASK
        and len(entry) <= MANY_BYTES
        and INT32.unpack_from(entry, COUNT_AT)[0] <= RECORDS_AT_ONCE
    )


def takes_long(entry: Buffer) -> bool:
    """Return whether validating or decoding the first entry in `entry` may take a long time.

    The size of the data after the first entry counts, but its content is not examined. Returns False for data that is
    not a valid entry.
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


def may_have_many_headers(entry: Buffer) -> bool:
    """Return whether validation may take long although `takes_long` is False: records may have thousands of headers."""
    if len(entry) < HEADER_SIZE or entry[MAGIC_AT] != 2:
        return False
    codec = entry[ATTRIBUTES_AT + 1] & CODEC_MASK
    if not codec or codec > Codec.ZSTD:
        return len(entry) > MANY_HEADER_BYTES
    (length,) = INT32.unpack_from(entry, LENGTH_AT)
    return _most_bytes(Codec(codec), memoryview(entry)[HEADER_SIZE : length + LOG_OVERHEAD]) > MANY_HEADER_BYTES


def batch_takes_long(batch: Batch) -> bool:
    """Return the result of `takes_long` for a `Batch`."""
    return takes_long(batch.view())


def _inflates(codec: Codec, data: memoryview) -> bool:
    """Return whether decompressing the data may take a long time."""
    if codec is Codec.GZIP or cramjam_or_none() is not None:
        return _most_bytes(codec, data) > MANY_BYTES
    return codec is Codec.ZSTD or _most_bytes(codec, data) > MANY_BYTES_SLOWLY


def _most_bytes(codec: Codec, data: memoryview) -> int:
    """Return an upper bound for the size of the decompressed data."""
    if codec is not Codec.ZSTD:
        return _RATIOS[codec] * len(data)
    from .streams import Corrupt
    from .zstd import most_bytes

    try:
        return most_bytes(bytes(data))
    except Corrupt:
        return 0
