import hashlib
import json
import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records import zstd, zstd_frames
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.streams import Corrupt, TooLarge
from kafkalet.protocol.records.xxh64 import xxh64
from tests.effort import executed_lines
from tests.profile import examples

from .recorded import recorded
from .strategies import damaged
from .test_codecs import contents
from .test_zstd import streamed
from .zstd_blocks import (
    DISTRIBUTED,
    FIXED,
    ONE_CODE,
    RAW,
    REPEATED,
    SAME,
    block,
    coded_literals,
    distribution,
    frame_with,
    packed_tree,
    plain_tree,
    repeated_literals,
    sequences,
)

LIMIT = 1 << 24
MAGIC = b"\x28\xb5\x2f\xfd"
LEVELS = [1, 2, 3, 5, 7, 9, 12, 16, 19]
QUICK_LEVELS = [1, 5, 12]
"""The library itself takes long to compress much data at higher levels."""


def compressed(content: bytes, level: int = 3) -> bytes:
    return bytes(cramjam.zstd.compress(content, level=level))


def json_lines(count: int) -> bytes:
    dice = random.Random(count)
    lines = (
        {"id": line, "name": f"user{dice.randrange(5000)}", "amount": dice.random(), "tags": dice.sample("abcdef", 2)}
        for line in range(count)
    )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


LARGE = "a megabyte of JSON lines"
REALISTIC: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "one byte": lambda: b"x",
    "JSON lines": lambda: json_lines(3000),
    LARGE: lambda: json_lines(14000)[: 1 << 20],
    "repeated text": lambda: b"a record much like the one before it; " * 9000,
    "random": lambda: random.Random(1).randbytes(300_000),
    "digits": lambda: random.Random(2).randbytes(60_000).hex().encode(),
    "few letters": lambda: bytes(random.Random(3).choices(b"abcdefgh", [128, 64, 32, 16, 8, 4, 2, 1], k=50_000)),
    "numbers": lambda: b"".join(random.Random(4).randrange(1 << 16).to_bytes(4, "big") for _ in range(30_000)),
    "zeros": lambda: bytes(400_000),
}


@cache
def realistic(kind: str) -> bytes:
    return REALISTIC[kind]()


@pytest.mark.parametrize(
    ("kind", "level"), [(kind, level) for kind in REALISTIC for level in (QUICK_LEVELS if kind == LARGE else LEVELS)]
)
def test_output_of_the_library_is_decompressed(kind: str, level: int) -> None:
    assert zstd_frames.decompress(compressed(realistic(kind), level), LIMIT) == realistic(kind)


@given(contents, st.integers(1, 19))
def test_any_content_is_decompressed(content: bytes, level: int) -> None:
    assert zstd_frames.decompress(compressed(content, level), LIMIT) == content


@given(st.lists(st.sampled_from([b"topic", b"partition", b"offset", b", ", b"\0\0\0", b"x" * 70, b"q"]), max_size=2000))
def test_words_in_any_order_are_decompressed(words: list[bytes]) -> None:
    content = b"".join(words)
    assert zstd_frames.decompress(compressed(content), LIMIT) == content


@pytest.mark.parametrize("kind", REALISTIC)
def test_frames_without_content_size_are_decompressed(kind: str) -> None:
    assert zstd_frames.decompress(streamed(realistic(kind)), LIMIT) == realistic(kind)


def test_flushed_blocks_reuse_the_tables_of_earlier_blocks() -> None:
    compressor = cramjam.zstd.Compressor(level=5)
    frame = b""
    for start in range(0, 200_000, 3000):
        compressor.compress(realistic("JSON lines")[start : start + 3000])
        frame += bytes(compressor.flush())
    frame += bytes(compressor.finish())
    assert zstd_frames.decompress(frame, LIMIT) == realistic("JSON lines")[:201_000]


@pytest.mark.parametrize("vector", recorded("zstd"), ids=lambda vector: vector["what"])
def test_batches_of_other_clients_are_decompressed(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd, "cramjam_or_none", lambda: None)
    monkeypatch.setattr(zstd, "library_or_none", lambda: None)
    values = [record.value for record in Batch(bytes.fromhex(vector["batch"])).records()]
    content = b"".join(value or b"" for value in values)
    assert (len(values), len(content)) == (vector["values"], vector["values_bytes"])
    assert hashlib.sha1(content).hexdigest() == vector["values_sha1"]


