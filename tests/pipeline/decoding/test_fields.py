import numpy as np

from kafkalet.pipeline.decoding.fields import RecordFields, read_fields
from kafkalet.protocol.records.record import Record, encode_records
from tests.protocol.records.strategies import NOW

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


def test_every_field_is_found() -> None:
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


def test_a_record_whose_fields_end_elsewhere_is_not_sound() -> None:
    data, _ = fields_of(ROWS[:2])
    for position in (0, 4, 8):  # the lengths of the record, of the key, of the value
        assert fields_of(ROWS[:2], {position: data[position] + 2})[1].is_sound.tolist() == [False, True]


def test_a_record_that_promises_headers_beyond_its_end_is_not_sound() -> None:
    _, fields = fields_of([Record(0, NOW, None, None)], {6: 1})  # -1 headers
    assert not fields.is_sound.any()


def test_bytes_of_any_kind_are_read_without_leaving_the_buffer() -> None:
    chance = np.random.default_rng(3)
    data = np.frombuffer(chance.bytes(500) + b"\xff" * 30, np.uint8)
    start = np.arange(data.size)
    fields = read_fields(data, start, start + 40)
    assert fields.is_sound.size == data.size
    assert not fields.is_sound[-30:].any()
