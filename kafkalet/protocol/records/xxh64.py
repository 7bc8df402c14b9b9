"""The XXH64 checksum with seed 0. The optional checksum of a zstd frame is the low half of this checksum.

Stripes of 32 bytes are processed in four lanes of 8 bytes each. The lanes are then merged, and the remaining bytes are
mixed in, in units of 8, 4 and 1 bytes.
"""

from struct import Struct

from .interruption import check

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MASK = 0xFFFFFFFFFFFFFFFF
_STRIPES = Struct("<4Q")
_PART_BYTES = 128 * 1024


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2 & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes) -> int:
    """Return the 64-bit checksum."""
    position = len(data) & ~31
    digest = _long_part(data, position) if position else _P5
    digest = digest + len(data) & _MASK
    while position + 8 <= len(data):
        word = int.from_bytes(data[position : position + 8], "little")
        digest = _rotated(digest ^ _round(0, word), 27) * _P1 + _P4 & _MASK
        position += 8
    if position + 4 <= len(data):
        word = int.from_bytes(data[position : position + 4], "little")
        digest = _rotated(digest ^ word * _P1 & _MASK, 23) * _P2 + _P3 & _MASK
        position += 4
    for byte in data[position:]:
        digest = _rotated(digest ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    digest = (digest ^ digest >> 33) * _P2 & _MASK
    digest = (digest ^ digest >> 29) * _P3 & _MASK
    return digest ^ digest >> 32


def _long_part(data: bytes, end: int) -> int:
    """Return the digest of the complete 32-byte stripes in `data[:end]`. The rounds are inlined because this loop is
    the hot path."""
    one, two, three, four = _P1 + _P2 & _MASK, _P2, 0, -_P1 & _MASK
    for start in range(0, end, _PART_BYTES):
        check()
        for a, b, c, d in _STRIPES.iter_unpack(data[start : min(start + _PART_BYTES, end)]):
            one = one + a * _P2 & _MASK
            one = ((one << 31 | one >> 33) & _MASK) * _P1 & _MASK
            two = two + b * _P2 & _MASK
            two = ((two << 31 | two >> 33) & _MASK) * _P1 & _MASK
            three = three + c * _P2 & _MASK
            three = ((three << 31 | three >> 33) & _MASK) * _P1 & _MASK
            four = four + d * _P2 & _MASK
            four = ((four << 31 | four >> 33) & _MASK) * _P1 & _MASK
    digest = _rotated(one, 1) + _rotated(two, 7) + _rotated(three, 12) + _rotated(four, 18) & _MASK
    for lane in (one, two, three, four):
        digest = (digest ^ _round(0, lane)) * _P1 + _P4 & _MASK
    return digest
