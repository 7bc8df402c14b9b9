import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records import zstd
from kafkalet.protocol.records.streams import Corrupt, TooLarge

from .test_codecs import contents

LIMIT = 1 << 24
ONE = zstd.compress(b"one ")
TWO = zstd.compress(b"two")
SKIPPED = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"


def streamed(content: bytes) -> bytes:
    """A frame that does not tell the size of its content, as Java writes it."""
    compressor = cramjam.zstd.Compressor()
    compressor.compress(content)
    return bytes(compressor.finish())


@settings(deadline=None)
@given(contents)
def test_frames_that_do_not_tell_their_size_are_read(content: bytes) -> None:
    assert zstd.decompress(streamed(content), LIMIT) == content


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000, 1_000_000])
def test_frames_of_all_header_sizes_are_read(size: int) -> None:
    assert zstd.decompress(zstd.compress(bytes(size)), LIMIT) == bytes(size)


def test_frames_are_joined_and_others_skipped() -> None:
    assert zstd.decompress(SKIPPED + ONE + SKIPPED + TWO, LIMIT) == b"one two"


def test_nothing_is_nothing() -> None:
    assert zstd.decompress(b"", LIMIT) == b""


@pytest.mark.parametrize("size", range(1, len(SKIPPED)))
def test_a_later_frame_that_is_cut_off_is_the_end(size: int) -> None:
    assert zstd.decompress(ONE + TWO[:size], LIMIT) == b"one "
    assert zstd.decompress(ONE + SKIPPED[:size], LIMIT) == b"one "


@pytest.mark.parametrize("rest", [b"\1", b"\x28\xb6", bytes(8), b"\x50\x2b"])
def test_what_follows_has_to_begin_like_a_frame(rest: bytes) -> None:
    with pytest.raises(Corrupt):
        zstd.decompress(ONE + rest, LIMIT)


@pytest.mark.parametrize("size", range(1, len(ONE)))
def test_the_first_frame_has_to_be_whole(size: int) -> None:
    with pytest.raises(Corrupt):
        zstd.decompress(ONE[:size], LIMIT)


@given(st.sampled_from([ONE, streamed(b"one "), SKIPPED + ONE]), st.integers(0, 3))
def test_the_limit_is_kept(data: bytes, limit: int) -> None:
    with pytest.raises(TooLarge):
        zstd.decompress(data, limit)


def test_content_far_larger_than_its_frame_is_read_in_the_end() -> None:
    assert zstd.decompress(streamed(bytes(30 << 20)), 30 << 20) == bytes(30 << 20)
