"""XXH3 as implemented by hash4j in Kafka."""

import pytest

from kafkalet.broker.groups.modern.xxh3 import xxh3_64

HASHES = {
    0: 0x2D06800538D394C2,
    1: 0x4C5CCA45D0F4811F,
    3: 0x15F7093B173D005C,
    4: 0xDCA012F95811B6B9,
    8: 0xDEC6A9A43575982E,
    9: 0xCBE393399F17FFBD,
    16: 0x7E484C18D74895D0,
    17: 0x208BDE5EE2BED407,
    32: 0x03DF0AC5255D1446,
    33: 0x199A362122D71F46,
    64: 0xDD30702AB46B3745,
    65: 0xFAB36B851B94CE20,
    128: 0xF92B70EAA21A6288,
    129: 0xF8F76713F2BB60FA,
    240: 0xCCC7375172C41F03,
    241: 0x0B3B630948CE4A00,
    256: 0xEC85B75BAFE6CA74,
    1024: 0x23BC880EBF0D29C6,
    1025: 0xC09FDFBC398C7D82,
    4000: 0x9D5E1BE70BA5D851,
}
"""Hashes by input length; byte i of the input is 31 * i + 7."""


@pytest.mark.parametrize("size", HASHES)
def test_hashes_equal_those_of_hash4j(size: int) -> None:
    assert xxh3_64(bytes((31 * index + 7) & 0xFF for index in range(size))) == HASHES[size]
