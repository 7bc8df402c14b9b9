import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.protocol.records.shapes import Unusual, largest_byte, leading, leading_varints, read_long, shape_of
from kafkalet.protocol.records.varint import encode_unsigned

from .strategies import NOW


def test_a_shape_shows_where_the_fields_lie() -> None:
    record = Record(0, NOW, b"key", b"value", (("h", b"x"), ("i", None)))
    payload = encode_records([record], 0, NOW)
    shape = shape_of(b"before" + payload, 6, 0)
    assert (shape.size, shape.size_bytes) == (len(payload), 1)
    assert shape.key is not None
    assert shape.value is not None
    (key, value), (last_key, last_value) = shape.headers
    assert value is not None
    assert last_value is None
    spans = (shape.key, shape.value, key, value, last_key)
    assert [payload[start:end] for start, end in spans] == [b"key", b"value", b"h", b"x", b"i"]
    assert payload[slice(*shape.value_length)] == b"\x0a"
    assert bytes(payload[at] for at in shape.lengths) == b"\x06" + b"\x04" + b"\x02\x02" + b"\x02\x01"


def test_null_has_no_span() -> None:
    shape = shape_of(encode_records([Record(0, NOW, None, None)], 0, NOW), 0, 0)
    assert (shape.key, shape.value, shape.headers) == (None, None, [])


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"\x0c\0\0\2\1\1\0", id="another offset"),
        pytest.param(b"\x0e\0\0\0\1\1\0", id="another length"),
        pytest.param(b"\x0c\0\0\0\1\1\1", id="a negative count of headers"),
        pytest.param(b"\x10\0\0\0\1\1\2\1\1", id="a null header key"),
        pytest.param(b"\x0c\0" + b"\x80" * 8 + b"\0\0\1\1\0", id="a timestamp that might overflow"),
    ],
)
def test_other_records_are_unusual(payload: bytes) -> None:
    with pytest.raises(Unusual):
        shape_of(payload, 0, 0)


@pytest.mark.parametrize("number", [0, 1, 127, 128, (1 << 28) - 1])
def test_long_integers_are_read(number: int) -> None:
    data = encode_unsigned(number)
    assert read_long(b"x" + data, 1) == (number, 1 + len(data))


def test_integers_that_might_overflow_are_unusual() -> None:
    with pytest.raises(Unusual):
        read_long(encode_unsigned(1 << 28), 0)


@given(st.binary(min_size=1, max_size=200), st.binary(min_size=1, max_size=5))
def test_leading_counts_up_to_the_first_byte_that_is_not_allowed(column: bytes, allowed: bytes) -> None:
    expected = next((index for index, byte in enumerate(column) if byte not in allowed), len(column))
    assert leading(column, allowed) == expected


@given(st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=50))
def test_leading_varints_have_as_many_bytes_as_there_are_columns(rows: list[tuple[int, ...]]) -> None:
    columns: list[bytes | bytearray] = [bytes(column) for column in zip(*rows, strict=True)]
    expected = next((i for i, row in enumerate(rows) if row[0] < 128 or row[1] < 128 or row[2] > 127), len(rows))
    assert leading_varints(columns) == expected


@given(st.binary(min_size=1, max_size=300))
def test_the_largest_byte_is_the_maximum(column: bytes) -> None:
    assert largest_byte(column) == max(column)