@pytest.mark.parametrize("kind", REALISTIC)
def test_frames_are_decompressed_by_other_libraries(kind: str) -> None:
    frame = zstd_frames.compress(realistic(kind))
    assert bytes(cramjam.zstd.decompress(frame)) == realistic(kind)
    assert zstd_frames.decompress(frame, LIMIT) == realistic(kind)
    assert len(frame) <= len(realistic(kind)) + 13 + 3 * (len(realistic(kind)) >> 17)


@given(contents)
def test_any_frame_is_decompressed_by_other_libraries(content: bytes) -> None:
    assert bytes(cramjam.zstd.decompress(zstd_frames.compress(content))) == content


def test_repeated_byte_is_compressed() -> None:
    assert len(zstd_frames.compress(bytes(1 << 20))) == 10 + 8 * 4
    assert zstd_frames.compress(b"xx").hex() == "28b52ffd" + "8038" + "02000000" + "130000" + "78"


SMALL = compressed(json_lines(12))
MIXED = compressed(json_lines(400), 19)


@pytest.mark.parametrize("frame", [SMALL, MIXED], ids=["small", "large"])
def test_truncated_frames_are_refused(frame: bytes) -> None:
    for size in range(1, len(frame), 1 if frame is SMALL else 37):
        with pytest.raises(Corrupt):
            zstd_frames.decompress(frame[:size], LIMIT)


def test_frames_with_flipped_bits_are_decompressed_or_refused() -> None:
    for bit in range(8 * len(SMALL)):
        damage = bytearray(SMALL)
        damage[bit >> 3] ^= 1 << (bit & 7)
        with suppress(Corrupt, TooLarge):
            zstd_frames.decompress(bytes(damage), 1 << 20)


@settings(max_examples=examples(3))
@given(st.data(), st.sampled_from([SMALL, MIXED, streamed(json_lines(12))]))
def test_damaged_frames_are_decompressed_or_refused(data: st.DataObject, frame: bytes) -> None:
    with suppress(Corrupt, TooLarge):
        zstd_frames.decompress(data.draw(damaged(frame)), 1 << 20)


@settings(max_examples=examples(3))
@given(st.binary(max_size=200))
def test_block_of_random_bytes_is_decompressed_or_refused(block: bytes) -> None:
    with suppress(Corrupt, TooLarge):
        zstd_frames.decompress(frame_of(block), 1 << 20)


@settings(max_examples=examples(3))
@given(st.data())
def test_library_agrees_about_accepted_damaged_frames(data: st.DataObject) -> None:
    """The library accepts slightly more: it does not check that streams of literals are used up."""
    frame = data.draw(damaged(SMALL, 4))
    try:
        content = zstd_frames.decompress(frame, 1 << 20)
    except (Corrupt, TooLarge):
        return
    assert bytes(cramjam.zstd.decompress(frame)) == content


@pytest.mark.parametrize("kind", ["JSON lines", "zeros", "random", "one byte"])
def test_content_over_the_limit_is_refused(kind: str) -> None:
    content = realistic(kind)
    for frame in (compressed(content), streamed(content), zstd_frames.compress(content)):
        assert zstd_frames.decompress(frame, len(content)) == content
        with pytest.raises(TooLarge):
            zstd_frames.decompress(frame, len(content) - 1)


def test_limit_applies_to_all_frames_together() -> None:
    frame = zstd_frames.compress(b"abc")
    assert zstd_frames.decompress(frame * 3, 9) == b"abc" * 3
    with pytest.raises(TooLarge):
        zstd_frames.decompress(frame * 3, 8)


def frame_of(block: bytes, kind: int = 2, header: bytes = b"\0\x38", end: bytes = b"") -> bytes:
    """Return a frame with one block; the default header has a window of 128 KiB."""
    size = len(block) << 3 | kind << 1 | 1
    return MAGIC + header + size.to_bytes(3, "little") + block + end


