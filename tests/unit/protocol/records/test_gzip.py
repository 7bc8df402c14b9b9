import gzip as standard
import tracemalloc
import zlib

import pytest

from kafkalet.protocol.records import gzip
from kafkalet.protocol.records.streams import Corrupt, TooLarge

LIMIT = 1 << 20
ONE = gzip.compress(b"one ")
TWO = gzip.compress(b"two")


def with_flags(flags: int, fields: bytes) -> bytes:
    return ONE[:3] + bytes((flags,)) + ONE[4:10] + fields + ONE[10:]


def checksummed(flags: int, fields: bytes) -> bytes:
    header = with_flags(flags | 2, fields)[: 10 + len(fields)]
    return header + (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little") + ONE[10:]


def test_other_libraries_decompress_it() -> None:
    assert standard.decompress(gzip.compress(bytes(100_000))) == bytes(100_000)


def test_output_of_other_libraries_is_decompressed() -> None:
    assert gzip.decompress(standard.compress(b"content"), LIMIT) == b"content"


def test_header_equals_that_of_java() -> None:
    assert gzip.compress(b"").hex() == "1f8b08000000000000ff" + "0300" + "00000000" + "00000000"


def test_members_are_concatenated() -> None:
    assert gzip.decompress(ONE + TWO + ONE, LIMIT) == b"one twoone "


@pytest.mark.parametrize("rest", [b"\x1f", b"\x1f\x8b\x08", b"\1\2\3", bytes(20), b"\x1f\x8b\x07" + ONE[3:]])
def test_trailing_data_is_ignored(rest: bytes) -> None:
    assert gzip.decompress(ONE + rest, LIMIT) == b"one "


def test_limit_applies_to_all_members_together() -> None:
    assert gzip.decompress(ONE * 3, 12) == b"one one one "
    with pytest.raises(TooLarge):
        gzip.decompress(ONE * 3, 11)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(with_flags(0x81, b""), id="undefined flags"),
        pytest.param(with_flags(4, b"\3\0abc"), id="extra fields"),
        pytest.param(with_flags(8, b"name\0"), id="a name"),
        pytest.param(with_flags(16, b"comment\0"), id="a comment"),
        pytest.param(checksummed(4 | 8 | 16, b"\1\0a" + b"name\0" + b"comment\0"), id="everything"),
    ],
)
def test_headers_of_all_kinds_are_read(data: bytes) -> None:
    assert gzip.decompress(data, LIMIT) == b"one "


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(ONE[:9], id="truncated header"),
        pytest.param(zlib.compress(b"one"), id="zlib"),
        pytest.param(b"\x1f\x8b\x07" + ONE[3:], id="not deflated"),
        pytest.param(with_flags(8, b"name")[:14], id="unterminated name"),
        pytest.param(with_flags(2, b"\0\0"), id="wrong header checksum"),
        pytest.param(with_flags(4, b"\xff\xffabc"), id="extra fields beyond the end"),
        pytest.param(ONE[:-8] + b"\0" + ONE[-7:], id="wrong checksum"),
        pytest.param(ONE[:-1] + b"\1", id="wrong size"),
        pytest.param(ONE[:-1], id="truncated trailer"),
        pytest.param(ONE[:-10], id="truncated data"),
        pytest.param(ONE[:10] + b"\xff" * 20, id="invalid deflate data"),
        pytest.param(ONE + TWO[:-9], id="truncated second member"),
    ],
)
def test_malformed_members_are_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        gzip.decompress(data, LIMIT)


def test_large_data_is_not_in_memory_twice() -> None:
    size = 32 * 1024 * 1024
    compressed = gzip.compress(bytes(size))
    tracemalloc.start()
    try:
        assert len(gzip.decompress(compressed, size)) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * size
