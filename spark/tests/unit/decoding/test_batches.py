import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch, TimestampType, batches
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.wire import Buffer
from kafkalet_spark.decoding.batches import scan, walk, wrong_checksums
from kafkalet_spark.decoding.exactly import Unreadable
from tests.unit.protocol.records.strategies import NOW, damaged

FIELDS = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "leader_epoch",
    "magic",
    "crc",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "count",
)


def batch(size: int = 1, offset: int = 0, count: int = 1) -> bytes:
    rows = [(NOW + i, None, bytes(size), ()) for i in range(count)]
    return build_batch(numbered(rows, offset), base_offset=offset)


def message(size: int = 1, magic: int = 1) -> bytes:
    return build_message_set(magic, numbered([(NOW, None, bytes(size), ())], 5))


TRANSACTIONAL = build_batch(
    numbered([(NOW - 3, b"k", b"v", ())] * 3, 1 << 40),
    base_offset=1 << 40,
    codec=Codec.GZIP,
    leader_epoch=9,
    timestamp_type=TimestampType.LOG_APPEND_TIME,
    append_time=NOW,
    producer_id=1 << 50,
    producer_epoch=300,
    base_sequence=1 << 30,
    is_transactional=True,
    is_control=True,
    last_offset=(1 << 40) + 7,
)


def assert_alike(data: Buffer, start: int = 0, end: int | None = None) -> None:
    """Assert that the columns equal the fields of `Batch` for each entry."""
    found, _ = walk(data, start, end)
    expected = list(batches(data, start, end))
    assert found.position.size == len(expected)
    for name in FIELDS:
        assert getattr(found, name).tolist() == [getattr(entry, name) for entry in expected], name
    assert found.is_transactional.tolist() == [entry.is_transactional for entry in expected]
    assert found.is_control.tolist() == [entry.is_control for entry in expected]
    assert found.is_log_append_time.tolist() == [entry.timestamp_type == 1 for entry in expected]
    assert found.codec.tolist() == [entry.attributes & 7 for entry in expected]
    assert found.end.tolist() == [entry.end for entry in expected]


some_entries = st.lists(
    st.sampled_from([batch(), batch(3), batch(70), TRANSACTIONAL, message(), message(9, 0), message(9)])
    | st.builds(lambda one, times: one * times, st.sampled_from([batch(), message(2, 0)]), st.integers(1, 200)),
    max_size=12,
).map(b"".join)


@given(some_entries)
def test_every_field_matches_batch(data: bytes) -> None:
    assert_alike(data)


@given(some_entries.filter(bool), st.integers(1, 60), st.sampled_from([bytes, bytearray, memoryview]))
def test_incomplete_entry_stops_the_walk(data: bytes, missing: int, kind: type) -> None:
    cut = kind(data[:-missing])
    assert_alike(cut)
    ends = [entry.end for entry in batches(cut)]
    assert walk(cut)[1] == (ends[-1] if ends else 0)


@pytest.mark.slow
@given(some_entries, st.data())
def test_invalid_entry_is_rejected_as_by_consumer(data: bytes, chance: st.DataObject) -> None:
    damage = chance.draw(damaged(data))
    before: list[Batch] = []
    try:
        before.extend(batches(damage))
    except KafkaError:
        with pytest.raises(Unreadable):
            walk(damage)
        before = []
    else:
        assert_alike(damage)
        assert walk(damage)[1] == (before[-1].end if before else 0)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 10, 11, 100, 300])
@pytest.mark.parametrize("tail", [b"", batch(2), batch(2) * 20 + batch(1) * 30])
def test_runs_of_entries_with_equal_size_are_found(count: int, tail: bytes) -> None:
    assert_alike(batch(1) * count + tail)


def test_walk_keeps_to_its_bounds() -> None:
    data = batch(1) + batch(2) * 20 + batch(3)
    first, last = len(batch(1)), len(data) - len(batch(3))
    assert_alike(data, first, last)
    found, stop = walk(data, first, last)
    assert (found.position[0], found.position.size, stop) == (first, 20, last)


@pytest.mark.parametrize("length", [-1, 0, 13, -(1 << 31)])
def test_invalid_length_covers_all_remaining_bytes(length: int) -> None:
    data = batch(1) * 3 + bytes(8) + length.to_bytes(4, "big", signed=True) + bytes(100)
    with pytest.raises(Unreadable, match=f"its length is {length}") as caught:
        walk(data)
    assert (caught.value.position, caught.value.size) == (3 * len(batch(1)), 112)


@pytest.mark.parametrize(("magic", "length"), [(1, 21), (2, 48)])
def test_length_too_small_for_format_is_rejected(magic: int, length: int) -> None:
    data = bytearray(batch(1) + bytes(12 + length))
    data[len(batch(1)) + 8 : len(batch(1)) + 12] = length.to_bytes(4, "big")
    data[len(batch(1)) + 16] = magic
    with pytest.raises(Unreadable, match=f"format {magic}"):
        walk(data)


@pytest.mark.parametrize(("byte", "magic"), [(3, 3), (127, 127), (255, -1)])
@pytest.mark.parametrize("cut", [0, 3])
def test_unknown_magic_is_rejected_even_in_incomplete_entry(byte: int, magic: int, cut: int) -> None:
    data = bytearray(batch(1) * 2)
    data[len(batch(1)) + 16] = byte
    with pytest.raises(Unreadable, match=f"its magic is {magic}"):
        walk(data[: len(data) - cut])


def test_scan_returns_entries_before_the_error() -> None:
    found, stop, unreadable = scan(batch(1) * 3 + bytes(99))
    assert (found.position.size, stop) == (3, 3 * len(batch(1)))
    assert unreadable is not None
    assert unreadable.position == stop


def test_empty_buffer_has_no_entries() -> None:
    found, stop = walk(b"")
    assert (found.position.size, stop, found.crc.dtype) == (0, 0, np.uint32)
    assert wrong_checksums(b"", found).size == 0


def test_rows_are_selected_by_mask_index_and_slice() -> None:
    data = b"".join(batch(1, offset) for offset in range(4))
    found, _ = walk(data)
    assert found.take(found.base_offset > 1).base_offset.tolist() == [2, 3]
    assert found.take(np.array([3, 0])).base_offset.tolist() == [3, 0]
    assert found.take(slice(1, 3)).base_offset.tolist() == [1, 2]


@pytest.mark.parametrize("entry", [batch(40), TRANSACTIONAL, message(9, 0), message(9), message(9, 1) * 2])
def test_only_wrong_checksums_are_found(entry: bytes) -> None:
    data = bytearray(entry * 3)
    found, _ = walk(data)
    assert wrong_checksums(data, found).size == 0
    data[found.end[1] - 1] ^= 64
    assert wrong_checksums(data, found).tolist() == [1]


def test_checksum_does_not_cover_offset_and_leader_epoch() -> None:
    data = bytearray(batch())
    data[0:8], data[12:16] = b"\1" * 8, b"\2" * 4
    assert wrong_checksums(data, walk(data)[0]).size == 0