EIGHT_BYTES = (8 << 3).to_bytes(3, "little") + bytes(8)
COPIES_OF_128_KIB = b"\0" + b"\xff\xff\x7f" + b"\x54" + b"\0\0\x34" + b"\xff" * 130_000
"""A block without literals and with 65,023 copies of the same four bytes."""


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(lambda: compressed(bytes(200 << 20)), id="compressed by the library"),
        pytest.param(lambda: MAGIC + b"\0\x38" + b"\x02\0\x10x" * 4000 + b"\x03\0\x10x", id="repeated bytes"),
        pytest.param(lambda: compressed(bytes(1 << 20)) * 200, id="many frames"),
        pytest.param(lambda: frame_of(COPIES_OF_128_KIB, header=b"\0\x38" + EIGHT_BYTES), id="one block"),
    ],
)
def test_decompression_bomb_does_not_exceed_the_memory_limit(bomb: Callable[[], bytes]) -> None:
    limit = 1 << 20
    frame = bomb()
    tracemalloc.start()
    try:
        with pytest.raises((TooLarge, Corrupt)):
            zstd_frames.decompress(frame, limit)
        assert tracemalloc.get_traced_memory()[1] < 3 * limit
    finally:
        tracemalloc.stop()


def checked(content: bytes, checksum: int) -> bytes:
    """Return a frame with a raw block and a checksum."""
    return frame_of(content, 0, b"\x04\x38", (checksum & 0xFFFFFFFF).to_bytes(4, "little"))


def test_checksums_are_verified() -> None:
    content = realistic("JSON lines")[:1000]
    assert zstd_frames.decompress(checked(content, xxh64(content)), LIMIT) == content
    assert bytes(cramjam.zstd.decompress(checked(content, xxh64(content)))) == content
    with pytest.raises(Corrupt):
        zstd_frames.decompress(checked(content, xxh64(content) + 1), LIMIT)
    with pytest.raises(Corrupt):
        zstd_frames.decompress(checked(content, xxh64(content))[:-1], LIMIT)


def test_checksum_covers_only_its_own_frame() -> None:
    frame = checked(b"abc", xxh64(b"abc"))
    assert zstd_frames.decompress(frame * 2, LIMIT) == b"abcabc"


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"\0\0", id="smallest window"),
        pytest.param(b"\0\x88", id="largest window"),
        pytest.param(b"\x10\x38", id="unused bit"),
        pytest.param(b"\x01\x38\0", id="dictionary id 0 in one byte"),
        pytest.param(b"\x03\x38\0\0\0\0", id="dictionary id 0 in four bytes"),
        pytest.param(b"\x20\x03", id="size of one byte"),
        pytest.param(b"\xa0\x03\0\0\0", id="size of four bytes"),
        pytest.param(b"\xe0\x03" + bytes(7), id="size of eight bytes"),
        pytest.param(b"\xc0\x38\x03" + bytes(7), id="size of eight bytes and window"),
    ],
)
def test_all_kinds_of_headers_are_read(header: bytes) -> None:
    assert zstd_frames.decompress(frame_of(b"abc", 0, header), LIMIT) == b"abc"


def test_content_size_of_two_bytes_is_encoded_minus_256() -> None:
    assert zstd_frames.decompress(frame_of(bytes(300), 0, b"\x60\x2c\0"), LIMIT) == bytes(300)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"\x28\xb5\x2f\xfe" + frame_of(b"abc", 0)[4:], id="wrong magic"),
        pytest.param(frame_of(b"abc", 0, b"\x08\x38"), id="reserved bit"),
        pytest.param(frame_of(b"abc", 0, b"\0\x89"), id="window larger than 128 MiB"),
        pytest.param(frame_of(b"abc", 0, b"\x01\x38\x05"), id="dictionary"),
        pytest.param(frame_of(b"abc", 0, b"\x20\x02"), id="block larger than the window"),
        pytest.param(frame_of(b"abc", 0, b"\x20\x04"), id="less than declared"),
        pytest.param(frame_of(b"abc", 0, b"\x80\x38\x02\0\0\0"), id="more than declared"),
        pytest.param(frame_of(b"abc", 3), id="reserved block type"),
        pytest.param(frame_of(bytes(1025), 0, b"\0\0"), id="block larger than the smallest window"),
        pytest.param(MAGIC + b"\0\x38" + b"\x0b\0\x10x", id="repeated byte block larger than 128 KiB"),
        pytest.param(frame_of(b""), id="no literals"),
        pytest.param(frame_of(b"\x18ab"), id="truncated literals"),
        pytest.param(frame_of(b"\x1d\0"), id="truncated repeated literal"),
        pytest.param(frame_of(b"\x10ab"), id="no sequences"),
        pytest.param(frame_of(b"\x0d\x02\x20x\0"), id="literals larger than a block"),
        pytest.param(frame_of(b"\x13\x40\0\x01\0"), id="no previous Huffman code"),
        pytest.param(frame_of(b"\x56\x80\x02" + b"\x80\x10" + bytes(8) + b"\0"), id="four streams of five literals"),
        pytest.param(frame_of(b"\x66\0\x01" + b"\x80\x10" + b"\1\1" + b"\0"), id="missing sizes of four streams"),
        pytest.param(frame_of(b"\x08a\x01\x54\x01\x02\0\x01"), id="copy from before the beginning"),
        pytest.param(frame_of(b"\x08a\x01\x54\x02\x00\0\x01"), id="not enough literals"),
        pytest.param(frame_of(b"\x08a\x02\x54\x00\x01\0\x07"), id="copy with distance 0"),
        pytest.param(b"\x50\x2a\x4d\x18\x05\0\0\0abc", id="truncated skippable frame"),
        pytest.param(b"\x50\x2a\x4d\x18\x05\0\0", id="skippable frame without size"),
    ],
)
def test_unsupported_or_malformed_frames_are_refused(frame: bytes) -> None:
    with pytest.raises(Corrupt):
        zstd_frames.decompress(frame, LIMIT)


