"""Strict reading of numbers, lengths and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.tags import write_uvarint
from kafkalet_conformance.clients.observing.reading import Path, Reading, Unreadable, path_text


@given(st.integers(0, 0xFFFFFFFF))
def test_written_varint_is_read_without_complaint(number: int) -> None:
    reading = Reading(write_uvarint(number))
    assert reading.unsigned_varint(None) == number
    assert not reading.complaints


@given(st.integers(0, 0x1FFFFF))
def test_varint_with_an_additional_byte_is_not_minimal(number: int) -> None:
    data = bytearray(write_uvarint(number))
    data[-1] |= 0x80
    reading = Reading(bytes(data) + b"\0")
    assert reading.unsigned_varint(None) == number
    assert [complaint.claim.rule for complaint in reading.complaints] == ["minimal-varint"]


@pytest.mark.parametrize(
    ("data", "rule"),
    [(b"\x80", "complete"), (b"", "complete"), (b"\xff" * 5 + b"\x01", "length"), (b"\xff\xff\xff\xff\x1f", "length")],
)
def test_varint_that_has_no_value_ends_the_reading(data: bytes, rule: str) -> None:
    reading = Reading(data)
    with pytest.raises(Unreadable):
        reading.unsigned_varint(None)
    assert [complaint.claim.rule for complaint in reading.complaints] == [rule]


def test_path_is_formatted_with_positions_in_brackets() -> None:
    path: Path = ((((None, "topics"), 0), "partitions"), 1)
    assert path_text((path, "fetch_offset")) == "topics[0].partitions[1].fetch_offset"
