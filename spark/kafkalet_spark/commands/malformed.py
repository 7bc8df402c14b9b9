"""Count malformed lines of CSV and JSON input during a load, and report the first ones by file and line number.

In PERMISSIVE mode, the default, Spark silently loads whatever it can parse of a malformed line: for CSV, the columns
that are present; for JSON, nulls. DROPMALFORMED drops the line, and FAILFAST fails. For both PERMISSIVE and
DROPMALFORMED, the input is read in Spark's PERMISSIVE mode with an additional column that contains the text of each
malformed line. The query that loads the lines also counts the malformed ones by this column. Spark does not provide
line numbers, so if there are malformed lines, the files are read again as text to find the numbers of the first ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from .command_line import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

_LOG = logging.getLogger("kafkalet_spark")

FORMATS = ("csv", "json")
MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
SHOWN = 20
"""The maximum number of malformed lines to log."""
SHOWN_CHARACTERS = 120
_COLUMN_OPTION = "columnnameofcorruptrecord"
_DEFAULT_COLUMN = "_corrupt_record"


class MalformedInput(Exception):
    """A line of the input cannot be parsed, in FAILFAST mode. The message names the file and line."""


class Line(NamedTuple):
    """A malformed line. `number` is None if the text of the line was not found when the file was read again."""

    path: str
    number: int | None
    text: str

    def __str__(self) -> str:
        where = self.path if self.number is None else f"{self.path}, line {self.number}"
        text = self.text if len(self.text) <= SHOWN_CHARACTERS else self.text[:SHOWN_CHARACTERS] + "..."
        return f"{where}: {text}"


class Lines:
    """Reads CSV or JSON files and identifies malformed lines. Raises UsageError for an unknown mode."""

    def __init__(self, file_format: str, options: Mapping[str, str], paths: Sequence[str]) -> None:
        self._format = file_format
        self._options = {name.lower(): text for name, text in options.items()}
        self._paths = list(paths)
        self.mode = self._options.get("mode", MODES[0]).strip().upper()
        if self.mode not in MODES:
            raise UsageError(f"--option mode={self._options['mode']}: must be one of {', '.join(MODES)}")
        self.column = self._options.get(_COLUMN_OPTION, _DEFAULT_COLUMN)
        """The column with the text of a malformed line; null for other lines."""
        self.keeps_column = _COLUMN_OPTION in self._options
        """Whether the user named this column, so that it becomes part of the input."""

    def table(self, spark: SparkSession) -> DataFrame:
        """Return the input as a table, with `column` unless the mode is FAILFAST. Raises MalformedInput."""
        if self.mode == "FAILFAST":
            return self._reader(spark, "FAILFAST").load(self._paths)
        return self._marked(spark)

    def is_malformed(self) -> Column:
        """Return a condition for rows of `table` that come from malformed lines."""
        from pyspark.sql import functions

        return functions.col(f"`{self.column}`").isNotNull()

    def first(self, spark: SparkSession, count: int = SHOWN) -> list[Line]:
        """Return the first malformed lines, sorted by file and line."""
        from pyspark.sql import functions

        table = self._marked(spark)
        others = [f"`{name.replace('`', '``')}`" for name in table.columns if name != self.column]
        found = (
            table.select(
                functions.col("_metadata.file_path").alias("path"),
                functions.col("_metadata.file_block_start").alias("block"),
                functions.monotonically_increasing_id().alias("row"),
                functions.col(f"`{self.column}`").alias("text"),
                functions.struct(*others).alias("others"),  # Spark rejects queries for only the corrupt-record column
            )
            .where("text IS NOT NULL")
            .orderBy("path", "block", "row")
            .limit(count)
            .collect()
        )
        records = [(row["path"], row["text"] or "") for row in found]
        numbers = self._numbers(spark, records)
        return [
            Line(_local(path), next(numbers[path, text], None) if (path, text) in numbers else None, text)
            for path, text in records
        ]

    def _marked(self, spark: SparkSession) -> DataFrame:
        from pyspark.sql.types import StringType

        reader = self._reader(spark, "PERMISSIVE").option("columnNameOfCorruptRecord", self.column)
        schema = reader.load(self._paths).schema
        if self.column not in schema.fieldNames():
            schema = schema.add(self.column, StringType())
        if len(schema) == 1:
            raise MalformedInput(f"no line in {', '.join(self._paths)} can be parsed as {self._format.upper()}")
        return reader.schema(schema).load(self._paths)

    def _reader(self, spark: SparkSession, mode: str) -> DataFrameReader:
        # With column pruning, Spark accepts CSV lines with too few or too many columns as well-formed.
        return spark.read.format(self._format).options(**{"columnpruning": "false", **self._options, "mode": mode})

    def _numbers(self, spark: SparkSession, records: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Iterator[int]]:
        """Return the number of the first line of each of these records, keyed by path and text."""
        from pyspark.sql import functions

        if not records:
            return {}
        kept = {name: text for name, text in self._options.items() if name in ("linesep", "pathglobfilter")}
        paths = sorted({path for path, _ in records})
        lines = (
            spark.read.options(**kept)
            .text(paths)
            .select(
                functions.col("_metadata.file_path").alias("path"),
                functions.col("_metadata.file_block_start").alias("block"),
                functions.monotonically_increasing_id().alias("row"),
                functions.col("value").alias("text"),
            )
        )
        blocks = lines.groupBy("path", "block").agg(
            functions.min("row").alias("first"), functions.count("*").alias("lines")
        )
        before: dict[tuple[str, int], int] = {}
        counted: dict[str, int] = {}
        for row in blocks.orderBy("path", "block").collect():
            before[row["path"], row["block"]] = counted.get(row["path"], 0) - row["first"]
            counted[row["path"]] = counted.get(row["path"], 0) + row["lines"]
        wanted = {_first_line(text) for _, text in records}
        hits = lines.where(functions.col("text").isin(sorted(wanted))).orderBy("path", "block", "row").limit(10 * SHOWN)
        found: dict[tuple[str, str], list[int]] = {}
        for row in hits.collect():
            number = before[row["path"], row["block"]] + row["row"] + 1
            found.setdefault((row["path"], row["text"]), []).append(number)
        return {(path, text): iter(found.get((path, _first_line(text)), [])) for path, text in records}


def warn(lines: Sequence[Line], count: int, left_out: bool) -> None:
    """Log how many malformed lines were loaded or dropped, and list the first ones."""
    what = "dropped" if left_out else "loaded as far as they could be parsed"
    _LOG.warning("%s malformed lines were %s", f"{count:,}", what)
    for line in lines:
        _LOG.warning("malformed: %s", line)
    if count > len(lines):
        _LOG.warning("malformed: %s more not shown", f"{count - len(lines):,}")


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


def _local(uri: str) -> str:
    """Return the path of a file: URI; other URIs are returned unchanged."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
