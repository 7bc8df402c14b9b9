from collections.abc import Callable

import aiokafka.codec
import cramjam
import lz4.frame as lz4frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records import lz4
from kafkalet.protocol.records.streams import Corrupt, TooLarge
from tests.effort import executed_lines
from tests.profile import examples

from .strategies import damaged
from .test_codecs import TEXT, contents

LIMIT = 1 << 24


@pytest.fixture
def without_cramjam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lz4, "cramjam_or_none", lambda: None)


def in_python(data: bytes) -> bytes:
    """Decompress without cramjam."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lz4, "cramjam_or_none", lambda: None)
        return lz4.decompress(data, LIMIT)


@given(contents)
def test_output_of_the_library_is_decompressed_in_python(content: bytes) -> None:
    assert in_python(lz4.compress(content)) == content


@given(st.data())
def test_both_decompressors_agree_about_damaged_data(data: st.DataObject) -> None:
    """Copies with distance 0 are excluded: the format does not allow them, but the library accepts them."""
    frame = data.draw(damaged(lz4.compress(TEXT[:300]), 11))
    try:
        expected: object = lz4.decompress(frame, LIMIT)
    except (Corrupt, TooLarge) as error:
        expected = type(error)
    try:
        read: object = in_python(frame)
    except (Corrupt, TooLarge) as error:
        read = type(error)
    assert read in (expected, Corrupt)


def test_blocks_are_stored_uncompressed_without_the_library(without_cramjam: None) -> None:
    assert lz4.decompress(lz4.compress(TEXT), LIMIT) == TEXT
    assert lz4.compress(b"abc").hex() == "04224d18" + "604082" + "03000080" + "616263" + "00000000"


@pytest.mark.parametrize("content", [b"", b"abc", TEXT, bytes(200_000)])
def test_other_libraries_decompress_it(content: bytes) -> None:
    assert bytes(cramjam.lz4.decompress(lz4.compress(content))) == content
    assert aiokafka.codec.lz4_decode(lz4.compress(content)) == content


def test_incompressible_blocks_are_stored_uncompressed() -> None:
    content = bytes(range(256)) * 2
    incompressible = bytes(byte * 7 & 255 for byte in range(256))
    assert incompressible in lz4.compress(incompressible)
    assert len(lz4.compress(content)) < len(content)


def test_wrong_checksum_of_format_0_is_written_and_accepted() -> None:
    broken = lz4.compress(TEXT, broken_checksum=True)
    assert lz4.decompress(broken, LIMIT, any_checksum=True) == TEXT
    assert lz4.decompress(lz4.compress(TEXT), LIMIT, any_checksum=True) == TEXT
    with pytest.raises(Corrupt):
        lz4.decompress(broken, LIMIT)


def frame(flags: int, block_size: int, rest: bytes, extra: bytes = b"") -> bytes:
    descriptor = bytes((flags, block_size)) + extra
    return b"\x04\x22\x4d\x18" + descriptor + bytes((lz4.xxh32(descriptor) >> 8 & 255,)) + rest


STORED = b"\x03\0\0\x80abc"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(frame(0x60, 0x40, STORED + bytes(4)), id="plain"),
        pytest.param(frame(0x68, 0x70, STORED + bytes(4), bytes(8)), id="content size"),
        pytest.param(frame(0x64, 0x50, STORED + bytes(4) + b"????"), id="content checksum"),
        pytest.param(
            frame(0x70, 0x60, STORED + lz4.xxh32(b"abc").to_bytes(4, "little") + bytes(4)), id="block checksums"
        ),
        pytest.param(frame(0x60, 0x40, STORED + bytes(4) + b"what follows"), id="trailing data"),
        pytest.param(frame(0x60, 0x40, STORED + b"\1\0\0\0" + b"\0"), id="empty block as end"),
    ],
)
def test_frames_of_all_kinds_are_read(data: bytes) -> None:
    assert lz4.decompress(data, LIMIT) == b"abc"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(frame(0x40, 0x40, STORED + bytes(4)), id="dependent blocks"),
        pytest.param(frame(0xA0, 0x40, STORED + bytes(4)), id="unknown version"),
        pytest.param(frame(0x61, 0x40, STORED + bytes(4)), id="reserved flags"),
        pytest.param(frame(0x60, 0x30, STORED + bytes(4)), id="unknown block size"),
        pytest.param(frame(0x60, 0xC0, STORED + bytes(4)), id="reserved block size bit"),
        pytest.param(frame(0x70, 0x40, STORED + bytes(8)), id="wrong block checksum"),
        pytest.param(frame(0x60, 0x40, STORED), id="no end mark"),
        pytest.param(frame(0x60, 0x40, b"\1\0\1\x80" + bytes(70_000)), id="too large block"),
        pytest.param(b"\x05" + frame(0x60, 0x40, bytes(4))[1:], id="wrong magic"),
    ],
)
def test_unsupported_or_malformed_frames_are_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        lz4.decompress(data, LIMIT)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"\x10a\x01", id="truncated copy"),
        pytest.param(b"\x10a\x02\x00", id="copy from before the beginning"),
        pytest.param(b"\x10a\x00\x00\x00", id="copy with distance 0"),
        pytest.param(b"\xf0", id="missing length"),
        pytest.param(b"\x50abc", id="literals beyond the end"),
        pytest.param(b"\x1fa\x01\x00" + b"\xff" * 256 + b"\xec" + b"\x10b", id="one byte over the block size"),
        pytest.param(b"\x1fa\x01\x00" + b"\xff" * 300 + b"\x00\x00", id="far over the block size"),
    ],
)
def test_malformed_blocks_are_refused(block: bytes, without_cramjam: None) -> None:
    with pytest.raises(Corrupt):
        lz4.decompress(one_block(block), LIMIT)


def one_block(block: bytes) -> bytes:
    return frame(0x60, 0x40, len(block).to_bytes(4, "little") + block + bytes(4))


def test_block_that_begins_like_a_size_is_decompressed() -> None:
    """The first four bytes, a token and three literals, could also be the size of the rest."""
    block = bytes.fromhex("8d080000" + "40239772f0")
    assert lz4.decompress(one_block(block), LIMIT) == block[1:]
    assert in_python(one_block(block)) == block[1:]


def length_bytes(length: int) -> bytes:
    """Return the additional bytes of a length of 15 or more."""
    return b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes(((length - 15) % 255,))


@st.composite
def built_blocks(draw: st.DrawFn) -> bytes:
    """Generate sequences that are well-formed individually but may copy too much or end too early."""
    block = b""
    for _ in range(draw(st.integers(0, 5))):
        literals = draw(st.binary(max_size=20))
        more = draw(st.sampled_from([0, 1, 14, 15, 40, 65_440, 65_500]))
        distance = draw(st.sampled_from([1, 2, 4, 8, 20]))
        block += bytes((min(len(literals), 15) << 4 | min(more, 15),)) + length_bytes(len(literals)) + literals
        block += distance.to_bytes(2, "little") + length_bytes(more)
    end = draw(st.binary(max_size=14))
    return block + bytes((len(end) << 4,)) + end


@settings(max_examples=examples(3))
@given(built_blocks())
def test_both_decompressors_agree_about_built_blocks(block: bytes) -> None:
    def read(reader: Callable[[bytes], bytes]) -> bytes | None:
        try:
            return reader(one_block(block))
        except Corrupt:
            return None

    assert read(in_python) == read(lambda data: lz4.decompress(data, LIMIT))


@given(contents)
def test_block_checksums_of_another_library_are_verified(content: bytes) -> None:
    data = lz4frame.compress(content, block_checksum=True, block_linked=False, store_size=False)
    assert lz4.decompress(data, LIMIT) == content


SLOW_FRAMES = {
    "blocks of one stored byte": frame(0x60, 0x40, b"\1\0\0\x80x" * 1000 + bytes(4)),
    "blocks of one literal": frame(0x60, 0x40, b"\2\0\0\0\x10x" * 1000 + bytes(4)),
    "copies of four bytes": one_block(b"\x10x\1\0" + b"\0\1\0" * 5000 + b"\xc0" + bytes(12)),
    "a length of many bytes": one_block(b"\x1fx\1\0" + b"\xff" * 250 + b"\0" + b"\xc0" + bytes(12)),
}


@pytest.mark.parametrize("kind", SLOW_FRAMES)
def test_work_is_proportional_to_input_and_output(kind: str, without_cramjam: None) -> None:
    data = SLOW_FRAMES[kind]
    content = lz4.decompress(data, LIMIT)
    assert executed_lines(lambda: lz4.decompress(data, LIMIT)) <= 8 * (len(data) + len(content))


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0xE2293B2F),
    ],
)
def test_xxh32_has_its_known_values(data: bytes, digest: int) -> None:
    assert lz4.xxh32(data) == digest
