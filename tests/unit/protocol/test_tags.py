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
def test_a_varint_is_read_as_it_was_written(n: int, before: bytes) -> None:
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
def test_varints_have_seven_bits_a_byte_lowest_first(n: int, data: str) -> None:
    assert write_uvarint(n).hex() == data


def test_a_varint_ends_after_five_bytes() -> None:
    with pytest.raises(DecodeError, match="five"):
        read_uvarint(b"\x80" * 6, 0)


@pytest.mark.parametrize("size", range(5))
def test_a_varint_does_not_end_with_the_data(size: int) -> None:
    with pytest.raises(IndexError):
        read_uvarint(b"\x80" * size, 0)


def test_a_tag_is_a_number_and_a_piece_of_data() -> None:
    assert read_tag(b"\x05\x02ab", 0) == (5, 2, 4)


def test_a_tag_may_not_outrun_the_data() -> None:
    with pytest.raises(DecodeError, match="tag 5: 1 bytes missing"):
        read_tag(b"\x05\x03ab", 0)


TAGS = st.dictionaries(st.integers(0, 1000), st.binary(max_size=200), max_size=4)


@given(TAGS)
def test_a_section_is_skipped_to_its_end(tags: dict[int, bytes]) -> None:
    section = tag_section(sorted(tags.items()))
    assert skip_tags(section + b"more", 0) == len(section)


def test_a_section_is_written_as_count_and_tags() -> None:
    assert tag_section([(1, b"a"), (300, b"bc")]) == b"\2\1\1a\xac\2\2bc"


def test_string_length_is_one_more_than_its_bytes() -> None:
    assert write_string_length(300) == write_uvarint(301)


def test_length_of_a_string_that_is_too_long_is_refused() -> None:
    assert write_string_length(32_767) == b"\x80\x80\2"
    with pytest.raises(EncodeError, match="32768 bytes is too long; at most 32767"):
        write_string_length(32_768)


def test_a_count_that_outruns_the_data_is_noticed_at_its_end() -> None:
    with pytest.raises(IndexError):
        skip_tags(b"\xff\xff\xff\xff\x07" + b"\1\0" * 3, 0)
