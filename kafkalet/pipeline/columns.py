"""The columns of `kafkalog`: their types for Spark, the same for Arrow, and how a piece of a log fills them.

The first seven are those of Spark's Kafka source (KafkaRecordToRowConverter); `headers` is there unless it is left
out. Columns are the arrays that the decoder made, or a value per batch spread over its records by NumPy: nothing here
is done once per record.
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
    """A column: its type for Spark and for Arrow, and which field of a record it needs decoded."""

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
    """The columns that a reader gives when it is not told which."""
    return [*RECORD, *(["headers"] * headers), *(BATCH if batch else ()), *([CORRUPT_COLUMN] * corrupt)]


def spark_schema(columns: Iterable[str]) -> str:
    """The columns as Spark reads a schema."""
    return ", ".join(f"`{name}` {ALL[name].spark}" for name in columns)


def arrow_schema(columns: Iterable[str]) -> pa.Schema:
    """The columns as Arrow has them; equal to what Spark makes of `spark_schema`."""
    return pa.schema([pa.field(name, ALL[name].arrow) for name in columns])


def needed(columns: Iterable[str]) -> frozenset[str]:
    """What of the records has to be decoded for these columns; the offset always, as ranges are cut by it."""
    return frozenset({"offset", *(need for name in columns if (need := ALL[name].needs))})


class Filling:
    """Makes the rows of one partition, in columns."""

    def __init__(self, topic: str, partition: int, columns: Sequence[str]) -> None:
        self.name = f"{topic}-{partition}"
        self._topic = topic
        self._partition = partition
        self.columns = tuple(columns)
        self.schema = arrow_schema(columns)
        self._same: dict[str, pa.Array] = {}

    def rows(self, records: Records, batches: Batches) -> pa.RecordBatch:
        """The decoded records of these batches. Raises TimestampTooLarge."""
        if "timestamp" in self.columns:
            _check_timestamps(self.name, records)
        count = len(records.offset)
        return pa.RecordBatch.from_arrays(
            [self._column(name, records, batches, count) for name in self.columns], schema=self.schema
        )

    def corrupt(self, offset: int | None, what: dict[str, Any]) -> pa.RecordBatch:
        """A row of what could not be read, with the offset where it begins if that is known; all else is null."""
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
        """The topic or the partition, again and again: made once for the longest piece, and cut."""
        kept = self._same.get(name)
        if kept is None or len(kept) < count:
            value = self._topic if name == "topic" else self._partition
            kept = self._same[name] = pa.repeat(pa.scalar(value, ALL[name].arrow), count)
        return kept.slice(0, count)


_LARGEST_MS = np.iinfo(np.int64).max // 1000


class TimestampTooLarge(Exception):
    """A timestamp does not fit into Spark's, which count microseconds. The text names the record."""


def _check_timestamps(name: str, records: Records) -> None:
    """Raise for what Spark's Kafka source refuses too (KAFKA_MALFORMED_RECORD_TIMESTAMP)."""
    if records.timestamp is None or not records.timestamp.size:
        return
    wrong = np.flatnonzero((records.timestamp > _LARGEST_MS) | (records.timestamp < -_LARGEST_MS))
    if wrong.size:
        row = int(wrong[0])
        raise TimestampTooLarge(
            f"{name} has at offset {records.offset[row]} the timestamp {records.timestamp[row]}, which does not fit "
            "into Spark's: Kafka's timestamps are milliseconds, and this producer may have written nanoseconds. "
            "To read such records without their timestamps, name the other columns in a schema"
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
