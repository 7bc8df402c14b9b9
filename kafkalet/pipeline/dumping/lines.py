"""A record as a line of JSON.

    {"offset":12,"timestamp":"2013-01-01T10:15:00.000Z","timestampType":"CreateTime","key":"UA","value":"{...}",
     "headers":[{"key":"source","value":"AP8=","base64":true}],"base64":["value"]}

Keys and values are text where they are UTF-8, else base64, and then `base64` lists the fields of which that is true; a
header says it for itself. What is null is not there, and headers are not where a record has none. Topic, partition
and date are in the names of the folders.

Spark makes the lines, row by row but in code that it compiles for the query. It is told to format timestamps in UTC,
whatever the zone of the session.
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
    """The records with their lines, in the columns that the writing of files asks for."""
    from pyspark.sql import functions

    fields = [functions.col("offset"), _timestamp(), _timestamp_type(), _text("key"), _text("value")]
    if "headers" in records.columns:
        fields.append(_headers())
    fields += [functions.col(name) for name in records.columns if name not in _SHOWN]
    fields.append(_in_base64())
    line = functions.concat(functions.to_json(functions.struct(*fields), _TIMES), functions.lit("\n"))
    return records.select("topic", "partition", "offset", "timestamp", line.alias(LINE))


def _timestamp() -> Column:
    """None where the record has none, which the data source shows as Spark's does: a millisecond before 1970."""
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

    # Spark breaks base64 into lines of 76 characters, as mail has it, unless the session says otherwise.
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
    """The names of the fields that are in base64; null when there are none, and then it is not in the line."""
    from pyspark.sql import functions

    names = [functions.when(~_is_text(functions.col(name)), name) for name in ("key", "value")]
    listed = functions.array_compact(functions.array(*names))
    return functions.when(functions.size(listed) > 0, listed).alias("base64")
