import aiokafka.codec
import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records import snappy
from kafkalet.protocol.records.streams import Corrupt, TooLarge
from kafkalet.protocol.records.varint import encode_unsigned
from tests.effort import executed_lines

from .strategies import damaged
from .test_codecs import TEXT, contents

LIMIT = 1 << 24
FRAMED = snappy.compress(b"content")


@pytest.fixture
def without_cramjam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snappy, "cramjam_or_none", lambda: None)


def in_python(data: bytes) -> bytes:
    """Decompress without cramjam."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snappy, "cramjam_or_none", lambda: None)
        return snappy.decompress(data, LIMIT)


@given(contents)
def test_output_of_the_library_is_decompressed_in_python(content: bytes) -> None:
    assert in_python(bytes(cramjam.snappy.compress_raw(content))) == content
    assert in_python(snappy.compress(content)) == content


@given(st.data())
def test_both_decompressors_agree_about_damaged_data(data: st.DataObject) -> None:
    raw = data.draw(damaged(bytes(cramjam.snappy.compress_raw(TEXT[:300]))))
    try:
        expected: object = snappy.decompress(raw, LIMIT)
    except (Corrupt, TooLarge) as error:
        expected = type(error)
    try:
        read: object = in_python(raw)
    except (Corrupt, TooLarge) as error:
        read = type(error)
    assert read == expected


def announced(size: int, elements: bytes) -> bytes:
    """Return a framed block of raw snappy with a declared size of `size` bytes."""
    raw = encode_unsigned(size) + elements
    return FRAMED[:16] + len(raw).to_bytes(4, "big") + raw


SLOW_STREAMS = {
    "chunks of nothing": FRAMED[:16] + b"\0\0\0\1\0" * 1000,
    "headers": FRAMED[:16] * 1000,
    "literals of one byte": announced(5000, b"\0x" * 5000),
    "copies of one byte": announced(5001, b"\0x" + b"\x02\1\0" * 5000),
    "copies of 64 bytes": announced(64 * 5000 + 1, b"\0x" + b"\xfe\1\0" * 5000),
}


@pytest.mark.parametrize("kind", SLOW_STREAMS)
def test_work_is_proportional_to_input_and_output(kind: str, without_cramjam: None) -> None:
    data = SLOW_STREAMS[kind]
    content = snappy.decompress(data, LIMIT)
    assert executed_lines(lambda: snappy.decompress(data, LIMIT)) <= 8 * (len(data) + len(content))


def test_decompression_stops_at_the_declared_size(without_cramjam: None) -> None:
    data = announced(10, b"\0x" + b"\xfe\1\0" * 5000)

    def read() -> None:
        with pytest.raises(Corrupt):
            snappy.decompress(data, LIMIT)

    assert executed_lines(read) < 1000


def test_only_literals_are_written_without_the_library(without_cramjam: None) -> None:
    assert snappy.decompress(snappy.compress(TEXT), LIMIT) == TEXT
    assert snappy.compress(b"abc").hex() == "82534e41505059000000000100000001" + "00000007" + "03f40200616263"


def test_other_libraries_decompress_the_literals(without_cramjam: None) -> None:
    assert aiokafka.codec.snappy_decode(snappy.compress(TEXT)) == TEXT


def test_blocks_of_32_kib_are_framed_as_snappy_java_does() -> None:
    framed = snappy.compress(bytes(100_000))
    assert framed[:16] == b"\x82SNAPPY\0" + b"\0\0\0\1\0\0\0\1"
    first_size = int.from_bytes(framed[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(framed[20 : 20 + first_size]) == 32768
    assert aiokafka.codec.snappy_decode(framed) == bytes(100_000)


def test_raw_snappy_is_decompressed() -> None:
    assert snappy.decompress(bytes(cramjam.snappy.compress_raw(TEXT)), LIMIT) == TEXT


def test_concatenated_streams_are_decompressed() -> None:
    assert snappy.decompress(snappy.compress(b"one ") + snappy.compress(b"two"), LIMIT) == b"one two"


def test_version_of_the_first_header_is_ignored() -> None:
    assert snappy.decompress(FRAMED[:8] + b"\xff" * 8 + FRAMED[16:], LIMIT) == b"content"


@pytest.mark.parametrize("rest", [b"", b"\1\2\3", FRAMED[:4] + bytes(12)])
def test_up_to_three_trailing_bytes_are_ignored(rest: bytes) -> None:
    assert snappy.decompress(FRAMED + rest, LIMIT) == b"content"


def test_limit_applies_to_all_blocks_together() -> None:
    with pytest.raises(TooLarge):
        snappy.decompress(snappy.compress(bytes(100_000)), 99_999)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x82SNAPPY\0", id="truncated header"),
        pytest.param(FRAMED + FRAMED[:10], id="truncated second header"),
        pytest.param(FRAMED + FRAMED[:8] + bytes(8), id="second header of version 0"),
        pytest.param(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\0\0\0\x09\0", id="block beyond the end"),
        pytest.param(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\xff\xff\xff\xff", id="block of negative size"),
    ],
)
def test_malformed_streams_are_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        snappy.decompress(data, LIMIT)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x03\x08ab", id="literal beyond the end"),
        pytest.param(b"\x05\x00a\x02\x02\x00", id="copy from before the beginning"),
        pytest.param(b"\x05\x00a\x02\x00\x00", id="copy with distance 0"),
        pytest.param(b"\x05\x00a\x02\x01", id="truncated copy"),
        pytest.param(b"\x02\x00a", id="less than declared"),
        pytest.param(b"\x01\x04ab", id="more than declared"),
        pytest.param(b"\xff\xff\xff\xff\xff\x01", id="size is not a varint"),
    ],
)
def test_malformed_blocks_are_refused(raw: bytes, without_cramjam: None) -> None:
    with pytest.raises(Corrupt):
        snappy.decompress(raw, 1 << 40)


def test_long_literals_and_distant_copies_are_decompressed(without_cramjam: None) -> None:
    block = bytes(range(256)) * 300
    raw = b"\x80\xda\x04" + b"\xf8" + (len(block) - 1).to_bytes(3, "little") + block
    assert snappy.decompress(raw.replace(b"\x80\xda\x04", b"\x80\xd8\x04", 1), LIMIT) == block
    far = b"\x88\xd8\x04" + raw[3:] + b"\x1f" + len(block).to_bytes(4, "little")
    assert snappy.decompress(far, LIMIT) == block + block[:8]
