"""The Arrow columns match Spark's schema exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record
from kafkalet_spark.columns import ALL, Filling, TimestampTooLarge, arrow_schema, names, needed, spark_schema
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.decoding.records import decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = [Record(5, 1000, b"k", b"v", (("h", b"1"),)), Record(6, 1001, None, None, ())]
BATCH = build_batch(
    RECORDS, base_offset=5, leader_epoch=3, codec=Codec.GZIP, producer_id=9, producer_epoch=2, base_sequence=4
)


def rows(columns: list[str]) -> list[dict[str, object]]:
    batches, _ = walk(BATCH)
    found = Filling("t", 7, columns).rows(decode(BATCH, batches, needed(columns)), batches)
    assert found.schema == arrow_schema(columns)
    listed: list[dict[str, object]] = found.to_pylist()
    return listed


def test_arrow_schema_matches_sparks_schema(spark: SparkSession) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    every = names(headers=True, batch=True, corrupt=True)
    schema = spark.createDataFrame([], spark_schema(every)).schema
    assert to_arrow_schema(schema, timezone="UTC").equals(arrow_schema(every))


def test_a_record_fills_all_columns() -> None:
    first, second = rows(list(ALL))
    assert (first["key"], first["value"], first["topic"], first["partition"]) == (b"k", b"v", "t", 7)
    assert first["headers"] == [{"key": "h", "value": b"1"}]
    assert first["timestamp"].timestamp() == 1.0  # type: ignore[attr-defined]
    batch = ("baseOffset", "codec", "producerId", "producerEpoch", "baseSequence", "leaderEpoch")
    assert [first[name] for name in batch] == [5, "gzip", 9, 2, 4, 3]
    assert (first["transactional"], first["control"], first["_corrupt"]) == (False, False, None)
    assert (second["offset"], second["key"], second["value"], second["headers"]) == (6, None, None, None)


@pytest.mark.parametrize("timestamp", [(1 << 63) - 1, -(1 << 63), 1_700_000_000_000_000_000])
def test_timestamp_that_does_not_fit_into_microseconds_is_refused(timestamp: int) -> None:
    batch = build_batch([Record(5, 0, b"k", b"v", ()), Record(6, timestamp, b"k", b"v", ())], base_offset=5)
    batches, _ = walk(batch)
    with pytest.raises(TimestampTooLarge, match=f"the record at offset 6 of t-7 has the timestamp {timestamp},"):
        Filling("t", 7, ["timestamp"]).rows(decode(batch, batches, needed(["timestamp"])), batches)
    found = Filling("t", 7, ["offset"]).rows(decode(batch, batches, needed(["offset"])), batches)
    assert found.to_pydict() == {"offset": [5, 6]}


@pytest.mark.parametrize("column", ALL)
def test_each_column_can_be_read_alone(column: str) -> None:
    assert [list(row) for row in rows([column])] == [[column]] * 2


def test_only_requested_columns_are_decoded() -> None:
    assert needed(["topic"]) == {"offset"}
    assert needed(["value", "timestampType"]) == {"offset", "value", "timestamp"}


def test_corrupt_entry_has_only_its_position() -> None:
    what = {"file": "f", "position": 1, "size": 2, "reason": "r", "bytes": b"xy"}
    found = Filling("t", 7, list(ALL)).corrupt(4, what)
    (row,) = found.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "topic": "t",
        "partition": 7,
        "offset": 4,
        "_corrupt": what,
    }
    assert isinstance(found, pa.RecordBatch)
