import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import DecodeError, EncodeError
from kafkalet.protocol.tags import (
    read_tag,
    read_uvarint,
    skip_tags,
    tag_section,
    write_string_length,
    write_uvarint,
)


@given(st.integers(0, (1 << 35) - 1), st.binary(max_size=3))
def test_varint_round_trip(n: int, before: bytes) -> None:
    data = before + write_uvarint(n)
    assert read_uvarint(data, len(before)) == (n, len(data))


@pytest.mark.parametrize(
    ("n", "data"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16383, "ff7f"),
        (16384, "808001"),
        (0x7FFFFFFF, "ffffffff07"),
    ],
)
def test_varints_have_seven_bits_per_byte_lowest_first(n: int, data: str) -> None:
    assert write_uvarint(n).hex() == data


def test_varint_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(DecodeError, match="five"):
        read_uvarint(b"\x80" * 6, 0)


@pytest.mark.parametrize("size", range(5))
def test_incomplete_varint_raises_index_error(size: int) -> None:
    with pytest.raises(IndexError):
        read_uvarint(b"\x80" * size, 0)


def test_tag_and_value_positions_are_read() -> None:
    assert read_tag(b"\x05\x02ab", 0) == (5, 2, 4)


def test_tag_beyond_the_data_is_refused() -> None:
    with pytest.raises(DecodeError, match="tag 5: 1 bytes missing"):
        read_tag(b"\x05\x03ab", 0)


TAGS = st.dictionaries(st.integers(0, 1000), st.binary(max_size=200), max_size=4)


@given(TAGS)
def test_tag_section_is_skipped_to_its_end(tags: dict[int, bytes]) -> None:
    section = tag_section(sorted(tags.items()))
    assert skip_tags(section + b"more", 0) == len(section)


def test_tag_section_is_encoded_as_count_and_tags() -> None:
    assert tag_section([(1, b"a"), (300, b"bc")]) == b"\2\1\1a\xac\2\2bc"


def test_compact_string_length_is_encoded_plus_one() -> None:
    assert write_string_length(300) == write_uvarint(301)


def test_length_of_too_long_string_is_refused() -> None:
    assert write_string_length(32_767) == b"\x80\x80\2"
    with pytest.raises(EncodeError, match="32768 bytes is too long; at most 32767"):
        write_string_length(32_768)


def test_tag_count_beyond_the_data_raises_index_error() -> None:
    with pytest.raises(IndexError):
        skip_tags(b"\xff\xff\xff\xff\x07" + b"\1\0" * 3, 0)
