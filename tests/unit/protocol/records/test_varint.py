import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial.readers import read_signed_varint

from kafkalet.protocol.records.varint import VarintTooLong, encode, read_varint, read_varlong

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        ((1 << 31) - 1, "feffffff0f"),
        (-(1 << 31), "ffffffff0f"),
        (-(1 << 63), "ffffffffffffffffff01"),
    ],
)
def test_numbers_are_encoded_as_in_kafka(number: int, encoded: str) -> None:
    assert encode(number).hex() == encoded


@given(INT32)
def test_varint_round_trip(number: int) -> None:
    data = encode(number)
    assert read_varint(b"x" + data + b"y", 1) == (number, 1 + len(data))


@given(INT64)
def test_varlong_round_trip(number: int) -> None:
    data = encode(number)
    assert read_varlong(data, 0) == (number, len(data))


@given(INT32)
def test_other_library_decodes_the_same_number(number: int) -> None:
    assert read_signed_varint(encode(number), 0) == (number, len(encode(number)))


def test_overlong_varint_is_accepted() -> None:
    assert read_varint(b"\x82\x80\x00", 0) == (1, 3)


def test_bits_beyond_the_32nd_are_dropped() -> None:
    assert read_varint(b"\xfe\xff\xff\xff\x7f", 0) == ((1 << 31) - 1, 5)


def test_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(VarintTooLong):
        read_varint(b"\x80\x80\x80\x80\x80\x00", 0)


def test_varlong_of_eleven_bytes_is_refused() -> None:
    assert read_varlong(b"\x80" * 9 + b"\x00", 0) == (0, 10)
    with pytest.raises(VarintTooLong):
        read_varlong(b"\x80" * 10 + b"\x00", 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff"])
def test_incomplete_varint_raises_index_error(data: bytes) -> None:
    with pytest.raises(IndexError):
        read_varint(data, 0)
