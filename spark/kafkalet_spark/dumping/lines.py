"""Encode a record as a line of JSON.

    {"offset":12,"timestamp":"2013-01-01T10:15:00.000Z","timestampType":"CreateTime","key":"UA","value":"{...}",
     "headers":[{"key":"source","value":"AP8=","base64":true}],"base64":["value"]}

Keys and values are written as text if they are valid UTF-8, otherwise as base64. In the latter case, `base64` lists the
names of these fields; in a header, it is a flag. Null fields and empty headers are omitted. Topic, partition and date
are in the directory names.

The lines are produced with Spark SQL functions, which Spark compiles. Timestamps are formatted in UTC, regardless of
the session time zone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dump_files import LINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}
_TIMES = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}
_SHOWN = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")


def with_lines(records: DataFrame) -> DataFrame:
    """Return the columns that the file writer needs, one of which holds each record as a line of JSON."""
    from pyspark.sql import functions

    fields = [functions.col("offset"), _timestamp(), _timestamp_type(), _text("key"), _text("value")]
    if "headers" in records.columns:
        fields.append(_headers())
    fields += [functions.col(name) for name in records.columns if name not in _SHOWN]
    fields.append(_in_base64())
    line = functions.concat(functions.to_json(functions.struct(*fields), _TIMES), functions.lit("\n"))
    return records.select("topic", "partition", "offset", "timestamp", line.alias(LINE))


def _timestamp() -> Column:
    """Return the timestamp column, with null for records without a timestamp. For these, the source returns one
    millisecond before 1970, as Spark does."""
    from pyspark.sql import functions

    return functions.when(functions.col("timestampType") >= 0, functions.col("timestamp")).alias("timestamp")


def _timestamp_type() -> Column:
    from pyspark.sql import functions

    kind = functions.col("timestampType")
    named = functions.when(kind == 0, TIMESTAMP_TYPES[0]).when(kind == 1, TIMESTAMP_TYPES[1])
    return named.alias("timestampType")


def _is_text(column: Column) -> Column:
    from pyspark.sql import functions

    return functions.is_valid_utf8(column.cast("string"))


def _shown(column: Column) -> Column:
    from pyspark.sql import functions

    # Spark breaks base64 into lines of 76 characters (MIME) unless the session disables that.
    coded = functions.translate(functions.base64(column), "\r\n", "")
    return functions.when(_is_text(column), column.cast("string")).otherwise(coded)


def _text(name: str) -> Column:
    from pyspark.sql import functions

    return _shown(functions.col(name)).alias(name)


def _headers() -> Column:
    from pyspark.sql import functions

    def shown(header: Column) -> Column:
        value = header["value"]
        return functions.struct(
            header["key"].alias("key"),
            _shown(value).alias("value"),
            functions.when(~_is_text(value), True).alias("base64"),
        )

    return functions.transform("headers", shown).alias("headers")


def _in_base64() -> Column:
    """Return the names of the fields that are in base64. If there are none, return null, so that the field is
    omitted."""
    from pyspark.sql import functions

    names = [functions.when(~_is_text(functions.col(name)), name) for name in ("key", "value")]
    listed = functions.array_compact(functions.array(*names))
    return functions.when(functions.size(listed) > 0, listed).alias("base64")
