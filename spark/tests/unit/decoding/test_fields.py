import numpy as np
import pytest

from kafkalet.protocol.records.build import build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet_spark.decoding.fields import RecordFields, read_fields, read_messages
from tests.unit.protocol.records.strategies import NOW

from .reading import decoded, expected, walked

ROWS = [
    Record(0, NOW, b"key", b"value"),
    Record(1, NOW - 9, None, b""),
    Record(2, NOW + 70_000, b"", None, (("h", b"1"),)),
    Record(300, NOW, b"k" * 70, b"v" * 9000),
]


def fields_of(rows: list[Record], damage: dict[int, int] | None = None) -> tuple[bytes, RecordFields]:
    pieces = [encode_records([row], 0, NOW) for row in rows]
    data = bytearray(b"".join(pieces))
    for position, byte in (damage or {}).items():
        data[position] = byte
    ends = np.cumsum([len(piece) for piece in pieces])
    return bytes(data), read_fields(np.frombuffer(bytes(data), np.uint8), np.append(0, ends[:-1]), ends)


def test_all_fields_are_read() -> None:
    data, fields = fields_of(ROWS)
    assert fields.is_sound.all()
    assert fields.timestamp_delta.tolist() == [0, -9, 70_000, 0]
    assert fields.offset_delta.tolist() == [0, 1, 2, 300]
    assert fields.key_size.tolist() == [3, -1, 0, 70]
    assert fields.value_size.tolist() == [5, 0, -1, 9000]
    assert data[fields.key[0] :][:3] == b"key"
    assert data[fields.value[0] :][:5] == b"value"
    assert fields.header_count.tolist() == [0, 0, 1, 0]
    assert data[fields.headers[2] : fields.end[2]] == b"\x02h\x021"


def test_record_whose_fields_do_not_match_its_length_is_not_sound() -> None:
    data, _ = fields_of(ROWS[:2])
    for position in (0, 4, 8):  # the lengths of the record, of the key, of the value
        assert fields_of(ROWS[:2], {position: data[position] + 2})[1].is_sound.tolist() == [False, True]


def test_record_with_negative_header_count_is_not_sound() -> None:
    _, fields = fields_of([Record(0, NOW, None, None)], {6: 1})  # -1 headers
    assert not fields.is_sound.any()


def test_arbitrary_bytes_are_read_without_leaving_the_buffer() -> None:
    chance = np.random.default_rng(3)
    data = np.frombuffer(chance.bytes(500) + b"\xff" * 30, np.uint8)
    start = np.arange(data.size)
    fields = read_fields(data, start, start + 40)
    assert fields.is_sound.size == data.size
    assert not fields.is_sound[-30:].any()


MESSAGES = numbered([(NOW, b"key", b"value", ()), (NOW + 1, None, b"", ()), (NOW + 2, b"", None, ())], 40)


@pytest.mark.parametrize("magic", [0, 1])
def test_keys_and_values_of_messages_are_read(magic: int) -> None:
    data = build_message_set(magic, MESSAGES)
    messages = read_messages(np.frombuffer(data, np.uint8), walked(data))
    assert messages.is_sound.all()
    assert messages.key_size.tolist() == [3, -1, 0]
    assert messages.value_size.tolist() == [5, 0, -1]
    assert data[messages.key[0] :][:3] == b"key"
    assert data[messages.value[0] :][:5] == b"value"


@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers_are_not_sound(magic: int) -> None:
    data = build_message_set(magic, MESSAGES) + build_message_set(magic, MESSAGES, codec=Codec.GZIP)
    assert read_messages(np.frombuffer(data, np.uint8), walked(data)).is_sound.tolist() == [True, True, True, False]


@pytest.mark.parametrize("at", [26, 29, 30, 33, 34])
def test_fields_past_the_end_of_the_message_are_not_sound(at: int) -> None:
    data = bytearray(build_message_set(1, MESSAGES[:1]))
    data[at] = 0x7F
    assert read_messages(np.frombuffer(bytes(data), np.uint8), walked(data)).is_sound.all() == (at == 30)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_messages_in_wrappers_get_their_offsets(magic: int, codec: Codec) -> None:
    data = build_message_set(magic, MESSAGES, codec=codec, base_offset=40) + build_message_set(magic, MESSAGES)
    assert [seen[0] for seen in decoded(data)] == [40, 41, 42] * 2
    assert decoded(data) == expected(data)


def test_wrapper_at_offset_0_keeps_inner_offsets() -> None:
    data = bytearray(build_message_set(1, MESSAGES, codec=Codec.GZIP, base_offset=0))
    data[0:8] = bytes(8)
    assert [seen[0] for seen in decoded(data)] == [40, 41, 42]


def test_wrapper_with_zstd_is_rejected() -> None:
    from kafkalet_spark.decoding.exactly import Unreadable

    data = bytearray(build_message_set(1, MESSAGES, codec=Codec.GZIP))
    data[17] = 4
    with pytest.raises(Unreadable, match="Invalid wrapper compressionType"):
        decoded(data)
