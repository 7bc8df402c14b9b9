"""The format `kafkalog` of Spark: logs as tables, for `spark.read`, `spark.readStream` and `df.write`.

    from kafkalet.pipeline.session import spark_session
    spark = spark_session()
    spark.read.format("kafkalog").option("subscribe", "flights").load("/var/lib/kafka").show()

Spark makes a `KafkaLog` where it plans, which is another process than the caller's, and pickles the reader for its
tasks; so nothing here keeps a file or a socket open. A schema that the caller gives (`spark.read.schema(...)`) chooses
among the columns: what is not named is neither decoded nor sent to Spark.
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
    """The format. Options are those of options.py to read, of writing/ to write."""

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
    """The columns of a reader that was given no schema."""
    permissive = options.mode == "PERMISSIVE"
    return columns.names(headers=options.include_headers, batch=options.include_batch, corrupt=permissive)


def chosen(schema: StructType) -> tuple[str, ...]:
    """The columns of a schema, all of which have to be ours. Raises BadOption."""
    for field in schema.fields:
        known = columns.ALL.get(field.name)
        if known is None:
            raise BadOption(f"there is no column {field.name}; there are {', '.join(columns.ALL)}")
        if field.dataType.simpleString() != known.spark:
            raise BadOption(f"the column {field.name} is {known.spark}, not {field.dataType.simpleString()}")
    return tuple(schema.fieldNames())


class LogReader(DataSourceReader):
    """A batch: planned once, read by as many tasks as there are splits."""

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
    """A batch that is narrowed by the conditions of the query (the option `pushFilters`).

    It has to be asked for: Spark keeps the plan that the conditions led to with the DataFrame that was loaded
    (PythonScanBuilder.pushFilters, 4.1 to 4.3), and uses it for every other query that is derived from the same one.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Narrow what is read; each filter stays for Spark to evaluate."""
        self._pushed = pushed(filters)
        return filters
