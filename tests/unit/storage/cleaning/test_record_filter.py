"""Tests of the records that stay in a batch."""

from typing import Any

import pytest

from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.cleaning.offset_map import OffsetMap
from kafkalet.storage.cleaning.record_filter import CannotClean, LastRecord, RecordFilter
from kafkalet.storage.cleaning.transactions import CleanedTransactions
from tests.unit.storage.producing import T0, marker, message_set, produced, record

NOW, RETENTION_MS = T0 + 5000, 100


def the_filter(
    newest: dict[str, int], *, latest: int = 1000, now_ms: int = NOW, keeps_before: int = 999
) -> RecordFilter:
    offsets = OffsetMap(1 << 20, 0.9)
    for key, offset in newest.items():
        offsets.put(key.encode(), offset)
    offsets.latest_offset = latest
    return RecordFilter(
        offsets, CleanedTransactions(), now_ms=now_ms, delete_retention_ms=RETENTION_MS, keeps_before=keeps_before
    )


def batch(*records: dict[str, Any], **fields: Any) -> Batch:
    return Batch(bytes(produced(*records, **fields)))


def left(record_filter: RecordFilter, given: Batch) -> Batch:
    retained = record_filter.filter(given)
    assert retained is not None
    return Batch(bytes(retained.data))


def keys(given: Batch) -> list[bytes | None]:
    return [each.key for each in given.records()]


def test_batch_whose_records_all_stay_is_copied() -> None:
    given = batch(record(key="a"), record(key="b"), codec="gzip")
    retained = the_filter({"a": 0, "b": 1}).filter(given)
    assert retained is not None
    assert bytes(retained.data) == given.to_bytes()
    assert (retained.records, retained.max_offset) == (2, 1)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_batch_keeps_its_offsets_timestamps_and_codec(codec: str) -> None:
    given = batch(record(T0, "a"), record(T0 + 9, "b"), record(T0 + 5, "c"), codec=codec)
    found = left(the_filter({"a": 50, "b": 1, "c": 50}), given)
    assert keys(found) == [b"b"]
    assert (found.base_offset, found.last_offset, found.records()[0].offset) == (0, 2, 1)
    assert (found.base_timestamp, found.max_timestamp, found.codec) == (T0 + 9, T0 + 9, given.codec)
    found.check_crc()


def test_index_gets_the_last_offset_of_a_record_that_stays() -> None:
    retained = the_filter({"a": 0, "b": 50}).filter(batch(record(key="a"), record(key="b")))
    assert retained is not None
    assert retained.max_offset == 0


def test_record_without_a_key_is_removed() -> None:
    assert the_filter({}).filter(batch(record(key=None))) is None


def test_record_after_the_map_stays_even_without_a_key() -> None:
    assert keys(left(the_filter({}, latest=0), batch(record(key="a"), record(key=None)))) == [b"a", None]


def test_tombstone_gets_a_delete_horizon() -> None:
    found = left(the_filter({"a": 0}), batch(record(T0, "a", None), record(T0 + 7, "b")))
    assert found.delete_horizon_ms == NOW + RETENTION_MS
    assert [each.timestamp for each in found.records()] == [T0, T0 + 7]
    assert found.max_timestamp == T0 + 7


def test_delete_horizon_is_kept() -> None:
    found = left(the_filter({"a": 0}), batch(record(key="a", value=None)))
    again = left(the_filter({"a": 0}, now_ms=NOW + 50), found)
    assert again.to_bytes() == found.to_bytes()


def test_tombstone_is_removed_at_its_delete_horizon() -> None:
    found = left(the_filter({"a": 0, "b": 1}), batch(record(key="a", value=None), record(key="b")))
    assert keys(left(the_filter({"a": 0, "b": 1}, now_ms=NOW + RETENTION_MS - 1), found)) == [b"a", b"b"]
    later = left(the_filter({"a": 0, "b": 1}, now_ms=NOW + RETENTION_MS), found)
    assert keys(later) == [b"b"]
    assert later.delete_horizon_ms == NOW + RETENTION_MS


def test_last_batch_of_a_producer_stays_without_records() -> None:
    given = batch(record(T0 + 3, "a"), record(T0, "b"), producer_id=5, producer_epoch=2, base_sequence=17, codec="gzip")
    rules = the_filter({"a": 50, "b": 51})
    rules.last_records = {5: LastRecord(1, 2)}
    found = left(rules, given)
    assert (found.count, found.size, found.base_offset, found.last_offset) == (0, 61, 0, 1)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (5, 2, 17)
    assert (found.base_timestamp, found.max_timestamp, found.attributes) == (-1, T0 + 3, 0)
    found.check_crc()


def test_earlier_batch_of_a_producer_is_removed() -> None:
    rules = the_filter({"a": 50})
    rules.last_records = {5: LastRecord(40, 2)}
    assert rules.filter(batch(record(key="a"), producer_id=5, producer_epoch=2, base_sequence=0)) is None


def test_batch_before_the_given_offset_stays_without_records() -> None:
    assert left(the_filter({"a": 50}, keeps_before=1), batch(record(key="a"))).count == 0


def test_marker_without_records_gets_a_delete_horizon_first() -> None:
    found = left(the_filter({}), marker(0, 7, commit=True))
    assert (found.delete_horizon_ms, found.count) == (NOW + RETENTION_MS, 1)
    assert left(the_filter({}, now_ms=NOW + RETENTION_MS - 1), found).to_bytes() == found.to_bytes()
    assert the_filter({}, now_ms=NOW + RETENTION_MS).filter(found) is None


def test_last_marker_of_a_producer_loses_its_record_but_stays() -> None:
    found = left(the_filter({}), marker(0, 7, 3, commit=True))
    rules = the_filter({}, now_ms=NOW + RETENTION_MS)
    rules.last_records = {7: LastRecord(-1, 3)}
    empty = left(rules, found)
    assert (empty.count, empty.is_control, empty.producer_epoch, empty.delete_horizon_ms) == (0, True, 3, None)


def test_legacy_tombstone_stays_until_the_clean_segments_are_old_enough() -> None:
    given = Batch(bytes(message_set(1, record(key="a", value=None))))
    rules = the_filter({"a": 0})
    assert rules.filter(given) is not None
    rules.keeps_legacy_tombstones = False
    assert rules.filter(given) is None


@pytest.mark.parametrize("magic", [0, 1])
def test_legacy_wrapper_keeps_the_offsets_of_its_records(magic: int) -> None:
    given = Batch(bytes(message_set(magic, *(record(T0 + n, key=key) for n, key in enumerate("abcd")), codec="gzip")))
    found = left(the_filter({"a": 50, "b": 1, "c": 2, "d": 50}), given)
    assert [each.offset for each in found.records()] == [1, 2]
    assert found.last_offset == 2


def test_legacy_batch_that_must_stay_cannot_be_empty() -> None:
    given = Batch(bytes(message_set(1, record(key="a"))))
    with pytest.raises(CannotClean, match="only batches of format 2 can be empty"):
        the_filter({"a": 50}, keeps_before=1).filter(given)


def test_log_append_time_is_kept() -> None:
    given = batch(record(T0, "a"), record(T0, "b"), ts_type=1)
    found = left(the_filter({"a": 50, "b": 1}), given)
    assert found.timestamp_type == given.timestamp_type
    assert found.max_timestamp == given.max_timestamp
