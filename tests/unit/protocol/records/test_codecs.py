import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.codecs import Codec, compress, decompress

from .strategies import damaged

COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"a record much like the one before it; " * 4000

contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=40), st.integers(1, 4000)),
)


@given(st.sampled_from(list(Codec)), contents, st.sampled_from([0, 1, 2]))
def test_compressed_data_is_decompressed(codec: Codec, content: bytes, magic: int) -> None:
    assert decompress(codec, compress(codec, content, magic=magic), magic=magic) == content


@pytest.mark.parametrize("codec", COMPRESSING)
@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_type_is_accepted(codec: Codec, kind: type) -> None:
    assert decompress(codec, kind(compress(codec, kind(TEXT)))) == TEXT


@pytest.mark.parametrize("codec", COMPRESSING)
def test_compressing_saves_space(codec: Codec) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 10


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, 1), (Codec.GZIP, 9), (Codec.LZ4, 12), (Codec.ZSTD, 19)])
def test_levels_are_accepted(codec: Codec, level: int) -> None:
    assert decompress(codec, compress(codec, TEXT, level)) == TEXT


@pytest.mark.parametrize("codec", COMPRESSING)
def test_data_over_the_limit_is_refused(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(KafkaError) as refusal:
        decompress(codec, compressed, len(TEXT) - 1)
    assert refusal.value.code is Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", COMPRESSING)
def test_decompression_bomb_is_refused(codec: Codec) -> None:
    bomb = compress(codec, bytes(20 << 20))
    with pytest.raises(KafkaError) as refusal:
        decompress(codec, bomb, 1 << 20)
    assert refusal.value.code is Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", COMPRESSING)
@pytest.mark.parametrize("data", [b"\5", b"garbage that is no stream", b"\xff" * 40])
def test_random_bytes_are_unknown_server_error(codec: Codec, data: bytes) -> None:
    with pytest.raises(KafkaError) as refusal:
        decompress(codec, data, 1 << 20)
    assert refusal.value.code in (Code.UNKNOWN_SERVER_ERROR, Code.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_empty_data_is_unknown_server_error(codec: Codec) -> None:
    with pytest.raises(KafkaError) as refusal:
        decompress(codec, b"")
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_truncated_stream_is_unknown_server_error(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    for size in (len(compressed) - 1, len(compressed) // 2, 6):
        with pytest.raises(KafkaError) as refusal:
            decompress(codec, compressed[:size])
        assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


@given(st.data(), st.sampled_from(COMPRESSING))
def test_damaged_streams_are_decompressed_or_refused(data: st.DataObject, codec: Codec) -> None:
    stream = data.draw(damaged(compress(codec, TEXT[:500])))
    with suppress(KafkaError):
        decompress(codec, stream, 1 << 20)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_all_codecs_are_decompressed_without_the_extra(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed = compress(codec, TEXT)
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert decompress(codec, compressed) == TEXT


@pytest.mark.parametrize("codec", COMPRESSING)
def test_data_compressed_without_the_extra_is_decompressed_with_it(codec: Codec) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cramjam", None)
        compressed = compress(codec, TEXT)
    assert decompress(codec, compressed) == TEXT


@pytest.mark.parametrize("number", [5, 6, 7])
def test_unknown_codec_id_is_refused(number: int) -> None:
    with pytest.raises(KafkaError) as refusal:
        Codec.of(number)
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR
