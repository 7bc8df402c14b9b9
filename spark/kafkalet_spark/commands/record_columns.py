"""Map the columns of a table to the fields of records, in the form that Spark's Kafka sink expects.

    key, value    a single column is used as it is if it is binary or a string, and is otherwise cast to string. Several
                  columns become a JSON object, which includes nulls and has times in UTC
    timestamp     a timestamp; a date; an integer number of milliseconds since 1970; text that contains such a number or
                  a time in ISO 8601. Times without a zone are in the time zone of the session, which the commands set
                  to UTC. Any other value fails the load; null means the time of the load
    headers       array<struct<key,value>>, a map, or a struct, whose null fields are omitted
    partition     an integer

A column that is mapped to another field is not part of the value unless it is also mapped to the value. If no column is
mapped and the table has only the columns of records (`key`, `value`, `offset`, ... and `date` as in a dump), the table
is loaded as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .command_line import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

RECORD = ("key", "value", "headers", "timestamp", "topic", "partition")
"""The fields of a record, and the names of their columns in a table of records."""
BESIDE = frozenset(
    {"offset", "timestampType", "date", "month", "year", "baseOffset", "codec", "producerId", "producerEpoch"}
) | frozenset({"baseSequence", "transactional", "control", "leaderEpoch"})
"""Other columns that a table of records may have. They are ignored because a new log assigns these values itself."""
_JSON = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "ignoreNullFields": "false"}
_HEADERS = "array<struct<key:string,value:binary>>"


class Roles(NamedTuple):
    """The columns that are mapped to each field of a record. An empty `value` means all remaining columns."""

    key: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    timestamp: str | None = None
    headers: str | None = None
    partition: str | None = None
    topic: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        singles = (self.timestamp, self.headers, self.partition, self.topic)
        return (*self.key, *self.value, *(name for name in singles if name is not None))


def are_records(columns: Sequence[str]) -> bool:
    """Return whether a table with these columns consists of records."""
    return "value" in columns and set(columns) <= {*RECORD, *BESIDE}


def as_records(table: DataFrame, roles: Roles) -> DataFrame:
    """Convert a table to the columns in RECORD, omitting those that nothing is mapped to. Raises UsageError."""
    for name in roles.named:
        if name not in table.columns:
            raise UsageError(f"unknown column {name}; the columns are {', '.join(table.columns)}")
    if not roles.named and are_records(table.columns):
        return table.select(*(name for name in RECORD if name in table.columns))
    value = roles.value or tuple(name for name in table.columns if name not in roles.named)
    if not value:
        raise UsageError("no column is left for the value; set --value")
    found = {"value": _text(table, value)}
    if roles.key:
        found["key"] = _text(table, roles.key)
    if roles.timestamp is not None:
        found["timestamp"] = _timestamp(table, roles.timestamp)
    if roles.headers is not None:
        found["headers"] = _headers(table, roles.headers)
    if roles.partition is not None:
        found["partition"] = table[roles.partition].cast("int")
    if roles.topic is not None:
        found["topic"] = table[roles.topic].cast("string")
    return table.select(*(found[name].alias(name) for name in RECORD if name in found))


def _type(table: DataFrame, name: str) -> DataType:
    return table.schema[name].dataType


def _column(name: str) -> Column:
    """Return a column by its full name, which may contain dots."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def _text(table: DataFrame, names: Sequence[str]) -> Column:
    from pyspark.sql import functions

    if len(names) > 1 or _type(table, names[0]).typeName() in ("struct", "array", "map", "variant"):
        whole = functions.struct(*map(_column, names)) if len(names) > 1 else _column(names[0])
        return functions.to_json(whole, _JSON)
    column = _column(names[0])
    return column if _type(table, names[0]).typeName() in ("binary", "string") else column.cast("string")


def _timestamp(table: DataFrame, name: str) -> Column:
    from pyspark.sql import functions

    column, kind = _column(name), _type(table, name).typeName()
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return column.cast("timestamp")
    if kind in ("byte", "short", "integer", "long"):
        return functions.timestamp_millis(column.cast("long"))
    if kind == "string":
        return functions.coalesce(functions.timestamp_millis(column.try_cast("long")), column.cast("timestamp"))
    raise UsageError(f"the column {name} has type {_type(table, name).simpleString()}, not a time")


def _headers(table: DataFrame, name: str) -> Column:
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    column, kind = _column(name), _type(table, name)
    if kind.typeName() == "map":
        return functions.map_entries(column).cast(_HEADERS)
    if isinstance(kind, StructType):
        fields = [
            functions.struct(functions.lit(each), column[each].cast("string").cast("binary")) for each in kind.names
        ]
        kept = functions.filter(functions.array(*fields), lambda header: header["col2"].isNotNull())
        return kept.cast(_HEADERS)
    if kind.typeName() == "array":
        return column.cast(_HEADERS)
    raise UsageError(f"the column {name} has type {kind.simpleString()}, not an array, map or struct of headers")
