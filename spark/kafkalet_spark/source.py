"""The Spark data source `kafkalog`, for `spark.read`, `spark.readStream` and `df.write`.

    from kafkalet_spark.session import spark_session
    spark = spark_session()
    spark.read.format("kafkalog").option("subscribe", "flights").load("/var/lib/kafka").show()

Spark creates a `KafkaLog` in a separate planning process and pickles the reader for its tasks, so these classes keep no
file or socket open. An explicit schema (`spark.read.schema(...)`) selects columns: other columns are neither decoded
nor sent to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from . import columns
from .filters import Pushed, pushed
from .option_types import BadOption
from .options import ReadOptions, read_options
from .positions import ranges
from .reader import origin_of
from .tasks import read_task, tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceWriter, Filter
    from pyspark.sql.types import StructType

FORMAT = "kafkalog"


class KafkaLog(DataSource):
    """The data source. See options.py for the read options, and writing/ for the write options."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return columns.spark_schema(default_columns(read_options(self._texts(), streaming=None)))

    def reader(self, schema: StructType) -> DataSourceReader:
        options = read_options(self._texts())
        return (FilteringReader if options.push_filters else LogReader)(chosen(schema), options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from .stream import LogStream

        return LogStream(chosen(schema), read_options(self._texts(), streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .writing.writer import KafkaLogWriter

        return KafkaLogWriter(schema, self._texts(), overwrite)

    def _texts(self) -> dict[str, str]:
        return dict(self.options)


def default_columns(options: ReadOptions) -> list[str]:
    """Return the columns of a reader without an explicit schema."""
    permissive = options.mode == "PERMISSIVE"
    return columns.names(headers=options.include_headers, batch=options.include_batch, corrupt=permissive)


def chosen(schema: StructType) -> tuple[str, ...]:
    """Return the column names of an explicit schema. Raises BadOption for unknown columns and wrong types."""
    for field in schema.fields:
        known = columns.ALL.get(field.name)
        if known is None:
            raise BadOption(f"unknown column {field.name}; the columns are {', '.join(columns.ALL)}")
        if field.dataType.simpleString() != known.spark:
            raise BadOption(f"the column {field.name} has type {known.spark}, not {field.dataType.simpleString()}")
    return tuple(schema.fieldNames())


class LogReader(DataSourceReader):
    """The reader of a batch query, with one task per split."""

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        self._columns = tuple(names)
        self._options = options
        self._pushed = Pushed()

    def partitions(self) -> list[InputPartition]:
        origin = origin_of(self._options)
        return tasks(origin.splits(ranges(origin, self._options), self._pushed), self._columns, self._pushed)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(partition, self._options)


class FilteringReader(LogReader):
    """The reader of a batch query with filter pushdown (the option `pushFilters`).

    Pushdown is off by default because Spark 4.1 to 4.3 keeps the filtered plan with the loaded DataFrame
    (PythonScanBuilder.pushFilters) and reuses that plan for all other queries of the same DataFrame.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Narrow the ranges to read. Return all filters, so that Spark still evaluates each of them itself."""
        self._pushed = pushed(filters)
        return filters
