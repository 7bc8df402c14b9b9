"""Zstandard (KIP-110, RFC 8878): calls a library, and limits the size of the decompressed data.

The library is the cramjam package if it is installed, otherwise Python's own module (since 3.14). Without either,
`zstd_frames.py` is used.

    28 b5 2f fd     start of a frame; 5x 2a 4d 18 and a size (4 bytes, little-endian) start a skippable frame
    descriptor      bits 0-1 size of the dictionary id, 2 checksum, 5 single segment, 6-7 size of the content size
    [window] [dictionary id] [content size]
    blocks          header (3 bytes, little-endian): last block?, type (raw, RLE, compressed), size; then the data
    [checksum]      4 bytes

Java writes frames without the content size, but no block contains more than 128 KiB. After the first frame, Kafka
treats an incomplete frame as the end of the data.
"""

import sys
from itertools import pairwise
from types import ModuleType

from kafkalet.protocol.wire import Buffer

from .interruption import use_much_memory
from .streams import MUCH_MEMORY_BYTES, Corrupt, TooLarge, cramjam_or_none

_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPED = b"\x2a\x4d\x18"
"""The magic of a skippable frame without its first byte, which ranges from 50 to 5f."""
_BLOCK_BYTES = 128 * 1024
_COMPRESSED, _REPEATED = 2, 1
DEFAULT_LEVEL = 3


def compress(data: Buffer, level: int | None = None) -> bytes:
    """Compress `data` into a frame. Without a library, only repetitions of a single byte are compressed."""
    level = DEFAULT_LEVEL if level is None else level
    if cramjam := cramjam_or_none():
        return bytes(cramjam.zstd.compress(bytes(data), level=level))
    if library := library_or_none():
        return bytes(library.compress(data, level=level))
    from . import zstd_frames

    return zstd_frames.compress(data)


def decompress(data: Buffer, limit: int) -> bytes:
    """Return the concatenated content of all frames. Raises Corrupt or TooLarge."""
    data = bytes(data)
    ends, bound = _measure(data)
    end = ends[-1]
    if min(bound, limit) > MUCH_MEMORY_BYTES:
        use_much_memory()
    if cramjam := cramjam_or_none():
        return _decompress_by_cramjam(cramjam, data[:end], limit, bound)
    if library := library_or_none():
        return _decompress_by_library(library, data, ends, limit)
    from . import zstd_frames

    return zstd_frames.decompress(data[:end], limit)


def most_bytes(data: bytes) -> int:
    """Return an upper bound for the content size of all frames, computed from the block headers. Raises Corrupt."""
    return _measure(data)[1]


def library_or_none() -> ModuleType | None:
    """Return the module of the standard library (since Python 3.14), or None if it is not available."""
    if sys.version_info >= (3, 14):
        try:
            from compression import zstd
        except ImportError:
            return None
        return zstd
    return None


def _decompress_by_cramjam(cramjam: ModuleType, data: bytes, limit: int, bound: int) -> bytes:
    """Decompress with cramjam into increasingly larger buffers, because the content size is not known in advance."""
    if not data:
        return b""
    most = min(bound, limit)
    size = min(most, max(2 * _BLOCK_BYTES, 16 * len(data)))
    while True:
        buffer = bytearray(size)
        try:
            written = cramjam.zstd.decompress_into(data, buffer)
        except cramjam.DecompressionError as error:
            if size < most:
                size = min(most, 8 * size)
                continue
            if size < bound:
                raise TooLarge from None
            raise Corrupt(str(error)) from None
        return bytes(memoryview(buffer)[:written])


def _decompress_by_library(library: ModuleType, data: bytes, ends: list[int], limit: int) -> bytes:
    """Decompress with the standard library, frame by frame, because it copies all data that follows a frame."""
    pieces: list[bytes] = []
    for start, end in pairwise(ends):
        frame = library.ZstdDecompressor()
        try:
            piece = frame.decompress(data[start:end], limit + 1)
        except library.ZstdError as error:
            raise Corrupt(str(error)) from None
        limit -= len(piece)
        if limit < 0:
            raise TooLarge
        if not frame.eof or frame.unused_data:
            raise Corrupt("frame does not end after its last block")
        pieces.append(piece)
    return b"".join(pieces)


def _measure(data: bytes) -> tuple[list[int], int]:
    """Return a list of 0 and the ends of all complete frames, and an upper bound for the total content size."""
    ends = [0]
    bound = 0
    while (end := ends[-1]) < len(data):
        magic = data[end : end + 4]
        if not (_FRAME.startswith(magic) or (magic[0] >> 4 == 5 and _SKIPPED.startswith(magic[1:]))):
            raise Corrupt("not a zstd frame")
        try:
            frame_end, most = _measure_frame(data, end)
        except IndexError:
            frame_end, most = len(data) + 1, 0
        if frame_end > len(data):
            if end == 0:
                raise Corrupt("unexpected end of data")
            break
        ends.append(frame_end)
        bound += most
    return ends, bound


def _measure_frame(data: bytes, position: int) -> tuple[int, int]:
    """Return the end of the frame at `position` and an upper bound for its content size.

    Raises IndexError, or returns an end beyond the data, if the frame is incomplete.
    """
    if data[position] != _FRAME[0]:
        return position + 8 + int.from_bytes((data[position + 4 : position + 8] + bytes(4))[:4], "little"), 0
    descriptor = data[position + 4]
    single_segment, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    content_size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
    position += 5 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size_bytes
    most = is_last = 0
    while not is_last:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        most += _BLOCK_BYTES if kind == _COMPRESSED else size
        position += 3 + (1 if kind == _REPEATED else size)
    return position + 4 * has_checksum, most
