import numpy as np
import pytest

from kafkalet.pipeline.decoding.legacy import read_messages
from kafkalet.protocol.records.build import build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from tests.protocol.records.strategies import NOW

from .reading import decoded, expected, walked

ROWS = numbered([(NOW, b"key", b"value", ()), (NOW + 1, None, b"", ()), (NOW + 2, b"", None, ())], 40)


@pytest.mark.parametrize("magic", [0, 1])
def test_keys_and_values_are_found(magic: int) -> None:
    data = build_message_set(magic, ROWS)
    messages = read_messages(np.frombuffer(data, np.uint8), walked(data))
    assert messages.is_sound.all()
    assert messages.key_size.tolist() == [3, -1, 0]
    assert messages.value_size.tolist() == [5, 0, -1]
    assert data[messages.key[0] :][:3] == b"key"
    assert data[messages.value[0] :][:5] == b"value"


@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers_are_left_to_the_exact_reader(magic: int) -> None:
    data = build_message_set(magic, ROWS) + build_message_set(magic, ROWS, codec=Codec.GZIP)
    assert read_messages(np.frombuffer(data, np.uint8), walked(data)).is_sound.tolist() == [True, True, True, False]


@pytest.mark.parametrize("at", [26, 29, 30, 33, 34])
def test_fields_that_go_on_beyond_the_message_are_not_sound(at: int) -> None:
    data = bytearray(build_message_set(1, ROWS[:1]))
    data[at] = 0x7F
    assert read_messages(np.frombuffer(bytes(data), np.uint8), walked(data)).is_sound.all() == (at == 30)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_messages_in_wrappers_have_their_offsets(magic: int, codec: Codec) -> None:
    data = build_message_set(magic, ROWS, codec=codec, base_offset=40) + build_message_set(magic, ROWS)
    assert [seen[0] for seen in decoded(data)] == [40, 41, 42] * 2
    assert decoded(data) == expected(data)


def test_a_wrapper_at_offset_0_leaves_the_offsets_inside_as_they_are() -> None:
    data = bytearray(build_message_set(1, ROWS, codec=Codec.GZIP, base_offset=0))
    data[0:8] = bytes(8)
    assert [seen[0] for seen in decoded(data)] == [40, 41, 42]


def test_a_wrapper_with_zstd_is_refused() -> None:
    from kafkalet.pipeline.decoding.unreadable import Unreadable

    data = bytearray(build_message_set(1, ROWS, codec=Codec.GZIP))
    data[17] = 4
    with pytest.raises(Unreadable, match="Invalid wrapper compressionType"):
        decoded(data)
