import sys
from types import SimpleNamespace

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records import zstd
from kafkalet.protocol.records.streams import Corrupt, TooLarge

from .test_codecs import contents

LIMIT = 1 << 24
ONE = zstd.compress(b"one ")
TWO = zstd.compress(b"two")
SKIPPED = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"


def streamed(content: bytes) -> bytes:
    """Return a frame without the content size, as written by Java."""
    compressor = cramjam.zstd.Compressor()
    compressor.compress(content)
    return bytes(compressor.finish())


@given(contents)
def test_frames_without_content_size_are_decompressed(content: bytes) -> None:
    assert zstd.decompress(streamed(content), LIMIT) == content


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000, 1_000_000])
def test_frames_with_all_header_sizes_are_decompressed(size: int) -> None:
    assert zstd.decompress(zstd.compress(bytes(size)), LIMIT) == bytes(size)


def test_frames_are_concatenated_and_skippable_frames_skipped() -> None:
    assert zstd.decompress(SKIPPED + ONE + SKIPPED + TWO, LIMIT) == b"one two"


def test_empty_data_is_decompressed_to_empty_content() -> None:
    assert zstd.decompress(b"", LIMIT) == b""


@pytest.mark.parametrize("size", range(1, len(SKIPPED)))
def test_truncated_later_frame_ends_the_data(size: int) -> None:
    assert zstd.decompress(ONE + TWO[:size], LIMIT) == b"one "
    assert zstd.decompress(ONE + SKIPPED[:size], LIMIT) == b"one "


@pytest.mark.parametrize("rest", [b"\1", b"\x28\xb6", bytes(8), b"\x50\x2b"])
def test_data_after_a_frame_must_begin_like_a_frame(rest: bytes) -> None:
    with pytest.raises(Corrupt):
        zstd.decompress(ONE + rest, LIMIT)


@pytest.mark.parametrize("size", range(1, len(ONE)))
def test_truncated_first_frame_is_refused(size: int) -> None:
    with pytest.raises(Corrupt):
        zstd.decompress(ONE[:size], LIMIT)


@given(st.sampled_from([ONE, streamed(b"one "), SKIPPED + ONE]), st.integers(0, 3))
def test_content_over_the_limit_is_refused(data: bytes, limit: int) -> None:
    with pytest.raises(TooLarge):
        zstd.decompress(data, limit)


def test_content_much_larger_than_its_frame_is_decompressed() -> None:
    assert zstd.decompress(streamed(bytes(30 << 20)), 30 << 20) == bytes(30 << 20)


class StandIn:
    """A replacement for the parts of `compression.zstd` (Python 3.14) that are used: a decompressor reads one frame."""

    class ZstdError(Exception):
        pass

    class ZstdDecompressor:
        eof = False
        unused_data = b""

        def decompress(self, data: bytes, max_length: int) -> bytes:
            sizes = [size for size in range(9, len(data) + 1) if self._is_frame(data[:size])]
            if not sizes:
                raise StandIn.ZstdError("no frame")
            content = bytes(cramjam.zstd.decompress(data[: sizes[0]]))[:max_length]
            self.eof, self.unused_data = len(content) < max_length, data[sizes[0] :]
            return content

        def _is_frame(self, data: bytes) -> bool:
            try:
                cramjam.zstd.decompress(data)
            except cramjam.DecompressionError:
                return False
            return True

    @staticmethod
    def compress(data: bytes, level: int) -> bytes:
        return bytes(cramjam.zstd.compress(data, level=level))


@pytest.fixture(params=["of the standard library", "in Python"])
def other_readers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable cramjam."""
    monkeypatch.setattr(zstd, "cramjam_or_none", lambda: None)
    if request.param == "in Python":
        monkeypatch.setattr(zstd, "library_or_none", lambda: None)
    elif sys.version_info < (3, 14):
        monkeypatch.setattr(zstd, "library_or_none", lambda: StandIn)


@pytest.mark.usefixtures("other_readers")
class TestWithoutCramjam:
    def test_frames_are_concatenated(self) -> None:
        assert zstd.decompress(ONE + TWO, LIMIT) == b"one two"
        assert zstd.decompress(b"", LIMIT) == b""

    def test_output_is_decompressed_by_all_libraries(self) -> None:
        for level in (None, 1, 19):
            frame = zstd.compress(b"abcd" * 40, level)
            assert zstd.decompress(frame, LIMIT) == b"abcd" * 40
            assert bytes(cramjam.zstd.decompress(frame)) == b"abcd" * 40

    def test_truncated_later_frame_ends_the_data(self) -> None:
        assert zstd.decompress(ONE + TWO[:-1], LIMIT) == b"one "

    @pytest.mark.parametrize("limit", [0, 3])
    def test_content_over_the_limit_is_refused(self, limit: int) -> None:
        with pytest.raises(TooLarge):
            zstd.decompress(ONE, limit)
        with pytest.raises(TooLarge):
            zstd.decompress(ONE + TWO, limit + 3)

    def test_damaged_data_is_refused(self) -> None:
        with pytest.raises(Corrupt):
            zstd.decompress(ONE[:6] + b"\xff" + ONE[7:], LIMIT)


def test_frame_that_the_library_considers_incomplete_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = SimpleNamespace(eof=False, unused_data=b"", decompress=lambda data, most: b"")
    library = SimpleNamespace(ZstdDecompressor=lambda: waiting, ZstdError=ValueError)
    monkeypatch.setattr(zstd, "cramjam_or_none", lambda: None)
    monkeypatch.setattr(zstd, "library_or_none", lambda: library)
    with pytest.raises(Corrupt):
        zstd.decompress(ONE, LIMIT)


def test_library_receives_one_frame_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library copies all data after a frame, which takes quadratic time for many small frames."""
    given_bytes = []

    class Recording(StandIn.ZstdDecompressor):
        def decompress(self, data: bytes, max_length: int) -> bytes:
            given_bytes.append(data)
            return super().decompress(data, max_length)

    library = SimpleNamespace(ZstdDecompressor=Recording, ZstdError=StandIn.ZstdError)
    monkeypatch.setattr(zstd, "cramjam_or_none", lambda: None)
    monkeypatch.setattr(zstd, "library_or_none", lambda: library)
    assert zstd.decompress(ONE + SKIPPED + TWO + ONE, LIMIT) == b"one twoone "
    assert given_bytes == [ONE, SKIPPED, TWO, ONE]


def test_standard_library_has_zstd_since_3_14() -> None:
    assert (zstd.library_or_none() is not None) == (sys.version_info >= (3, 14))
