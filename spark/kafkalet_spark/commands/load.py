"""`kafkalet-spark load INPUT... --data-dir DIR --topic T`: write any Spark source as Kafka logs.

The format is given by --from or derived from the file name: .csv, .tsv, .json, .jsonl, .ndjson, .orc, .parquet, .txt or
.log, optionally followed by a compression suffix such as .gz. The format of a folder is that of its first file. CSV
files are expected to have a header line unless --option header=false is given. Other sources are configured by options:
--from jdbc --option url=... --option dbtable=...
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from kafkalet.units import counted
from kafkalet_spark.option_table import WRITE
from kafkalet_spark.plan import megabytes, settings_text
from kafkalet_spark.progress import ExpectedWork
from kafkalet_spark.writing.load import LoadOptions, load
from kafkalet_spark.writing.write_options import write_options

from . import malformed
from .command_line import UsageError, format_options, pairs
from .record_columns import Roles, as_records
from .running import Running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".parquet": "parquet",
    ".txt": "text",
    ".log": "text",
}
PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".xz", ".deflate")
DEFAULTS = {".csv": {"header": "true"}, ".tsv": {"header": "true", "sep": "\t"}}


def prepare(parsed: Namespace) -> LoadJob:
    """Check the options and return the job. Raises UsageError, BadOption."""
    written = format_options(parsed, WRITE)
    if parsed.log_append_time:
        written["timestampType"] = "LogAppendTime"
    write_options({**written, "path": parsed.data_dir})
    options = LoadOptions(parsed.data_dir, written, parsed.overwrite, parsed.sort)
    roles = Roles(
        _names(parsed.key),
        _names(parsed.value),
        parsed.timestamp,
        parsed.headers,
        parsed.partition_column,
        parsed.topic_column,
    )
    given = pairs("--option", parsed.option)
    return LoadJob(Input.of(parsed.inputs, vars(parsed)["from"], given), roles, options)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name) if text else ()


class Input:
    """The input of a load: a Spark format, its options, and paths or the name of a table."""

    def __init__(self, file_format: str, options: Mapping[str, str], paths: Sequence[str]) -> None:
        self.format = file_format
        self.options = options
        self.paths = paths
        self.lines = malformed.Lines(file_format, options, paths) if file_format in malformed.FORMATS else None
        """Handles malformed lines; None for formats that have none."""

    @classmethod
    def of(cls, inputs: Sequence[str], file_format: str | None, options: Mapping[str, str]) -> Input:
        """Create the input from the command line. The first path determines an omitted format. Raises UsageError."""
        suffix = suffix_of(inputs[0]) if inputs and file_format in (None, "csv") else ""
        chosen = file_format or FORMATS.get(suffix)
        if chosen is None:
            what = f"{inputs[0]} is" if inputs else "the input is"
            raise UsageError(
                f"cannot tell what format {what}: use --from parquet, csv, json, orc, text, jdbc, table, or another "
                "Spark format"
            )
        if chosen == "table" and len(inputs) != 1:
            raise UsageError("--from table requires the name of one table")
        defaults = DEFAULTS.get(suffix, {"header": "true"}) if chosen == "csv" else {}
        named = {name.lower() for name in options}
        return cls(chosen, {**{k: v for k, v in defaults.items() if k not in named}, **options}, list(inputs))

    def table(self, spark: SparkSession) -> DataFrame:
        if self.format == "table":
            return spark.table(self.paths[0])
        if self.lines is not None:
            return self.lines.table(spark)
        reader = spark.read.format(self.format).options(**self.options)
        return reader.load(list(self.paths)) if self.paths else reader.load()


def suffix_of(path: str) -> str:
    """Return the suffix that determines the format, ignoring a compression suffix. For a folder, use its first file."""
    if os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
            shown = sorted(name for name in names if not name.startswith(("_", ".")))
            if shown:
                return suffix_of(os.path.join(folder, shown[0]))
        return ""
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if suffix in PACKED else suffix


class LoadJob:
    """One run of a load."""

    def __init__(self, source: Input, roles: Roles, options: LoadOptions) -> None:
        self._input = source
        self._roles = roles
        self._options = options

    def dry_run(self, running: Running) -> None:
        with self._naming_lines(running.spark):
            table = self._input.table(running.spark)
            records = self._records(table)
        sizes = file_sizes(table)
        files = f", {counted(len(sizes), 'file')}, {megabytes(sum(sizes))}" if sizes else ""
        shown = {
            "input": f"{self._input.format}{files}",
            "columns": _columns(self._without_mark(table)),
            "records": _columns(records),
            "data-dir": self._options.path,
            "overwrite": str(self._options.overwrite).lower(),
            "sort": self._options.sort,
        }
        running.say(settings_text({**shown, **self._options.options}))

    def run(self, running: Running) -> int:
        from pyspark.sql import Observation

        observation = Observation()
        with self._naming_lines(running.spark):
            table = self._input.table(running.spark)
            records = self._records(self._observed(table, observation))
            with running.progress("load", ExpectedWork(size_bytes=sum(file_sizes(table)))):
                load(running.spark, records, self._options)
        rows, wrong = observation.get["rows"], observation.get.get("malformed", 0)
        left_out = wrong if self._drops_lines else 0
        summary = f"loaded {counted(rows - left_out, 'record')} into {self._options.path}"
        if wrong and self._input.lines is not None:
            malformed.warn(self._input.lines.first(running.spark), wrong, self._drops_lines)
            dropped = f"; dropped {counted(wrong, 'malformed line')}"
            summary += dropped if left_out else f", {wrong:,} from malformed lines"
        running.say(summary)
        return 0

    @property
    def _drops_lines(self) -> bool:
        return self._input.lines is not None and self._input.lines.mode == "DROPMALFORMED"

    def _observed(self, table: DataFrame, observation: Observation) -> DataFrame:
        """Count the rows and the malformed lines of a table, and drop malformed lines if the mode requires it."""
        from pyspark.sql import functions

        rows = functions.count(functions.lit(1)).alias("rows")
        lines = self._input.lines
        if lines is None or lines.column not in table.columns:
            return table.observe(observation, rows)
        observed = table.observe(observation, rows, functions.count_if(lines.is_malformed()).alias("malformed"))
        return observed.where(~lines.is_malformed()) if self._drops_lines else observed

    def _without_mark(self, table: DataFrame) -> DataFrame:
        lines = self._input.lines
        return table if lines is None or lines.keeps_column else table.drop(lines.column)

    def _records(self, table: DataFrame) -> DataFrame:
        """Convert the input to records. Raises UsageError."""
        records = as_records(self._without_mark(table), self._roles)
        if "topic" not in records.columns and "topic" not in self._options.options:
            raise UsageError("no topic is set: use --topic TOPIC or --topic-column COL")
        return records

    @contextmanager
    def _naming_lines(self, spark: SparkSession) -> Iterator[None]:
        """Convert the error for a malformed line in FAILFAST mode to MalformedInput, which names the file and line."""
        try:
            yield
        except (malformed.MalformedInput, UsageError):
            raise
        except Exception as error:
            lines = self._input.lines
            if lines is None or lines.mode != "FAILFAST" or "MALFORMED" not in str(error.__cause__ or error).upper():
                raise
            first = lines.first(spark, 1)
            if not first:
                raise
            raise malformed.MalformedInput(
                f"malformed line in {first[0]} (--option mode=PERMISSIVE loads the parts of such lines that can be "
                "parsed, DROPMALFORMED drops the lines)"
            ) from error


def _columns(table: DataFrame) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in table.schema.fields)


def file_sizes(table: DataFrame) -> list[int]:
    """Return the sizes of the input files that are on this machine."""
    paths = (urlsplit(uri) for uri in table.inputFiles())
    local = (unquote(path.path) for path in paths if path.scheme in ("", "file"))
    return [os.path.getsize(path) for path in local if os.path.isfile(path)]
