"""Zstandard (KIP-110, RFC 8878): a library does the work, here is the bound on it.

The library is the package cramjam, else the one that Python has from 3.14 on, else our own: `zstd_frames.py`.

    28 b5 2f fd     begins a frame; 5x 2a 4d 18 one that readers skip, its size (4 bytes, little-endian) follows
    descriptor      bits 0-1 size of the dictionary's id, 2 has a checksum, 5 single segment, 6-7 of the content size
    [window] [id of a dictionary] [content size]
    blocks          header (3 bytes, little-endian): last?, kind (raw, one byte repeated, compressed), size; the data
    [checksum]      4 bytes

Java writes frames that do not tell their content's size, but a block never holds more than 128 KiB. Behind the first
frame a reader of Kafka's takes a frame that is cut off for the end.
"""

import sys
from itertools import pairwise
from types import ModuleType

from kafkalet.protocol.wire import Buffer

from .streams import Corrupt, TooLarge, cramjam_or_none

_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPED = b"\x2a\x4d\x18"
"""The magic of a frame to skip, but for its first byte, which is any from 50 to 5f."""
_BLOCK_BYTES = 128 * 1024
_COMPRESSED, _REPEATED = 2, 1
DEFAULT_LEVEL = 3


def compress(data: Buffer, level: int | None = None) -> bytes:
    """`data` as a frame; it saves no space without any of the libraries, but for one byte that is repeated."""
    level = DEFAULT_LEVEL if level is None else level
    if cramjam := cramjam_or_none():
        return bytes(cramjam.zstd.compress(bytes(data), level=level))
    if library := library_or_none():
        return bytes(library.compress(data, level=level))
    from . import zstd_frames

    return zstd_frames.compress(data)


def decompress(data: Buffer, limit: int) -> bytes:
    """The content of all frames together. Raises Corrupt or TooLarge."""
    data = bytes(data)
    ends, bound = _measure(data)
    end = ends[-1]
    if cramjam := cramjam_or_none():
        return _decompress_by_cramjam(cramjam, data[:end], limit, bound)
    if library := library_or_none():
        return _decompress_by_library(library, data, ends, limit)
    from . import zstd_frames

    return zstd_frames.decompress(data[:end], limit)


def most_bytes(data: bytes) -> int:
    """Return how many bytes the frames of `data` hold at most, by their headers. Raises Corrupt."""
    return _measure(data)[1]


def library_or_none() -> ModuleType | None:
    """The module of the standard library, from Python 3.14 on, where it was built with it."""
    if sys.version_info >= (3, 14):
        try:
            from compression import zstd
        except ImportError:
            return None
        return zstd
    return None


def _decompress_by_cramjam(cramjam: ModuleType, data: bytes, limit: int, bound: int) -> bytes:
    """How much a block holds comes to light only when it is decompressed, so larger and larger buffers are tried."""
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
    """Each frame is cut out first: a decompressor copies all that follows the frame it was given."""
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
            raise Corrupt("a frame that ends elsewhere than its blocks")
        pieces.append(piece)
    return b"".join(pieces)


def _measure(data: bytes) -> tuple[list[int], int]:
    """(0 and where each complete frame ends, how many bytes the frames hold at most)."""
    ends = [0]
    bound = 0
    while (end := ends[-1]) < len(data):
        magic = data[end : end + 4]
        if not (_FRAME.startswith(magic) or (magic[0] >> 4 == 5 and _SKIPPED.startswith(magic[1:]))):
            raise Corrupt("no frame where one should begin")
        try:
            frame_end, most = _measure_frame(data, end)
        except IndexError:
            frame_end, most = len(data) + 1, 0
        if frame_end > len(data):
            if end == 0:
                raise Corrupt("it ends too early")
            break
        ends.append(frame_end)
        bound += most
    return ends, bound


def _measure_frame(data: bytes, position: int) -> tuple[int, int]:
    """(where the frame at `position` ends, how many bytes it holds at most). May raise IndexError if it is cut off."""
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
