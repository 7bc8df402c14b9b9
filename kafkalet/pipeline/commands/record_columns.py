"""Which column of a table is what of a record: rows of any Spark source, as Spark's Kafka sink wants them.

    key, value    one column as it is: bytes, text, or what Spark writes as text. Several: a JSON object of them, with
                  nulls in it and times in UTC
    timestamp     a timestamp; a date; a whole number of milliseconds since 1970; text, either such a number or
                  ISO 8601. Where no zone is named it is that of the session: UTC, as commands start it. What is no
                  time in any of these ways fails the load; null is the time of the load
    headers       array<struct<key,value>>, a map, or a struct, whose fields that are null are left out
    partition     a whole number

A column that is named for one thing is not part of the value, unless it is named for that as well. With nothing
named, a table of the columns of records (`key`, `value`, `offset`, ... and the `date` of a dump's folders) is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .command_line import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

RECORD = ("key", "value", "headers", "timestamp", "topic", "partition")
"""What a record is made of, and what its columns are called in a table of records."""
BESIDE = frozenset(
    {"offset", "timestampType", "date", "month", "year", "baseOffset", "codec", "producerId", "producerEpoch"}
) | frozenset({"baseSequence", "transactional", "control", "leaderEpoch"})
"""What such a table may have besides, and a new log gives anew."""
_JSON = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "ignoreNullFields": "false"}
_HEADERS = "array<struct<key:string,value:binary>>"


class Roles(NamedTuple):
    """The columns that were named for what a record is made of. Of `value`, empty means all others."""

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
    """Whether a table of these columns is one of records."""
    return "value" in columns and set(columns) <= {*RECORD, *BESIDE}


def as_records(table: DataFrame, roles: Roles) -> DataFrame:
    """The table in the columns of RECORD, as far as there is something for them. Raises UsageError."""
    for name in roles.named:
        if name not in table.columns:
            raise UsageError(f"there is no column {name}; there are {', '.join(table.columns)}")
    if not roles.named and are_records(table.columns):
        return table.select(*(name for name in RECORD if name in table.columns))
    value = roles.value or tuple(name for name in table.columns if name not in roles.named)
    if not value:
        raise UsageError("no column is left for the value; name one by --value")
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
    """A column by its whole name, though it may have dots in it."""
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
    raise UsageError(f"the column {name} is {_type(table, name).simpleString()}, which is no time")


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
    raise UsageError(f"the column {name} is {kind.simpleString()}, which is no array, map or struct of headers")
