"""Tests of `kafkalet.formats` with data in the formats of Apache Kafka."""

import pytest

from kafkalet import formats


def test_offset_checkpoint_has_the_format_of_kafka() -> None:
    offsets = {("orders", 0): 1200, ("orders", 1): 1187}
    data = b"0\n2\norders 0 1200\norders 1 1187\n"
    assert formats.offsets_bytes(offsets) == data
    assert formats.parse_offsets(data) == offsets


def test_epoch_checkpoint_has_the_position_of_each_line() -> None:
    assert formats.parse_epochs(formats.epochs_bytes([(0, 0), (3, 950)])) == [(0, 0, 4), (3, 950, 8)]


def test_checkpoint_with_windows_line_endings_is_parsed() -> None:
    assert formats.parse_offsets(b"0\r\n1\r\nt 0 5\r\n") == {("t", 0): 5}


def test_empty_checkpoint_has_no_entries() -> None:
    assert formats.parse_offsets(b"") == {}


@pytest.mark.parametrize(
    ("data", "position", "reason"),
    [
        (b"\n", 0, "has version ''"),
        (b"1\n0\n", 0, "has version '1'"),
        (b"0\n", 2, "ends after its version"),
        (b"0\n2\nt 0 5\n", 2, "has 1 entry, but declares 2"),
        (b"0\n1\nt 0\n", 4, "has a line of 2 fields instead of 3"),
        (b"0\n2\nt 0 5\nt 0 +5\n", 10, "has '+5' instead of a 64-bit number"),
        (b"0\n1\nt 0 9223372036854775808\n", 4, "has '9223372036854775808' instead of a 64-bit number"),
    ],
)
def test_malformed_checkpoint_is_refused_with_its_position(data: bytes, position: int, reason: str) -> None:
    with pytest.raises(formats.Malformed) as refused:
        formats.parse_offsets(data)
    assert (refused.value.position, refused.value.reason) == (position, reason)


def test_partition_metadata_has_the_format_of_kafka() -> None:
    topic_id = bytes.fromhex("5d2a1b3c4d5e4f60718293a4b5c6d7fb")
    data = b"version: 0\ntopic_id: XSobPE1eT2BxgpOktcbX-w"
    assert formats.topic_id_bytes(topic_id) == data
    assert formats.parse_topic_id(data) == topic_id


@pytest.mark.parametrize("text", ["a", "AAAA", "XSobPE1eT2BxgpOktcbX-w!"])
def test_invalid_uuid_is_refused(text: str) -> None:
    with pytest.raises(formats.Malformed, match="instead of a UUID"):
        formats.parse_uuid(text)


def test_entries_have_the_same_sizes_as_in_kafka() -> None:
    layouts = (
        formats.OFFSET_INDEX_ENTRY,
        formats.TIME_INDEX_ENTRY,
        formats.TXN_INDEX_ENTRY,
        formats.PRODUCER_ENTRY,
    )
    assert [layout.size_bytes for layout in layouts] == [8, 12, 34, 46]


def test_snapshot_round_trip() -> None:
    entries = formats.PRODUCER_ENTRY.struct.pack(7, 1, 2, 3, 4, 5, 6, -1)
    assert bytes(formats.snapshot_entries(formats.snapshot_bytes(entries * 2))) == entries * 2


@pytest.mark.parametrize(
    ("data", "position", "reason"),
    [
        (b"", 0, "0 bytes, less than a header"),
        (b"\0\2" + bytes(8), 0, "version 2 is unknown"),
        (b"\0\1" + bytes(8), 2, "the checksum is wrong"),
    ],
)
def test_malformed_snapshot_is_refused_with_its_position(data: bytes, position: int, reason: str) -> None:
    with pytest.raises(formats.Malformed) as refused:
        formats.snapshot_entries(data)
    assert (refused.value.position, refused.value.reason) == (position, reason)
