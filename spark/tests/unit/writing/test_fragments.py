"""The batches of a fragment: headers, codecs, timestamp types."""

from pathlib import Path

import pytest

from kafkalet.protocol.records.batch import TimestampType
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record

from .making import T0, entries, load, log, numbered, records, rows


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_are_compressed_with_the_codec(tmp_path: Path, codec: Codec) -> None:
    load(tmp_path, [numbered(0, 1000)], compression=codec.name.lower())
    assert {batch.codec for batch in entries(tmp_path)} == {codec}
    assert [int((record.value or b"").strip(b".")) for record in records(tmp_path)] == list(range(1000))


def test_compression_level_is_used(tmp_path: Path) -> None:
    for level in (1, 9):
        load(tmp_path / str(level), [numbered(0, 5000, size=40)], compression="gzip", compressionLevel=level)
    assert log(tmp_path / "9").size_bytes < log(tmp_path / "1").size_bytes


def test_batch_matches_the_brokers_builder(tmp_path: Path) -> None:
    headers = [[{"key": "h", "value": b"1"}, {"key": "", "value": None}], None, []]
    load(tmp_path, [rows(key=[b"k", None, b""], value=[b"v", None, b""], timestamp=[9, 3, 12], headers=headers)])
    (batch,) = entries(tmp_path)
    expected = [
        Record(0, 9, b"k", b"v", (("h", b"1"), ("", None))),
        Record(1, 3, None, None),
        Record(2, 12, b"", b""),
    ]
    assert batch.to_bytes() == build_batch(expected, leader_epoch=0)


def test_log_append_time_batch_has_its_largest_timestamp(tmp_path: Path) -> None:
    load(tmp_path, [rows(value=[b"a", b"b", b"c"], timestamp=[5, 9, None])], timestampType="LogAppendTime")
    (batch,) = entries(tmp_path)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in batch.records()} == {T0}


def test_fragment_describes_its_content(tmp_path: Path) -> None:
    (message,) = load(tmp_path, [numbered(7, 100)], transactionalShare=1, transactionSize=10)
    (fragment,) = message.fragments
    assert (fragment.topic, fragment.partition, fragment.records) == ("t", 0, 100)
    assert fragment.first_timestamp == T0 + 7
    assert fragment.end_offset == entries(tmp_path)[-1].next_offset > 100
