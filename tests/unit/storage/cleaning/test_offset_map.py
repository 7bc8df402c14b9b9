"""Tests of the offset map."""

import pytest

from kafkalet.protocol.records.record import Record
from kafkalet.storage.cleaning.offset_map import MapTooSmall, OffsetMap


def test_newest_offset_of_a_key_is_returned() -> None:
    offsets = OffsetMap(1000, 0.9)
    assert offsets.put(b"a", 3)
    assert offsets.put(b"a", 7)
    assert offsets.get(b"a") == 7
    assert offsets.latest_offset == 7
    assert len(offsets) == 1


def test_missing_key_has_offset_minus_one() -> None:
    assert OffsetMap(1000, 0.9).get(b"a") == -1


def test_full_map_refuses_every_key() -> None:
    offsets = OffsetMap(24 * 4, 0.5)
    assert offsets.put(b"a", 0)
    assert offsets.put(b"b", 1)
    assert not offsets.put(b"a", 2)
    assert (offsets.get(b"a"), offsets.latest_offset) == (0, 1)


def test_limit_is_that_of_a_table_with_24_bytes_per_key() -> None:
    assert OffsetMap(128 << 20, 0.9).limit == 5_033_164
    assert OffsetMap(1 << 40, 1.0).limit == (2**31 - 1) // 24


def test_map_without_room_for_a_key_is_refused() -> None:
    with pytest.raises(MapTooSmall, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        OffsetMap(24, 0.9)


def test_records_are_added_until_the_map_is_full() -> None:
    offsets = OffsetMap(24 * 10, 0.4)
    rows = [Record(offset, 0, key, b"") for offset, key in enumerate((b"a", None, b"b", b"a", b"c"))]
    assert offsets.put_all(rows[:4])
    assert offsets.offsets == {b"a": 3, b"b": 2}
    assert offsets.put_all([Record(5, 0, b"c", b""), Record(6, 0, b"d", b"")])
    assert not offsets.put_all([Record(7, 0, None, b""), Record(8, 0, b"a", b"")])
    assert offsets.get(b"a") == 3
