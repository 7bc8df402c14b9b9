"""Check and normalize the input rows, whose columns are those of Spark's Kafka sink (KafkaWriter).

    value        string or binary; required, may be null (a tombstone)
    key          string or binary
    topic        string; required unless the option `topic` is set, which takes precedence
    partition    int; if null, the key determines the partition
    timestamp    timestamp; if null or missing, the time of the load is used
    headers      array<struct<key: string, value: binary>>

The columns `offset` and `timestampType`, which the reader returns, are accepted but ignored: the log assigns its own
offsets. Other columns are rejected.

The output columns are (place, timestamp, key, value, headers). A place is a number that identifies a partition of a
topic: the upper bits hold the number of the topic, and the lower 32 bits the number of the partition. Each task numbers
topics in the order in which they first appear.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkalet_spark.decoding.headers import HEADERS

from .placement import partitions_of
from .write_options import check_topic

_BYTES = ("string", "binary")
_TYPES = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp", "timestamp_ntz"),
    "headers": ("array<struct<key:string,value:binary>>",),
}
_LEFT_OUT = ("offset", "timestampType")
SCHEMA = pa.schema(
    [
        ("place", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
    ]
)


class BadRows(ValueError):
    """Some columns or values cannot be written as records. The message says which ones."""


def check_columns(types: Mapping[str, str], topic: str | None) -> None:
    """Check the names and Spark types of the columns. Raises BadRows, with the same messages as Spark's Kafka sink."""
    if "value" not in types:
        raise BadRows("Required attribute 'value' not found.")
    if topic is None and "topic" not in types:
        raise BadRows(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    for name, found in types.items():
        if name in _LEFT_OUT:
            continue
        wanted = _TYPES.get(name)
        if wanted is None:
            raise BadRows(f"unsupported column {name}; the columns of a record are {', '.join(_TYPES)}")
        if found not in wanted:
            raise BadRows(f"Attribute '{name}' must be a(n) {' or '.join(wanted)}; found {found}.")


class Sorter:
    """Assigns a place to each row. `count_of` returns the number of partitions of a topic; None means that it is not
    limited.

    `first` is the initial value of the counter by which records without a key are placed. `now_ms` is the timestamp for
    records without one.
    """

    def __init__(
        self, topic: str | None, by_column: bool | None, count_of: Callable[[str], int | None], first: int, now_ms: int
    ) -> None:
        self.topics: list[str] = []
        self._topic = topic
        self._by_column = by_column
        self._count_of = count_of
        self._counts: list[int | None] = []
        self._numbers: dict[str, int] = {}
        self._next = first
        self._now_ms = now_ms

    def place_of(self, place: int) -> tuple[str, int]:
        """Return the topic and partition of a place."""
        return self.topics[place >> 32], place & 0xFFFFFFFF

    def sort(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with their places, in the same order. Raises BadRows."""
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        count = rows.num_rows
        key = _bytes(columns["key"]) if "key" in columns else pa.nulls(count, pa.binary())
        topics = self._topics_of(columns.get("topic"), count)
        partitions = self._partitions_of(topics, key, columns.get("partition"))
        headers = columns["headers"].cast(HEADERS) if "headers" in columns else pa.nulls(count, HEADERS)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(topics << 32 | partitions),
                pa.array(self._timestamps(columns.get("timestamp"), count)),
                key,
                _bytes(columns["value"]),
                headers,
            ],
            schema=SCHEMA,
        )

    def _topics_of(self, column: pa.Array | None, count: int) -> NDArray[np.int64]:
        if self._topic is not None or column is None:
            assert self._topic is not None
            return np.full(count, self._number_of(self._topic), np.int64)
        if column.null_count:
            raise BadRows("null topic present in the data. Use the topic option for setting a default topic.")
        coded = column.dictionary_encode()
        numbers = np.array([self._number_of(name) for name in coded.dictionary.to_pylist()], np.int64)
        return numbers[coded.indices.to_numpy()] if count else np.empty(0, np.int64)

    def _number_of(self, topic: str) -> int:
        number = self._numbers.get(topic)
        if number is None:
            check_topic(topic)
            number = self._numbers[topic] = len(self.topics)
            self.topics.append(topic)
            self._counts.append(self._count_of(topic))
        return number

    def _partitions_of(self, topics: NDArray[np.int64], key: pa.Array, column: pa.Array | None) -> NDArray[np.int64]:
        if column is None or self._by_column is False:
            if self._by_column:
                raise BadRows("partitionBy=column requires a column 'partition'")
            return self._by_key(topics, key)
        if not column.null_count:
            partitions = column.to_numpy().astype(np.int64)
            return self._checked(topics, partitions)
        named = column.is_valid().to_numpy(zero_copy_only=False)
        partitions = self._checked(topics, column.fill_null(0).to_numpy().astype(np.int64))
        rest = np.flatnonzero(~named)
        partitions[rest] = self._by_key(topics[rest], key.take(pa.array(rest)))
        return partitions

    def _checked(self, topics: NDArray[np.int64], partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        most = np.array([0x7FFFFFFF if count is None else count for count in self._counts], np.int64)
        wrong = np.flatnonzero((partitions < 0) | (partitions >= most[topics]))
        if len(wrong):
            row = int(wrong[0])
            topic = self.topics[topics[row]]
            count = self._counts[topics[row]]
            allowed = "0 or more" if count is None else f"0 to {count - 1}"
            raise BadRows(f"partition {partitions[row]} of topic {topic} is out of range; it must be {allowed}")
        return partitions

    def _by_key(self, topics: NDArray[np.int64], key: pa.Array) -> NDArray[np.int64]:
        counts = np.array([1 if count is None else count for count in self._counts], np.int64)[topics]
        ordinals = np.arange(self._next, self._next + len(topics), dtype=np.int64)
        self._next += len(topics)
        return partitions_of(key, counts, ordinals).astype(np.int64)

    def _timestamps(self, column: pa.Array | None, count: int) -> NDArray[np.int64]:
        if column is None:
            return np.full(count, self._now_ms, np.int64)
        micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
        times: NDArray[np.int64] = micros.fill_null(self._now_ms * 1000).to_numpy() // 1000
        if count and times.min() < 0:
            raise BadRows(f"Invalid timestamp: {times.min()}. Timestamp should always be non-negative or null.")
        return times


class RowRun(NamedTuple):
    """A run of consecutive rows with the same place."""

    place: int
    start: int
    end: int


def stretches(places: NDArray[np.int64]) -> list[RowRun]:
    """Return the runs of rows with equal places, in order."""
    if not len(places):
        return []
    bounds = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
    return [RowRun(int(places[start]), start, end) for start, end in itertools.pairwise(bounds)]


def _bytes(column: pa.Array) -> pa.Array:
    return column if column.type == pa.binary() else pc.cast(column, pa.binary())
