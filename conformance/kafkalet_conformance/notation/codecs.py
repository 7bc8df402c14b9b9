"""Compression codecs of record batches, with the framing that Kafka's clients use.

Without the `codecs` extra, snappy, lz4 and zstd come from kafkalet.protocol.records; their output is valid but not
compressed.
"""

import struct
import zlib

from kafkalet.protocol.records import codecs
from kafkalet.protocol.records.streams import cramjam_or_none

cramjam = cramjam_or_none()

NAMES = ["none", "gzip", "snappy", "lz4", "zstd"]

XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
LZ4_HEAD = bytes.fromhex("04224d18 60 40 82")  # magic, independent blocks, 64 KiB blocks, header checksum
LZ4_BLOCK, LZ4_LARGEST = 1 << 16, 1 << 22


def compress(codec: str, data: bytes) -> bytes:
    """Return compressed bytes. `codec` is none, gzip, snappy, lz4 or zstd."""
    match codec:
        case "none":
            return data
        case "gzip":
            deflate = zlib.compressobj(level=9, wbits=31)
            packed = deflate.compress(data) + deflate.flush()
            return packed[:8] + b"\x02\xff" + packed[10:]  # best compression, OS unknown: portable
        case _ if cramjam is None:
            return codecs.compress(codecs.Codec(NAMES.index(codec)), data)
        case "snappy":
            block = bytes(cramjam.snappy.compress_raw(data))
            return XERIAL + struct.pack(">i", len(block)) + block
        case "lz4":
            return _lz4_frame(data)
        case "zstd":
            return bytes(cramjam.zstd.compress(data))
    raise ValueError(f"no codec {codec!r}")


def _lz4_frame(data: bytes) -> bytes:
    assert cramjam is not None
    out = [LZ4_HEAD]
    for at in range(0, len(data), LZ4_BLOCK):
        plain = data[at : at + LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        stored = len(block) >= len(plain)
        out += [struct.pack("<I", len(plain) | 1 << 31) + plain if stored else struct.pack("<I", len(block)) + block]
    return b"".join([*out, bytes(4)])


def decompress(codec: str, data: bytes) -> bytes:
    """Return decompressed bytes; the reverse of `compress`."""
    match codec:
        case "none":
            return data
        case "gzip":
            return zlib.decompress(data, wbits=31)
        case _ if cramjam is None:
            return codecs.decompress(codecs.Codec(NAMES.index(codec)), data, magic=0)  # any header checksum
        case "snappy":
            return _snappy(data)
        case "lz4":
            return _lz4(data)
        case "zstd":
            return bytes(cramjam.zstd.decompress(data))
    raise ValueError(f"no codec {codec!r}")


def _snappy(data: bytes) -> bytes:
    assert cramjam is not None
    if not data.startswith(XERIAL[:8]):
        return bytes(cramjam.snappy.decompress_raw(data))
    out, at = b"", len(XERIAL)
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        out += bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return out


def _lz4(data: bytes) -> bytes:
    """Decode a frame block by block, ignoring the header checksum, which Kafka computes wrongly for magic 0."""
    assert cramjam is not None
    flags = data[4]
    at = 7 + (8 if flags & 8 else 0)
    out, plain = b"", bytearray(LZ4_LARGEST)
    while size := struct.unpack_from("<I", data, at)[0]:
        at += 4
        length = size & 0x7FFFFFFF
        block = data[at : at + length]
        out += block if size >> 31 else plain[: cramjam.lz4.decompress_block_into(block, plain, output_len=LZ4_LARGEST)]
        at += length + (4 if flags & 16 else 0)
    return out