def test_skippable_frames_are_skipped() -> None:
    skipped = b"".join(bytes((80 + kind,)) + b"\x2a\x4d\x18\x03\0\0\0abc" for kind in range(16))
    assert zstd_frames.decompress(skipped + zstd_frames.compress(b"content") + skipped, LIMIT) == b"content"


def test_repeated_distances_follow_the_table_of_the_rfc() -> None:
    """The table in RFC 8878, section 3.1.1.5: (offset code, literals), and the distances after it."""
    last = (1, 4, 8)
    for number, literals, after in [
        (1114, 11, (1111, 1, 4)),
        (1, 22, (1111, 1, 4)),
        (2225, 22, (2222, 1111, 1)),
        (1114, 111, (1111, 2222, 1111)),
        (3336, 33, (3333, 1111, 2222)),
        (2, 22, (1111, 3333, 2222)),
        (3, 33, (2222, 1111, 3333)),
        (3, 0, (2221, 2222, 1111)),
        (1, 0, (2222, 2221, 1111)),
    ]:
        last = (number - 3, *last[:2]) if number > 3 else zstd_frames.again(number - 3, literals, *last)
        assert last == after


EIGHT_RAW = block(bytes(range(8)), RAW)
ALL_ONE_CODE = (ONE_CODE, ONE_CODE, ONE_CODE)
ALL_DISTRIBUTED = (DISTRIBUTED, DISTRIBUTED, DISTRIBUTED)
NO_LITERALS = b"\0"
ONE_SYMBOL_TABLES = distribution(9, [512]) + distribution(8, [256]) + distribution(9, [512])
MANY_SYMBOL_TABLES = (
    distribution(9, [512 - 35] + [-1] * 35)
    + distribution(8, [256 - 28] + [-1] * 28)
    + distribution(9, [460] + [-1] * 52)
)
SPARSE_WEIGHTS = [0] * 253 + [1, 0]
BARELY_FITTING_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

SLOW_FRAMES = {
    "43,690 sequences without bits": frame_with(
        EIGHT_RAW, *[block(NO_LITERALS + sequences(43_690, ALL_ONE_CODE, b"\0\0\0", b"\1"))] * 2
    ),
    "32,000 sequences of a literal and no bits": frame_with(
        EIGHT_RAW, *[block(repeated_literals(32_000) + sequences(32_000, ALL_ONE_CODE, b"\1\0\0", b"\1"))] * 2
    ),
    "three tables of 512 cells for one sequence": frame_with(
        EIGHT_RAW, *[block(NO_LITERALS + sequences(1, ALL_DISTRIBUTED, ONE_SYMBOL_TABLES, b"\0\0\0\4"))] * 200
    ),
    "three tables of many symbols for one sequence": frame_with(
        EIGHT_RAW, *[block(NO_LITERALS + sequences(1, ALL_DISTRIBUTED, MANY_SYMBOL_TABLES, b"\0\0\0\4"))] * 50
    ),
    "255 weights in six bytes for one literal": frame_with(
        *[block(coded_literals(packed_tree(SPARSE_WEIGHTS, 5, [31, 1]), b"\2", 1) + b"\0")] * 200
    ),
    "a prefix code of depth 11 for one literal": frame_with(
        *[block(coded_literals(plain_tree(BARELY_FITTING_WEIGHTS), b"\3", 1) + b"\0")] * 200
    ),
    "empty raw blocks": frame_with(*[block(b"", RAW)] * 2000),
    "raw blocks of one byte": frame_with(*[block(b"x", RAW)] * 2000),
    "one byte repeated no times": frame_with(*[block(b"x", REPEATED, size=0)] * 2000),
    "one byte repeated 128 Ki times": frame_with(*[block(b"x", REPEATED, size=1 << 17)] * 30),
    "blocks of repeated literals": frame_with(*[block(repeated_literals(100_000) + b"\0")] * 30),
    "empty frames": frame_with() * 1000,
    "frames to skip": b"\x50\x2a\x4d\x18\0\0\0\0" * 2000,
    "a huge window": MAGIC + b"\0\x88" + block(b"x", RAW, is_last=True),
}


