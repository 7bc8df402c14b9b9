import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import DecodeError, EncodeError
from kafkalet.protocol.schema import Struct
from kafkalet.protocol.tags import keep_tag, keep_tags, read_tag, read_uvarint, skip_tags, tag_section, write_uvarint
from kafkalet.protocol.wire import Int32


class Thing(Struct):
    number: Int32 = 0


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
    with pytest.raises(DecodeError, match="tag 5: 1 bytes too few"):
        read_tag(b"\x05\x03ab", 0)


TAGS = st.dictionaries(st.integers(0, 1000), st.binary(max_size=200), max_size=4)


@given(TAGS)
def test_a_section_is_skipped_to_its_end(tags: dict[int, bytes]) -> None:
    section = tag_section([], tags)
    assert skip_tags(section + b"more", 0) == len(section)


@given(TAGS)
def test_a_section_is_kept_whole(tags: dict[int, bytes]) -> None:
    thing = Thing()
    section = tag_section([], tags)
    assert keep_tags(thing, bytearray(section), 0) == len(section)
    assert thing.unknown_tags == tags


def test_a_tag_more_is_kept_with_the_others() -> None:
    thing = Thing()
    keep_tag(thing, 7, b"x")
    keep_tag(thing, 9, bytearray(b"y"))
    assert thing.unknown_tags == {7: b"x", 9: b"y"}


def test_sections_are_written_in_the_order_of_the_tags() -> None:
    assert tag_section([(8, b"b"), (1, b"a")], {5: b"c"}) == b"\3\1\1a\5\1c\x08\1b"


def test_a_tag_cannot_mean_two_things() -> None:
    with pytest.raises(EncodeError, match="8"):
        tag_section([(8, b"b")], {8: b"c"})


def test_a_count_that_outruns_the_data_is_noticed_at_its_end() -> None:
    with pytest.raises(IndexError):
        skip_tags(b"\xff\xff\xff\xff\x07" + b"\1\0" * 3, 0)
