"""The columns of `kafkalog`: their Spark and Arrow types, and how decoded records fill them.

The first seven are those of Spark's Kafka source (KafkaRecordToRowConverter); `headers` can be turned off. A column is
either an array from the decoder or has one value per batch, which NumPy repeats for the records of the batch. No Python
code runs per record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .decoding.batches import Batches
from .decoding.headers import HEADERS
from .decoding.records import Records

CORRUPT = pa.struct(
    [
        pa.field("file", pa.string()),
        pa.field("position", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("bytes", pa.binary()),
    ]
)
CORRUPT_COLUMN = "_corrupt"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7")


class Column(NamedTuple):
    """A column: its Spark and Arrow types, and the record field that must be decoded for it."""

    spark: str
    arrow: pa.DataType
    needs: str | None = None


RECORD = {
    "key": Column("binary", pa.binary(), "key"),
    "value": Column("binary", pa.binary(), "value"),
    "topic": Column("string", pa.string()),
    "partition": Column("int", pa.int32()),
    "offset": Column("bigint", pa.int64(), "offset"),
    "timestamp": Column("timestamp", pa.timestamp("us", tz="UTC"), "timestamp"),
    "timestampType": Column("int", pa.int32(), "timestamp"),
}
BATCH = {
    "baseOffset": Column("bigint", pa.int64()),
    "codec": Column("string", pa.string()),
    "producerId": Column("bigint", pa.int64()),
    "producerEpoch": Column("int", pa.int32()),
    "baseSequence": Column("int", pa.int32()),
    "transactional": Column("boolean", pa.bool_()),
    "control": Column("boolean", pa.bool_()),
    "leaderEpoch": Column("int", pa.int32()),
}
ALL = {
    **RECORD,
    "headers": Column("array<struct<key:string,value:binary>>", HEADERS, "headers"),
    **BATCH,
    CORRUPT_COLUMN: Column("struct<file:string,position:bigint,size:bigint,reason:string,bytes:binary>", CORRUPT),
}


def names(*, headers: bool, batch: bool, corrupt: bool) -> list[str]:
    """Return the columns of a reader without an explicit schema."""
    return [*RECORD, *(["headers"] * headers), *(BATCH if batch else ()), *([CORRUPT_COLUMN] * corrupt)]


def spark_schema(columns: Iterable[str]) -> str:
    """Return the columns as a Spark schema string (DDL)."""
    return ", ".join(f"`{name}` {ALL[name].spark}" for name in columns)


def arrow_schema(columns: Iterable[str]) -> pa.Schema:
    """Return the columns as an Arrow schema, which equals the schema that Spark derives from `spark_schema`."""
    return pa.schema([pa.field(name, ALL[name].arrow) for name in columns])


def needed(columns: Iterable[str]) -> frozenset[str]:
    """Return the record fields to decode for these columns. Offsets are always needed, to trim the range."""
    return frozenset({"offset", *(need for name in columns if (need := ALL[name].needs))})


class Filling:
    """Builds Arrow record batches from the records of one partition."""

    def __init__(self, topic: str, partition: int, columns: Sequence[str]) -> None:
        self.name = f"{topic}-{partition}"
        self._topic = topic
        self._partition = partition
        self.columns = tuple(columns)
        self.schema = arrow_schema(columns)
        self._same: dict[str, pa.Array] = {}

    def rows(self, records: Records, batches: Batches) -> pa.RecordBatch:
        """Return the decoded records of these batches as rows. Raises TimestampTooLarge."""
        if "timestamp" in self.columns:
            _check_timestamps(self.name, records)
        count = len(records.offset)
        return pa.RecordBatch.from_arrays(
            [self._column(name, records, batches, count) for name in self.columns], schema=self.schema
        )

    def corrupt(self, offset: int | None, what: dict[str, Any]) -> pa.RecordBatch:
        """Return a row for bytes that could not be read.

        `offset` is the offset at which they begin, if known. All other columns of the record are null.
        """
        known = {"topic": self._topic, "partition": self._partition, "offset": offset, CORRUPT_COLUMN: what}
        columns = [pa.array([known.get(name)], ALL[name].arrow) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _column(self, name: str, records: Records, batches: Batches, count: int) -> pa.Array:
        if name in _OF_RECORD:
            return _OF_RECORD[name](records)
        if name in _OF_BATCH:
            return _OF_BATCH[name](batches, records.row)
        if name == CORRUPT_COLUMN:
            return pa.nulls(count, CORRUPT)
        return self._constant(name, count)

    def _constant(self, name: str, count: int) -> pa.Array:
        """Return the topic or the partition `count` times, as a slice of a cached array."""
        kept = self._same.get(name)
        if kept is None or len(kept) < count:
            value = self._topic if name == "topic" else self._partition
            kept = self._same[name] = pa.repeat(pa.scalar(value, ALL[name].arrow), count)
        return kept.slice(0, count)


_LARGEST_MS = np.iinfo(np.int64).max // 1000


class TimestampTooLarge(Exception):
    """A timestamp is out of range for Spark, which stores microseconds. The message names the record."""


def _check_timestamps(name: str, records: Records) -> None:
    """Raise TimestampTooLarge where Spark's Kafka source fails with KAFKA_MALFORMED_RECORD_TIMESTAMP."""
    if records.timestamp is None or not records.timestamp.size:
        return
    wrong = np.flatnonzero((records.timestamp > _LARGEST_MS) | (records.timestamp < -_LARGEST_MS))
    if wrong.size:
        row = int(wrong[0])
        raise TimestampTooLarge(
            f"the record at offset {records.offset[row]} of {name} has the timestamp {records.timestamp[row]}, which "
            "is out of range for Spark: Kafka timestamps are milliseconds, and the producer may have written "
            "nanoseconds. To read such records without timestamps, pass a schema with the other columns"
        )


def _timestamps(records: Records) -> pa.Array:
    assert records.timestamp is not None
    return pa.array(records.timestamp * 1000).cast(ALL["timestamp"].arrow)


_OF_RECORD: dict[str, Callable[[Records], pa.Array]] = {
    "key": lambda records: records.key,
    "value": lambda records: records.value,
    "headers": lambda records: records.headers,
    "offset": lambda records: pa.array(records.offset),
    "timestamp": _timestamps,
    "timestampType": lambda records: pa.array(records.timestamp_type),
}


def _codecs(batches: Batches, row: NDArray[np.int32]) -> pa.Array:
    names_of = pa.DictionaryArray.from_arrays(pa.array(batches.codec[row].astype(np.int8)), pa.array(CODECS))
    return names_of.cast(pa.string())


_OF_BATCH: dict[str, Callable[[Batches, NDArray[np.int32]], pa.Array]] = {
    "baseOffset": lambda batches, row: pa.array(batches.base_offset[row]),
    "codec": _codecs,
    "producerId": lambda batches, row: pa.array(batches.producer_id[row]),
    "producerEpoch": lambda batches, row: pa.array(batches.producer_epoch[row].astype(np.int32)),
    "baseSequence": lambda batches, row: pa.array(batches.base_sequence[row]),
    "transactional": lambda batches, row: pa.array(batches.is_transactional[row]),
    "control": lambda batches, row: pa.array(batches.is_control[row]),
    "leaderEpoch": lambda batches, row: pa.array(batches.leader_epoch[row]),
}