@pytest.mark.parametrize("kind", SLOW_FRAMES)
def test_work_is_proportional_to_input_and_output(kind: str) -> None:
    """Ordinary data takes 2 to 4 executed lines per byte; the worst case, 255 weights in six bytes, takes 130."""
    data = SLOW_FRAMES[kind]
    content = zstd_frames.decompress(data, LIMIT)
    assert executed_lines(lambda: zstd_frames.decompress(data, LIMIT)) <= 150 * (len(data) + len(content))


@pytest.mark.parametrize("kind", SLOW_FRAMES)
def test_slow_frames_are_decompressed_like_by_the_library(kind: str) -> None:
    data = SLOW_FRAMES[kind]
    reader = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    assert zstd_frames.decompress(data, LIMIT) == reader.decompress(data)


@pytest.mark.parametrize("kind", ["43,690 sequences without bits", "32,000 sequences of a literal and no bits"])
def test_sequences_without_bits_are_as_cheap_as_ordinary_data(kind: str) -> None:
    data = SLOW_FRAMES[kind]
    content = zstd_frames.decompress(data, LIMIT)
    assert executed_lines(lambda: zstd_frames.decompress(data, LIMIT)) <= 7 * len(content)


TREES = [plain_tree([1, 0]), plain_tree(BARELY_FITTING_WEIGHTS), packed_tree(SPARSE_WEIGHTS, 5, [31, 1])]


@st.composite
def built_blocks(draw: st.DrawFn) -> bytes:
    """Generate a block of individually well-formed sections, with random bits in the streams."""
    tail = draw(st.sampled_from([b"\1", b"\2", b"\4", b"\x10", b"\x80"]))
    literals = draw(
        st.one_of(
            st.just(NO_LITERALS),
            st.binary(max_size=31).map(lambda text: bytes((len(text) << 3,)) + text),
            st.integers(0, 300).map(repeated_literals),
            st.builds(
                coded_literals, st.sampled_from(TREES), st.binary(max_size=3).map(lambda b: b + tail), st.integers(1, 9)
            ),
        )
    )
    if draw(st.booleans()):
        return block(literals + b"\0")
    tables = b""
    modes = []
    for most_accuracy, codes in ((9, 36), (8, 29), (9, 53)):
        mode = draw(st.sampled_from([FIXED, ONE_CODE, DISTRIBUTED, SAME]))
        modes.append(mode)
        if mode == ONE_CODE:
            tables += bytes((draw(st.integers(0, 5)),))
        elif mode == DISTRIBUTED:
            accuracy = draw(st.integers(5, most_accuracy))
            rare = draw(st.integers(0, min(codes - 1, 30)))
            tables += distribution(accuracy, [(1 << accuracy) - rare] + [-1] * rare)
    stream = draw(st.binary(max_size=12)) + tail
    return block(literals + sequences(draw(st.integers(1, 20)), (modes[0], modes[1], modes[2]), tables, stream))


@given(st.lists(built_blocks(), min_size=1, max_size=4))
def test_library_agrees_about_accepted_built_blocks(blocks: list[bytes]) -> None:
    data = frame_with(EIGHT_RAW, *blocks)
    try:
        content = zstd_frames.decompress(data, LIMIT)
    except Corrupt:
        return
    assert zstandard.ZstdDecompressor().decompressobj().decompress(data) == content
